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


def lock_cluster(environment: RunEnvironment, session_s: float, *, wait_s: float = 0.0) -> ClusterLock:
    """Take the lock of the cluster, or one of this host if it has none.

    A holder that is not named yet is waited for in any case, at most until its session has expired: it may have died as
    it took the lock, and only its name tells.

    Parameters
    ----------
    wait_s
        How long to retry while another process holds it.

    Raises
    ------
    BusyError
        If another process holds it, and still does after that time.
    """
    clock, path = environment.clock, environment.folder(environment.cluster.cluster_id()) / "lock"
    began_s, reported = clock.monotonic(), ""

    def report(reason: str, wait_s: float) -> None:
        environment.listener.on_event(LockAwaited(holder=reason, wait_s=wait_s))

    while True:
        try:
            return take_lock(environment.cluster, environment.owner, session_s, path, report)
        except BusyError as busy:
            longest_s = max(wait_s, session_s + _JOINING_S) if isinstance(busy, UnnamedHolderError) else wait_s
            left_s = began_s + longest_s - clock.monotonic()
            # a signal while waiting must end the command: nothing is locked yet that would need a cleanup
            if left_s <= 0 or environment.stop.reason is not None:
                raise
            if busy.message != reported:
                report(busy.message, longest_s)
                reported = busy.message
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
