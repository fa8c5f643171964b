"""Converts SIGTERM and SIGHUP to exceptions, so that a command can clean up before it exits."""

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
    """SIGTERM or SIGHUP was received; code that handles Ctrl-C handles this too."""


@contextmanager
def raising_on_termination() -> Iterator[None]:
    """Raise :class:`Terminated` on a terminating signal; a signal that was ignored (``nohup``) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    not_ignored = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) is signal.SIG_DFL]
    for number in not_ignored:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in not_ignored:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    raise Terminated


def end_at_next_interrupt() -> None:
    """Make the next Ctrl-C end an interrupted process at once, with the exit code and message of the first."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(ExitCode.INTERRUPTED))
    # once all threads are done: when the interpreter exits it resets handlers, but not ignored signals
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
