"""The lock of the cluster for a whole command: waited for as long as requested, and held over several runs."""

from __future__ import annotations

from kafkabal.clusters import ClusterLock
from kafkabal.errors import BusyError, UnnamedHolderError
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import LockAwaited
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import release_lock, take_lock

_LOCK_POLL_S = 1.0
"""Longest delay before a released lock is taken; much less would keep its coordinator busy with requests."""
_JOINING_S = 10.0
"""How long a holder may have joined before its session begins, with a margin: ``group.initial.rebalance.delay.ms`` is
3 s by default."""


class StoppedWaitingError(BusyError):
    """A stop was requested while the lock was waited for: nothing has changed that would need a cleanup."""


def lock_cluster(
    environment: RunEnvironment, session_s: float, *, wait_s: float = 0.0, until_stopped: bool = True
) -> ClusterLock:
    """Take the lock of the cluster, or one of this host if it has none.

    A holder that is not named yet is waited for in any case, at most until its session has expired: it may have died as
    it took the lock, and only its name tells.

    Parameters
    ----------
    wait_s
        How long to retry while another process holds it.
    until_stopped
        Give up on a stop request; False for a run that needs its lock to stop gracefully.

    Raises
    ------
    BusyError
        If another process holds it, and still does after that time; a :class:`StoppedWaitingError` on a stop request.
    """
    clock, path = environment.clock, environment.folder(environment.cluster.cluster_id()) / "lock"
    began_s, reported = clock.monotonic(), ""

    def on_delay(reason: str, wait_s: float) -> None:
        nonlocal reported
        if until_stopped and environment.stop.reason is not None:
            raise StoppedWaitingError(f"stopped while waiting for the lock: {reason}")
        if reason != reported:
            environment.listener.on_event(LockAwaited(holder=reason, wait_s=wait_s))
            reported = reason

    while True:
        try:
            return take_lock(environment.cluster, environment.owner, session_s, path, on_delay)
        except StoppedWaitingError:
            raise
        except BusyError as busy:
            longest_s = max(wait_s, session_s + _JOINING_S) if isinstance(busy, UnnamedHolderError) else wait_s
            left_s = began_s + longest_s - clock.monotonic()
            if left_s <= 0:
                raise
            on_delay(busy.message, longest_s)
            clock.sleep(min(left_s, _LOCK_POLL_S))


class LockAcrossRuns:
    """The lock of a command that does several things under it: taken before it reads the cluster, released at its end.

    A run releases the lock when it ends; the lock is then taken again for the next run.
    """

    def __init__(self, environment: RunEnvironment) -> None:
        self._environment = environment
        self._lock: ClusterLock | None = None

    def take(self) -> ClusterLock:
        """Return the lock; take it if it is not held.

        Raises
        ------
        BusyError
            If another process holds it.
        """
        if self._lock is None or not self._lock.is_held():
            wait_s = self._environment.lock_wait_s
            self._lock = lock_cluster(self._environment, RunOptions().session_s, wait_s=wait_s)
        return self._lock

    def release(self) -> None:
        """Release the lock if it is held."""
        if self._lock is not None:
            release_lock(self._lock)
            self._lock = None
