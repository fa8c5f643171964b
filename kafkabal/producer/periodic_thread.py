"""A thread that calls one function every few seconds and another on request, and survives their failures."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, get_ident
from time import monotonic

CLOSING_S = 3.0
"""Reading a large cluster takes seconds; a broker that hangs must not keep a program from ending."""


class PeriodicThread:
    """Calls ``refresh`` every ``interval_s`` seconds from :meth:`start` until it is closed.

    What other threads do with it are single calls into C, since a signal's handler may raise between any two lines:
    inside ``Thread.start`` or ``Event.set`` that leaves a thread that ends at once, or a lock that stays taken.

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
        self._is_closed = False
        self._asked: SimpleQueue[None] = SimpleQueue()
        """Not empty if the thread is to look what there is to do."""
        self._running = Lock()
        """Held by the thread."""
        self._ident = -1

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if not self._running.locked():
            start_new_thread(self._run, ())

    def wake(self) -> None:
        """Refresh now instead of at the end of the interval."""
        self._next_s = monotonic()
        self.revise()

    def refresh_within(self, wait_s: float) -> None:
        """Begin the next refresh after ``wait_s`` seconds at the latest; called by a refresh."""
        self._next_s = min(self._next_s, monotonic() + wait_s)

    def revise(self) -> None:
        """Revise now; does not shift the next refresh."""
        if self._asked.empty():
            self._asked.put(None)

    def close(self, wait_s: float = CLOSING_S) -> None:
        """Stop, and wait up to ``wait_s`` for a running refresh, unless called by that refresh. Later failures are
        ignored."""
        self._is_closed = True
        self._asked.put(None)
        if get_ident() != self._ident and self._running.acquire(timeout=wait_s):
            self._running.release()

    def _run(self) -> None:
        if not self._running.acquire(blocking=False):
            return
        self._ident = get_ident()
        try:
            self._call_until_closed()
        finally:
            self._running.release()

    def _call_until_closed(self) -> None:
        while True:
            asked = self._is_asked_within(max(0.0, self._next_s - monotonic()))
            if self._is_closed:
                return
            if monotonic() >= self._next_s:
                self._next_s = monotonic() + self._interval_s
                self._call(self._refresh)
            elif asked:
                self._call(self._revise)

    def _is_asked_within(self, wait_s: float) -> bool:
        try:
            self._asked.get(timeout=wait_s)
        except Empty:
            return False
        return True

    def _call(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - records must go on whatever a plug-in does
            if not self._is_closed:
                self._failed(error)
