"""SIGTERM and SIGHUP as exceptions, so that a command can clean up on its way out."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from kafkabal.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP came; code that handles Ctrl-C handles this too."""


@contextmanager
def raising_on_termination() -> Iterator[None]:
    """Raise :class:`Terminated` when a signal ends the process; a signal that was ignored (``nohup``) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) is signal.SIG_DFL]
    for number in wanted:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in wanted:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise Terminated


def end_at_next_interrupt() -> None:
    """Let Ctrl-C end an interrupted process at once, with the code and the line that the first one gave it."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(ExitCode.INTERRUPTED))
    # once no thread is waited for: as the interpreter ends it resets handlers, but leaves what is ignored
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
