"""Says that a command still waits or computes, where that has neither a progress display nor an end in sight."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafkabal.wording import counted_noun

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kafkabal.model import ClusterState

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


def saying_if_planning_is_slow(say: Callable[[str], None], state: ClusterState) -> AbstractContextManager[None]:
    """Say it once if the block, which makes plans for a cluster, takes long, as with 200,000 partitions."""
    return saying_if_slow(say, f"still planning: {counted_noun(len(state.partitions), 'partition')}")
