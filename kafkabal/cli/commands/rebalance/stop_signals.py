"""Ctrl-C and SIGTERM during a run: the first stops it gracefully, the second aborts it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafkabal.executor.safety.stop_request import HardStop, StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkabal.executor.safety.stop_request import StopSwitch

_REASONS = {
    signal.SIGINT: StopReason.INTERRUPT,
    signal.SIGTERM: StopReason.TERMINATE,
    signal.SIGHUP: StopReason.TERMINATE,
}


@contextmanager
def stop_on_signals(switch: StopSwitch, say: Callable[[str], None]) -> Iterator[None]:
    """Request a stop on the first signal; raise :class:`HardStop` on the second."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def handle(number: int, frame: Any) -> None:  # noqa: ARG001
        came.append(number)
        if len(came) > 1:
            raise HardStop
        switch.request(_REASONS[signal.Signals(number)])
        say("stopping gracefully; press Ctrl-C again to abort and leave reassignments and throttles in place")

    before = {number: signal.getsignal(number) for number in _REASONS}
    handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
