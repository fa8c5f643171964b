"""One watch at a time heals a cluster: a separate lock from the one that runs take. Others that heal are on standby."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, suppress
from time import monotonic

from kafkabal.clusters import Cluster, ClusterLock, LockRequest
from kafkabal.errors import BusyError, KafkabalError, UnreachableError
from kafkabal.executor import LockHolder, is_provably_gone
from kafkabal.watch.heal_policy import HealLevel

_PURPOSE = "watch"
_SESSION_S = 30.0
"""How long it outlives a watch that was killed on another host; a watch killed on this host is noticed at once."""
_RETRY_EVERY_S = 5.0
"""Pause between attempts to take the lock; a watch takes over within this time after the other has ended."""
_TRUSTED_S = 120.0
"""How long another watch is taken to go on after it was last seen to hold the lock. If the broker that dies keeps the
lock, its holder cannot be seen for up to 75 s, and both watches would post that the broker is dead."""
_LEAVING_S = 2.0
"""Longest wait for an attempt in progress; what it still takes is released, or expires with its session."""


class WatchLock:
    """The lock of the watch that heals a cluster; without it a watch only observes.

    A watch on standby tries to take it in a thread of its own: the broker that keeps it may be the one that just died,
    and waiting for that one must not delay observations.

    Parameters
    ----------
    retry_every_s
        Pause between attempts to take it.
    """

    def __init__(self, cluster: Cluster, retry_every_s: float = _RETRY_EVERY_S) -> None:
        self._cluster, self._retry_every_s = cluster, retry_every_s
        self._owner = str(LockHolder.current(socket.gethostname()))
        self._lock: ClusterLock | None = None
        self._holder = self._why_not_held = ""
        self._seen_at_s = float("-inf")
        self._standby: threading.Thread | None = None
        self._is_new = False
        self._ended = threading.Event()

    @property
    def other(self) -> str:
        """The watch that holds the lock instead; empty if none is known."""
        return self._holder

    @property
    def why_on_standby(self) -> str:
        """Why the lock is not held; empty if it is."""
        return self._why_not_held

    def take(self) -> None:
        """Take the lock now.

        Raises
        ------
        BusyError
            If another watch holds it.
        UnreachableError
            If it cannot be granted now: the brokers that keep it may be what is to be watched.
        """
        try:
            request = LockRequest(self._owner, _SESSION_S, _PURPOSE, is_provably_gone, _give_up)
            self._lock = self._cluster.lock(request)
        except BusyError as error:
            self._seen_at_s = monotonic()
            self._holder = error.message.removeprefix("cluster locked by ")
            self._why_not_held = f"another watch heals this cluster: {self._holder}"
            raise BusyError(self._why_not_held) from None
        except KafkabalError as error:
            if monotonic() - self._seen_at_s >= _TRUSTED_S:
                self._holder, self._why_not_held = "", f"cannot take the lock of watch: {error.in_one_line}"
            raise
        self._holder = self._why_not_held = ""

    def take_or_stand_by(self) -> None:
        """Take the lock now, or as soon as it can be taken."""
        try:
            self.take()
        except (BusyError, UnreachableError):
            self._stand_by()

    def why_not_alone(self) -> str:
        """Why another watch may have acted since this was last asked; empty if this one has held the lock throughout.

        Takes a lost lock again if no other watch wants it: the next answer is then empty.
        """
        if self._standby is not None:
            if self._standby.is_alive():
                return self._why_not_held
            self._standby = None
        if self._lock is not None and self._lock.is_held():
            is_new, self._is_new = self._is_new, False
            return "this watch has just taken over" if is_new else ""
        self._release()
        try:
            self.take()
        except KafkabalError:
            self._stand_by()
            return self._why_not_held
        return "this watch lost its lock for a while"

    def release(self) -> None:
        """Release the lock so that another watch can take it; it is not taken again."""
        self._ended.set()
        if self._standby is not None:
            self._standby.join(_LEAVING_S)
        self._release()

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            with suppress(KafkabalError):  # its session expires by itself
                lock.release()

    def _stand_by(self) -> None:
        self._is_new = True
        self._standby = threading.Thread(target=self._retry, name="kafkabal-standby", daemon=True)
        self._standby.start()

    def _retry(self) -> None:
        while not self._ended.wait(self._retry_every_s):
            with suppress(KafkabalError):
                self.take()
                break
        if self._ended.is_set():
            self._release()


def lock_to_heal(cluster: Cluster, level: HealLevel, at_end: ExitStack) -> WatchLock | None:
    """The lock of a watch, taken if it can be taken now, and released at the end.

    Returns
    -------
    WatchLock or None
        None for a watch that only reports: it would keep the one that heals on standby.
    """
    if level is HealLevel.NONE:
        return None
    lock = WatchLock(cluster)
    at_end.callback(lock.release)
    lock.take_or_stand_by()
    return lock


def _give_up(reason: str, wait_s: float) -> None:  # noqa: ARG001
    """Wait for a lock on standby only, where a signal takes effect, or not at all."""
    raise UnreachableError(reason)
