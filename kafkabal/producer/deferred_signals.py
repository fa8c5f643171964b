"""Signals that wait until librdkafka's binding has returned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from kafkabal.sources import Headers

_NO_NAME = "expected header key to be unicode string"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Handle a signal that ends the process after the block, not amid it.

    A handler that raises inside a callback of confluent-kafka loses its exception (a ``SystemError`` takes its place)
    and the delivery report that was being told.
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


def hides_a_signal(error: Exception, headers: Headers) -> bool:
    """Whether a name was refused that is one: the binding takes what a signal's handler raises meanwhile for that."""
    return _NO_NAME in str(error) and all(isinstance(name, str) for name, _ in headers)
