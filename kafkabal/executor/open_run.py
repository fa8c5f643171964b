"""The tools of an open run, put together: fence, effects, throttles, and what they share."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from kafkabal.clusters.protocol import ClusterLock
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import Workplace
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import Fence, TakenOverError, release_lock, take_lock
from kafkabal.executor.safety.fenced_effects import Effects
from kafkabal.executor.safety.retry import Endurance
from kafkabal.executor.state.cluster_record import RememberedRun
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
    remembered: RememberedRun | None
    last_effect: int = 0
    """Number of the last request in the journal."""


def lock_cluster(workplace: Workplace, options: RunOptions) -> ClusterLock:
    """Take the lock of the cluster, or one of this host where it has none.

    Raises
    ------
    BusyError
        If another holds it.
    """
    path = workplace.folder(workplace.cluster.cluster_id()) / "lock"
    return take_lock(workplace.cluster, workplace.owner, options.session_s, path)


def make_context(workplace: Workplace, run: OpenRun) -> RunContext:
    """Everything that the steps of the run share."""
    context: RunContext
    fence = _fence(workplace, run)
    effects = Effects(
        workplace.cluster,
        run.journal,
        fence,
        workplace.clock,
        workplace.listener,
        last_number=run.last_effect,
        items_per_request=run.options.limits.partitions_per_request,
    )
    throttling = Throttling(
        workplace.cluster,
        effects,
        run.journal,
        run.record,
        run.state,
        run.options.throttle,
        remember=lambda: context.remember(),
        now=lambda: context.now(),
    )
    context = RunContext(
        cluster=workplace.cluster,
        record=run.record,
        state=run.state,
        options=run.options,
        journal=run.journal,
        remembered=run.remembered,
        fence=fence,
        effects=effects,
        throttling=throttling,
        endurance=Endurance(workplace.clock, run.options.patience, workplace.listener),
        clock=workplace.clock,
        stop=workplace.stop,
        listener=workplace.listener,
        began_s=workplace.clock.monotonic(),
        ends_at_s=workplace.time_limit_s(run.options.max_runtime_s),
        broker_timeout_s=workplace.broker_timeout_s,
        read_state=workplace.read_state,
        requested_throttle=ThrottleRequests(
            run.journal.path, run.remembered, run.record.run_id, workplace.clock
        ).latest,
    )
    return context


def _fence(workplace: Workplace, run: OpenRun) -> Fence:
    def retake() -> ClusterLock:
        with ExitStack() as undo:
            regained = lock_cluster(workplace, run.options)
            undo.callback(release_lock, regained)
            if _may_be_taken_over(run):
                raise TakenOverError(f"somebody else has gone on with run {run.record.run_id}")
            undo.pop_all()
        return regained

    patience_s = run.options.patience.unreachable_s
    return Fence(run.lock, retake, workplace.clock, session_s=run.options.session_s, patience_s=patience_s)


def _may_be_taken_over(run: OpenRun) -> bool:
    """Whether another process had the lock and used it; where the cluster remembers nothing, that must be feared."""
    return run.remembered is None or not run.remembered.is_as_left(run.record.run_id)
