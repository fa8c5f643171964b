"""Says that a command still waits, where the wait has neither a progress display nor an end in sight."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_SLOW_S: Final = 5.0
"""Reading a cluster of thousands of partitions takes less, unless a broker or the controller does not respond."""


@contextmanager
def saying_if_slow(say: Callable[[str], None], text: str, after_s: float = _SLOW_S) -> Iterator[None]:
    """Say a text once if the block takes longer than ``after_s`` seconds."""
    timer = threading.Timer(after_s, say, (text,))
    timer.daemon = True  # a terminal that is suspended must not keep the process from ending
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
