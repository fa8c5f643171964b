"""Holds signals back until librdkafka's Python binding has returned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType

from kafkabal.sources import Headers

_NO_NAME = "expected header key to be unicode string"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Run a signal's handler after the block, not inside it.

    If a handler raises inside a callback of confluent-kafka, the exception is lost (a ``SystemError`` replaces it), and
    so is the delivery report being served.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def remember(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    handlers = {number: handler for number in _ENDING if callable(handler := signal.getsignal(number))}
    for held in handlers:
        signal.signal(held, remember)
    try:
        yield
    finally:
        for held, handler in handlers.items():
            signal.signal(held, handler)
        for number, frame in came:
            handlers[signal.Signals(number)](number, frame)


@contextmanager
def signals_noted() -> Iterator[list[Callable[[], object]]]:
    """Run each signal's handler at once, and give calls that run it again: the binding may hide what it raises."""
    came: list[Callable[[], object]] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    handlers = {number: handler for number in _ENDING if callable(handler := signal.getsignal(number))}

    def note(number: int, frame: FrameType | None) -> None:
        handle = partial(handlers[signal.Signals(number)], number, frame)
        came.append(handle)
        handle()

    for noted in handlers:
        signal.signal(noted, note)
    try:
        yield came
    finally:
        for noted, handler in handlers.items():
            signal.signal(noted, handler)


def hides_a_signal(error: Exception, headers: Headers) -> bool:
    """Whether this is a signal in disguise: if a signal's handler raises, the binding refuses a valid header name
    instead."""
    return _NO_NAME in str(error) and all(isinstance(name, str) for name, _ in headers)
