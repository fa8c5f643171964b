"""The tools of an open run, put together: fence, effects, throttles, and what they share."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from kafkabal.clusters import ClusterLock
from kafkabal.errors import BusyError
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import LockAwaited
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import Fence, TakenOverError, release_lock, take_lock
from kafkabal.executor.safety.fenced_effects import Effects
from kafkabal.executor.safety.retry import RetryBudget
from kafkabal.executor.safety.run_invariants import RunInvariants
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_request import RunRequests
from kafkabal.executor.state.run_states import RunState
from kafkabal.executor.throttle.run_throttles import Throttling

_LOCK_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run whose lock is held and whose journal is open."""

    record: RunRecord
    state: RunState
    options: RunOptions
    journal: Journal
    lock: ClusterLock
    remembered: ClusterRecord | None
    last_effect: int = 0
    """Number of the last request in the journal."""


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


def make_context(environment: RunEnvironment, run: OpenRun) -> RunContext:
    """Everything that the steps of the run share."""
    context: RunContext
    fence = _fence(environment, run)
    effects = Effects(
        environment.cluster,
        run.journal,
        fence,
        environment.clock,
        environment.listener,
        RunInvariants(run.record, run.state),
        last_number=run.last_effect,
        items_per_request=run.options.limits.partitions_per_request,
    )
    throttling = Throttling(
        environment.cluster,
        effects,
        run.journal,
        run.record,
        run.state,
        run.options.throttle,
        remember=lambda: context.remember(),
        now=lambda: context.now(),
    )
    context = RunContext(
        cluster=environment.cluster,
        record=run.record,
        state=run.state,
        options=run.options,
        journal=run.journal,
        remembered=run.remembered,
        fence=fence,
        effects=effects,
        throttling=throttling,
        retries=RetryBudget(environment.clock, run.options.timeouts, environment.listener),
        clock=environment.clock,
        stop=environment.stop,
        listener=environment.listener,
        began_s=environment.clock.monotonic(),
        ends_at_s=environment.time_limit_s(run.options.max_runtime_s),
        broker_timeout_s=environment.broker_timeout_s,
        read_state=environment.read_state,
        latest_request=RunRequests(run.journal.path, run.remembered, run.record.run_id, environment.clock).latest,
    )
    return context


def _fence(environment: RunEnvironment, run: OpenRun) -> Fence:
    def retake() -> ClusterLock:
        with ExitStack() as undo:
            regained = lock_cluster(environment, run.options.session_s)
            undo.callback(release_lock, regained)
            if _may_be_taken_over(run):
                raise TakenOverError(f"run {run.record.run_id} was resumed by another process")
            undo.pop_all()
        return regained

    give_up_s = run.options.timeouts.unreachable_s
    return Fence(run.lock, retake, environment.clock, session_s=run.options.session_s, give_up_s=give_up_s)


def _may_be_taken_over(run: OpenRun) -> bool:
    """Whether another process had the lock and used it; where the cluster remembers nothing, that must be feared."""
    return run.remembered is None or not run.remembered.is_as_left(run.record.run_id)
