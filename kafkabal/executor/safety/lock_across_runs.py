"""The lock of the cluster as a command takes it: waited for as long as asked, and held over several runs."""

from __future__ import annotations

from kafkabal.clusters import ClusterLock
from kafkabal.errors import BusyError
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import LockAwaited
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import release_lock, take_lock

_LOCK_POLL_S = 1.0
"""How long after its release a lock is taken at the latest; much less would keep its coordinator busy with asking."""


def lock_cluster(environment: RunEnvironment, session_s: float, *, wait_s: float = 0.0) -> ClusterLock:
    """Take the lock of the cluster, or one of this host where it has none.

    Parameters
    ----------
    wait_s
        How long it is tried again while another holds it.

    Raises
    ------
    BusyError
        If another holds it, and still does then.
    """
    clock, path = environment.clock, environment.folder(environment.cluster.cluster_id()) / "lock"
    give_up_at_s, is_told = clock.monotonic() + wait_s, False
    while True:
        try:
            return take_lock(environment.cluster, environment.owner, session_s, path)
        except BusyError as busy:
            left_s = give_up_at_s - clock.monotonic()
            # a signal while waiting must end the command: nothing is locked yet that would have to be cleaned up
            if left_s <= 0 or environment.stop.reason is not None:
                raise
            if not is_told:
                environment.listener.on_event(LockAwaited(holder=busy.message, wait_s=wait_s))
                is_told = True
            clock.sleep(min(left_s, _LOCK_POLL_S))


class LockAcrossRuns:
    """The lock of a command that does several things under it: taken before it looks, given up at its end.

    A run that ends gives it up; then it is taken again for what comes next.
    """

    def __init__(self, environment: RunEnvironment) -> None:
        self._environment = environment
        self._lock: ClusterLock | None = None

    def take(self) -> ClusterLock:
        """The lock; taken now if it is not held.

        Raises
        ------
        BusyError
            If another holds it.
        """
        if self._lock is None or not self._lock.is_held():
            wait_s = self._environment.lock_wait_s
            self._lock = lock_cluster(self._environment, RunOptions().session_s, wait_s=wait_s)
        return self._lock

    def release(self) -> None:
        """Give it up, if it is held."""
        if self._lock is not None:
            release_lock(self._lock)
            self._lock = None
