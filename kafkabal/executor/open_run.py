"""The tools of an open run, put together: fence, effects, throttles, and what they share."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from kafkabal.clusters.protocol import ClusterLock
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import Fence, TakenOverError, release_lock, take_lock
from kafkabal.executor.safety.fenced_effects import Effects
from kafkabal.executor.safety.retry import RetryBudget
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import RunState
from kafkabal.executor.throttle.run_throttles import Throttling
from kafkabal.executor.throttle.throttle_request import ThrottleRequests


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


def lock_cluster(environment: RunEnvironment, options: RunOptions) -> ClusterLock:
    """Take the lock of the cluster, or one of this host where it has none.

    Raises
    ------
    BusyError
        If another holds it.
    """
    path = environment.folder(environment.cluster.cluster_id()) / "lock"
    return take_lock(environment.cluster, environment.owner, options.session_s, path)


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
        requested_throttle=ThrottleRequests(
            run.journal.path, run.remembered, run.record.run_id, environment.clock
        ).latest,
    )
    return context


def _fence(environment: RunEnvironment, run: OpenRun) -> Fence:
    def retake() -> ClusterLock:
        with ExitStack() as undo:
            regained = lock_cluster(environment, run.options)
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
