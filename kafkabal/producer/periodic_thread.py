"""A thread that calls one function every few seconds and another on request, and survives their failures."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from threading import Event, Lock, get_ident
from time import monotonic

CLOSING_S = 3.0
"""Reading a large cluster takes seconds; a broker that hangs must not keep a program from ending."""


class PeriodicThread:
    """Calls ``refresh`` every ``interval_s`` seconds from :meth:`start` until it is closed.

    Parameters
    ----------
    refresh
        Called periodically, in a thread of its own.
    revise
        Called when :meth:`revise` asks for it; runs in the same thread.
    failed
        Called with each error that they raise, including errors of plug-ins; the previous state stays in use.
    """

    def __init__(
        self,
        refresh: Callable[[], None],
        interval_s: float,
        *,
        revise: Callable[[], None] = lambda: None,
        failed: Callable[[Exception], None],
    ) -> None:
        self._refresh = refresh
        self._interval_s = interval_s
        self._revise = revise
        self._failed = failed
        self._next_s = monotonic() + interval_s
        self._stop = Event()
        self._wake = Event()
        self._begun = Lock()
        """Held by the thread from its beginning on, and never released."""
        self._ended = Event()
        self._ident = -1

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if not self._begun.locked():
            # a single call into C: a signal's handler that raised inside Thread.start would end the thread at once
            start_new_thread(self._run, ())

    def wake(self) -> None:
        """Refresh now instead of at the end of the interval."""
        self._next_s = monotonic()
        self._wake.set()

    def revise(self) -> None:
        """Revise now; does not shift the next refresh."""
        self._wake.set()

    def close(self, wait_s: float = CLOSING_S) -> None:
        """Stop, and wait up to ``wait_s`` for a running refresh, unless called by that refresh. Later failures are
        ignored."""
        self._stop.set()
        self._wake.set()
        if self._begun.locked() and get_ident() != self._ident:
            self._ended.wait(wait_s)

    def _run(self) -> None:
        if not self._begun.acquire(blocking=False):
            return
        self._ident = get_ident()
        try:
            self._call_until_closed()
        finally:
            self._ended.set()

    def _call_until_closed(self) -> None:
        while not self._stop.is_set():
            asked = self._wake.wait(max(0.0, self._next_s - monotonic()))
            self._wake.clear()
            if self._stop.is_set():
                return
            if monotonic() >= self._next_s:
                self._next_s = monotonic() + self._interval_s
                self._call(self._refresh)
            elif asked:
                self._call(self._revise)

    def _call(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - records must go on whatever a plug-in does
            if not self._stop.is_set():
                self._failed(error)
