"""The tools of an open run, put together: fence, effects, throttles, and what they share."""

from __future__ import annotations

from contextlib import ExitStack

from kafkabal.clusters import ClusterLock
from kafkabal.errors import BusyError
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import LockAwaited
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import Fence, TakenOverError, release_lock, take_lock
from kafkabal.executor.safety.fenced_requests import Effects
from kafkabal.executor.safety.retry import RetryBudget
from kafkabal.executor.safety.run_invariants import RunInvariants
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.run_request import RunRequests
from kafkabal.executor.state.run_store import RunStore
from kafkabal.executor.throttle.run_throttles import Throttling

_LOCK_POLL_S = 1.0


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
            if left_s <= 0 or environment.stop.reason is not None:
                raise
            if not is_told:
                environment.listener.on_event(LockAwaited(holder=busy.message, wait_s=left_s))
                is_told = True
            clock.sleep(min(left_s, _LOCK_POLL_S))


class CommandLock:
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


def make_context(
    environment: RunEnvironment, options: RunOptions, store: RunStore, fence: Fence, *, last_effect: int = 0
) -> RunContext:
    """Everything that the steps of the run share.

    Parameters
    ----------
    last_effect
        Number of the last request in the journal.
    """
    effects = Effects(
        environment.cluster,
        store,
        fence,
        environment.listener,
        RunInvariants(store.record, store.state),
        last_number=last_effect,
        items_per_request=options.limits.partitions_per_request,
    )
    requests = RunRequests(store.journal_path, store.cluster_record, store.record.run_id, environment.clock)
    return RunContext(
        cluster=environment.cluster,
        store=store,
        options=options,
        fence=fence,
        effects=effects,
        throttling=Throttling(environment.cluster, effects, store, options.throttle),
        retries=RetryBudget(environment.clock, options.timeouts, environment.listener),
        clock=environment.clock,
        stop=environment.stop,
        listener=environment.listener,
        began_s=environment.clock.monotonic(),
        ends_at_s=environment.time_limit_s(options.max_runtime_s),
        broker_timeout_s=environment.broker_timeout_s,
        read_state=environment.read_state,
        latest_request=requests.latest,
    )


def make_fence(
    environment: RunEnvironment, options: RunOptions, lock: ClusterLock, known: ClusterRecord | None, run_id: str
) -> Fence:
    """The fence of a run; a lock that was lost is taken again only where no other process used it meanwhile.

    Parameters
    ----------
    known
        The cluster's record, where it keeps one: it tells whether another process has resumed the run. Where it keeps
        none, that must be feared.
    """

    def retake() -> ClusterLock:
        with ExitStack() as undo:
            regained = lock_cluster(environment, options.session_s)
            undo.callback(release_lock, regained)
            # who held the lock between may have finished or rolled back the run: what is known here is old
            if known is None or not known.is_as_left(run_id):
                raise TakenOverError(f"run {run_id} was resumed by another process")
            undo.pop_all()
        return regained

    give_up_s = options.timeouts.unreachable_s
    return Fence(lock, retake, environment.clock, session_s=options.session_s, give_up_s=give_up_s)
