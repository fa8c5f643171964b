"""One watch at a time per cluster: a separate lock from the one that runs take."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress

from kafkabal.clusters import Cluster, ClusterLock, LockRequest
from kafkabal.errors import BusyError, KafkabalError, UnreachableError
from kafkabal.executor import LockHolder, StopSwitch, is_provably_gone

_PURPOSE = "watch"
_SESSION_S = 30.0
"""How long it outlives a watch that was killed on another host; a watch killed on this host is noticed at once."""
_WAIT_S = 5.0
"""Pause between attempts to take the lock; a watch takes over within this time after the other has ended."""
_NAP_S = 0.5
"""A signal takes effect within this time."""


class WatchLock:
    """The lock that keeps a second watch waiting.

    Parameters
    ----------
    sleep
        Waits for some seconds.
    """

    def __init__(self, cluster: Cluster, sleep: Callable[[float], None]) -> None:
        self._cluster, self._sleep = cluster, sleep
        self._owner = str(LockHolder.current(socket.gethostname()))
        self._lock: ClusterLock | None = None
        self._holder = ""

    @property
    def other(self) -> str:
        """The process that watches this cluster instead; empty if it is this one."""
        return self._holder

    def take(self) -> None:
        """Take the lock now, unless it is held: the end of a watch may have taken a lost one again.

        Raises
        ------
        BusyError
            If another watch holds it.
        UnreachableError
            If it cannot be granted now: the brokers that keep it may be what is to be watched.
        """
        if self._lock is not None and self._lock.is_held():
            return
        try:
            request = LockRequest(self._owner, _SESSION_S, _PURPOSE, is_provably_gone, _give_up)
            self._lock = self._cluster.lock(request)
        except BusyError as error:
            self._holder = error.message.removeprefix("cluster locked by ")
            raise BusyError(f"another watch runs on this cluster: {self._holder}") from None
        self._holder = ""

    def wait(self, stop: StopSwitch, on_wait: Callable[[str], None]) -> bool:
        """Wait until no other watch runs; returns False if the wait was interrupted.

        Continues to wait while brokers cannot be reached: the one that keeps the lock may be the one that just died,
        and that is when a watch on standby is needed most.

        Parameters
        ----------
        on_wait
            Called with what is awaited whenever that changes.
        """
        reported = ""
        while stop.reason is None:
            try:
                self.take()
            except BusyError as error:
                reason = f"{error.message}; waiting until it ends"
            except UnreachableError as error:
                reason = f"cannot take the lock of watch: {error.message}; retrying"
            else:
                return True
            if reason != reported:
                on_wait(reason)
                reported = reason
            self._pause(stop)
        return False

    def _pause(self, stop: StopSwitch) -> None:
        for _ in range(int(_WAIT_S / _NAP_S)):
            if stop.reason is not None:
                return
            self._sleep(_NAP_S)

    def confirm(self) -> bool:
        """Whether this has been the only watch since it last took the lock.

        Takes a lost lock again if no other watch wants it: the next answer is then True.
        """
        if self._lock is not None and self._lock.is_held():
            return True
        self.release()
        with suppress(KafkabalError):
            self.take()
        return False

    def release(self) -> None:
        """Release the lock so that another watch can begin."""
        lock, self._lock = self._lock, None
        if lock is not None:
            try:
                lock.release()
            except KafkabalError:
                return  # its session expires by itself


def _give_up(reason: str, wait_s: float) -> None:  # noqa: ARG001
    """Wait for a lock in :meth:`WatchLock.wait`, where a signal takes effect, or not at all."""
    raise UnreachableError(reason)
