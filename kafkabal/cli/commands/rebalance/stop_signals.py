"""Ctrl-C, SIGTERM and a closed terminal during a run: the first asks it to stop, a second Ctrl-C or SIGTERM aborts it.

SIGHUP alone never aborts: a terminal that closes sends it from the kernel, from the shell and from the service manager,
some of them after a SIGTERM, and a run that stops gracefully must survive all of these. The copy of a signal never
aborts either: ``timeout`` sends its own to the command and at once to its process group, which the command is in.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kafkabal.executor import HardStop, StopReason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkabal.executor import StopSwitch

_REASONS = {
    signal.SIGINT: StopReason.INTERRUPT,
    signal.SIGTERM: StopReason.TERMINATE,
    signal.SIGHUP: StopReason.TERMINATE,
}

_ONE_SIGNAL_S: Final = 0.2
"""What follows sooner is a copy: those of ``timeout`` were seen apart (2 of 12 runs aborted); people are slower."""


@contextmanager
def stop_on_signals(
    switch: StopSwitch, announce: Callable[[StopReason], None], clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Set the switch on the first signal; raise :class:`HardStop` on the second.

    Parameters
    ----------
    announce
        Called within the signal handler, so it must neither wait nor raise nor print: the handler may have
        interrupted a write to the very stream it would print to.
    clock
        Seconds, to tell a second signal from a copy of the first.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    aborting: list[float] = []
    """Times of the signals that ask for an end, without copies."""

    def handle(number: int, frame: Any) -> None:  # noqa: ARG001
        if number != signal.SIGHUP:
            now_s = clock()
            if aborting and now_s - aborting[-1] < _ONE_SIGNAL_S:
                return
            aborting.append(now_s)
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
