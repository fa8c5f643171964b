"""An event that a signal's handler may interrupt anywhere."""

from __future__ import annotations

from threading import Lock


class Latch:
    """Set once, and waited for, like :class:`threading.Event`.

    An event has a lock that is taken in Python: if a signal's handler raises just then, it stays taken, and the
    next thread that sets or awaits the event hangs. Here each step is a single call into C.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._closed = Lock()
        self._closed.acquire()
        self._setter = Lock()
        """Held by the thread that sets the latch first."""

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    def set(self) -> None:
        """Let all waiting threads go on."""
        self._is_set = True
        if self._setter.acquire(blocking=False):
            self._closed.release()

    def wait(self, timeout_s: float) -> bool:
        """Wait until it is set, or so many seconds; whether it was set."""
        # a thread that is interrupted between the two keeps the lock, which is no longer needed
        if not self._is_set and self._closed.acquire(timeout=timeout_s):
            self._closed.release()
        return self._is_set
