"""One run at a time: the lock of the cluster, and the fence before every request.

Admin requests carry no fencing token. So before each request the holder verifies that its last heartbeat was
acknowledged less than half a session ago: a process that was suspended sends nothing based on what it knew before, even
if no other process took the lock meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from kafkabal.clusters import Capability, Clock, Cluster, ClusterLock, LockRequest, OnLockDelay, ignore_lock_delay
from kafkabal.errors import (
    BusyError,
    DriftError,
    MissingCapabilityError,
    NotAuthorizedError,
    OperationError,
    UnreachableError,
)
from kafkabal.executor.file_identity import is_still_named
from kafkabal.executor.safety.lock_holder import is_provably_gone
from kafkabal.file_locks import acquire_file_lock

_ON_ITS_WAY = (
    "only a request that was already being sent may still take effect; "
    "once the other run has finished, 'kafkabal rebalance repair' lists throttles that are left"
)
_OWNER_CHARACTERS = 1000
"""Longest owner read from a lock file: whatever else fills that file must not fill the terminal."""


class LockRegainedError(UnreachableError):
    """The lock was lost for a while and is held again: what was known of the cluster is stale."""


class LockLostError(BusyError):
    """The lock was lost before anything was changed."""


class TakenOverError(BusyError):
    """Another process has held the lock since, and has resumed the run."""


class OtherClusterError(DriftError):
    """Another cluster responds now at the addresses of the one that the run is on."""


class FileLock:
    """A lock that is valid on this host only, for clusters on which permissions forbid a better one."""

    def __init__(self, path: Path, owner: str, *, denied: str = "") -> None:
        self.denied = denied
        """Why the cluster granted no lock that is valid on every host; empty if it has none."""

        def busy() -> BusyError:
            holder = path.read_text(errors="replace")[:_OWNER_CHARACTERS] or "another kafkabal on this host"
            return BusyError(f"cluster locked by {holder}", hint="wait until it has finished, then try again")

        self._lock = acquire_file_lock(path, busy)
        # written in place: another file of that name would be another lock
        path.write_text(owner)
        self._path, self._opened = path, path.stat()

    @property
    def scope(self) -> str:
        """What the lock keeps out, for people."""
        return "this host only"

    def seconds_since_heartbeat(self) -> float:
        """Always 0: the kernel keeps the lock as long as the process lives."""
        return 0.0

    def is_held(self) -> bool:
        """True until released, or until another program deletes the file: another process could lock a new one."""
        return self._lock.is_locked and is_still_named(self._path, self._opened)

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()


def take_lock(
    cluster: Cluster, owner: str, session_s: float, local_path: Path, on_delay: OnLockDelay = ignore_lock_delay
) -> ClusterLock:
    """Take the cluster's own lock, or one of this host if the cluster grants none.

    Raises
    ------
    BusyError
        If another process holds it.
    """
    denied = ""
    if Capability.LOCK in cluster.capabilities:
        try:
            return cluster.lock(LockRequest(owner, session_s, is_gone=is_provably_gone, on_delay=on_delay))
        except (NotAuthorizedError, MissingCapabilityError) as error:
            denied = error.in_one_line
    return FileLock(local_path, owner, denied=denied)


def release_lock(lock: ClusterLock) -> None:
    """Release a lock; if the request does not get through, its session expires by itself."""
    with suppress(OperationError):
        lock.release()


def is_fresh(lock: ClusterLock, session_s: float) -> bool:
    """Whether a lock is held and was confirmed less than half a session ago."""
    return lock.seconds_since_heartbeat() < session_s / 2 and lock.is_held()


def confirm_lock(lock: ClusterLock, session_s: float) -> None:
    """Verify that a lock is still held before a run is begun or opened.

    Raises
    ------
    LockLostError
        If it is not held: another process may have taken it.
    """
    if not is_fresh(lock, session_s):
        raise LockLostError("lost the lock of this cluster before anything changed", hint="run the same command again")


class Fence:
    """Lets a request pass only while the lock is known to be held.

    Parameters
    ----------
    retake
        Takes the lock again after it was lost; raises :class:`~kafkabal.errors.BusyError` if another process holds it,
        and :class:`TakenOverError` if another process has used it.
    confirm_cluster
        Raises :class:`OtherClusterError` if the latest response came from another cluster: a lock says nothing about
        that, and requests reach it by the same addresses.
    """

    def __init__(
        self,
        lock: ClusterLock,
        retake: Callable[[], ClusterLock],
        confirm_cluster: Callable[[], None],
        clock: Clock,
        *,
        session_s: float,
        give_up_s: float,
    ) -> None:
        self._lock = lock
        self._retake = retake
        self.confirm_cluster = confirm_cluster
        self._clock = clock
        self._session_s = session_s
        self._give_up_s = give_up_s

    @property
    def scope(self) -> str:
        """What the lock keeps out."""
        return self._lock.scope

    def check(self) -> None:
        """Return at once while the lock is fresh, otherwise wait for it.

        Raises
        ------
        LockRegainedError
            If the lock is held again after a gap: read the cluster again before any request.
        BusyError
            If another process took it meanwhile.
        OtherClusterError
            If another cluster responds.
        UnreachableError
            If its coordinator does not respond.
        """
        self.confirm_cluster()
        if self.is_fresh():
            return
        began_s, refused_s = self._clock.monotonic(), None
        while self._clock.monotonic() - began_s < self._give_up_s:
            if not self._lock.is_held():
                refused_s = self._try_to_retake(refused_s)
            if self.is_fresh():
                raise LockRegainedError("the lock was not confirmed for a while; re-reading the cluster")
            self._clock.sleep(1.0)
        raise UnreachableError("cannot confirm the lock of the cluster", hint="run 'kafkabal rebalance resume'")

    def check_file(self) -> None:
        """Take a lock file again that another program has deleted; do nothing about a lock of the cluster.

        Called all the time, even if there is nothing to send for hours: until then another process could take it.

        Raises
        ------
        LockRegainedError, BusyError
            See :meth:`check`.
        """
        if isinstance(self._lock, FileLock):
            self.check()

    def is_fresh(self) -> bool:
        """Whether a request may pass now, without waiting."""
        return is_fresh(self._lock, self._session_s)

    def _try_to_retake(self, refused_s: float | None) -> float | None:
        """Try once to take the lock; returns since when it has been refused, None if it was not refused.

        It may be refused for up to a session because this process was a member before. A new coordinator starts that
        session again, however late it takes over, so the session counts from the first refusal.
        """
        release_lock(self._lock)
        self.confirm_cluster()
        try:
            self._lock = self._retake()
        except BusyError as error:
            now_s = self._clock.monotonic()
            since_s = now_s if refused_s is None else refused_s
            if now_s - since_s < self._session_s and not isinstance(error, TakenOverError):
                return since_s
            # the hint of a lock that is held is to wait for it, which does not help here
            hint = error.hint if isinstance(error, TakenOverError) else _ON_ITS_WAY
            raise BusyError(f"lost the lock of this cluster: {error.message}", hint=hint) from error
        except UnreachableError:
            pass  # its coordinator may be back at the next attempt
        return None

    def release(self) -> None:
        """Release the lock."""
        release_lock(self._lock)
