"""One watch at a time on a cluster: a lock of its own, beside the one that runs take."""

from __future__ import annotations

import socket
from collections.abc import Callable

from kafkabal.clusters import Cluster, ClusterLock
from kafkabal.errors import BusyError, KafkabalError, UnreachableError
from kafkabal.executor import LockHolder, StopSwitch, is_provably_gone

_PURPOSE = "watch"
_SESSION_S = 30.0
"""How long it outlives a watch that was killed on another host; on this host such a watch is seen to be gone."""
_WAIT_S = 5.0
"""Between two tries for the lock; a watch takes over within this time after the other has ended."""
_NAP_S = 0.5
"""A signal is obeyed within this time."""


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
        """Who watches this cluster instead; empty where that is this process."""
        return self._holder

    def take(self) -> None:
        """Take it now.

        Raises
        ------
        BusyError
            If another watch holds it.
        """
        try:
            self._lock = self._cluster.lock(self._owner, _SESSION_S, _PURPOSE, is_provably_gone)
        except BusyError as error:
            self._holder = error.message.removeprefix("cluster locked by ")
            raise BusyError(f"another watch runs on this cluster: {self._holder}") from None
        self._holder = ""

    def wait(self, stop: StopSwitch, on_wait: Callable[[str], None]) -> bool:
        """Wait until no other watch runs; False if that was not to be waited for any longer.

        Brokers that cannot be reached are waited for too: the one that keeps the lock may be the one that just died,
        and a watch that stands by is needed most then.

        Parameters
        ----------
        on_wait
            Called with what is waited for, whenever that changes.
        """
        told = ""
        while stop.reason is None:
            try:
                self.take()
            except BusyError as error:
                reason = f"{error.message}; waiting until it ends"
            except UnreachableError as error:
                reason = f"cannot take the lock of watch: {error.message}; retrying"
            else:
                return True
            if reason != told:
                on_wait(reason)
                told = reason
            self._pause(stop)
        return False

    def _pause(self, stop: StopSwitch) -> None:
        for _ in range(int(_WAIT_S / _NAP_S)):
            if stop.reason is not None:
                return
            self._sleep(_NAP_S)

    def confirm(self) -> bool:
        """Whether this is still the only watch; a lock that was lost while none wanted it is taken again."""
        if self._lock is not None and self._lock.is_held():
            return True
        self.release()
        try:
            self.take()
        except KafkabalError:
            return False
        return True

    def release(self) -> None:
        """Let another watch begin."""
        lock, self._lock = self._lock, None
        if lock is not None:
            try:
                lock.release()
            except KafkabalError:
                return  # its session ends by itself
