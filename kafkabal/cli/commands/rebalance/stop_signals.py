"""Ctrl-C, SIGTERM and a closed terminal during a run: the first asks it to stop, a second Ctrl-C or SIGTERM aborts it.

SIGHUP alone never aborts: a terminal that closes sends it from the kernel, from the shell and from the service manager,
some of them after a SIGTERM, and a run that stops gracefully must survive all of these.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kafkabal.executor import HardStop, StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkabal.executor import StopSwitch

_REASONS = {
    signal.SIGINT: StopReason.INTERRUPT,
    signal.SIGTERM: StopReason.TERMINATE,
    signal.SIGHUP: StopReason.TERMINATE,
}


@contextmanager
def stop_on_signals(switch: StopSwitch, announce: Callable[[StopReason], None]) -> Iterator[None]:
    """Turn the switch on the first signal; raise :class:`HardStop` on the second.

    Parameters
    ----------
    announce
        Called within the signal handler, so it must neither wait nor raise nor print: the handler may have
        interrupted a write to the very stream it would print to.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    aborting: list[int] = []

    def handle(number: int, frame: Any) -> None:  # noqa: ARG001
        if number != signal.SIGHUP:
            aborting.append(number)
        if len(aborting) > 1:
            raise HardStop
        if switch.reason is None:
            switch.request(_REASONS[signal.Signals(number)])
            announce(_REASONS[signal.Signals(number)])

    before = {number: signal.getsignal(number) for number in _REASONS}
    handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])
