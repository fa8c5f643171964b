"""Execute a run from its first move to its last throttle: shared by apply, resume, roll back, cancel and repair.

A run always ends in the same order, whatever ends it: it starts nothing more; it cancels, awaits or leaves what is in
flight, as requested; it restores throttles once nothing that they limit is in flight; it records the end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kafkabal.clusters import ClusterLock, min_insync_replicas
from kafkabal.errors import BusyError, KafkabalError, OutputError
from kafkabal.executor.begin_run import begin_run
from kafkabal.executor.observe.observation import Observation, Stage, observe
from kafkabal.executor.reassign.cancel_moves import cancel_in_flight, copies_between_dirs, ends_of_copies
from kafkabal.executor.reassign.cordon_brokers import cordon, lift_cordons
from kafkabal.executor.reassign.leader_elections import elect_preferred, restore_leaders
from kafkabal.executor.reassign.move_loop import MoveEnd, MoveLoop
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reopen_run import reopen_run
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Finished
from kafkabal.executor.run_options import OnInterrupt, RunOptions
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.safety.cluster_lock import OtherClusterError
from kafkabal.executor.safety.retry import PASSING_ERRORS
from kafkabal.executor.safety.stop_request import HardStop, StopReason
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, left_behind
from kafkabal.executor.throttle.leftover_throttles import remove_found_throttles
from kafkabal.executor.throttle.run_throttles import Leftovers
from kafkabal.model import TopicPartition
from kafkabal.plan import Plan
from kafkabal.wording import first_of

_RESUME = "continue with 'kafkabal rebalance resume'"
_LONGEST_NAP_S = 1.0
"""A stop, or a request to continue, takes effect within this time during a pause."""


def apply(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    *,
    rollback_file: Path | None = None,
    skip_drifted: bool = False,
    lock: ClusterLock | None = None,
) -> RunResult | None:
    """Apply a plan; returns None if there was nothing to do.

    Parameters
    ----------
    lock
        The lock of the cluster if it is already held; the run releases it at the end.

    Raises
    ------
    DriftError, UnsafeError, BusyError
        Raised before anything is changed.
    KafkabalError
        The error that ended the run early, after throttles were restored and moves cancelled as far as possible.
    """
    context = begin_run(environment, plan, options, rollback_file=rollback_file, skip_drifted=skip_drifted, lock=lock)
    return execute(context, Goal.APPLY) if context is not None else None


def resume(
    environment: RunEnvironment,
    *,
    journal: Path | str | None = None,
    options: RunOptions | None = None,
    lock: ClusterLock | None = None,
) -> RunResult:
    """Resume the latest run, towards the goal it had.

    Raises
    ------
    RunClosedError
        If the run is complete.
    """
    context = reopen_run(environment, journal=journal, options=options, lock=lock)
    return execute(context, context.state.goal)


def roll_back(
    environment: RunEnvironment,
    *,
    journal: Path | str | None = None,
    options: RunOptions | None = None,
    lock: ClusterLock | None = None,
) -> RunResult:
    """Restore every partition, leader and config to its state before the run.

    Partitions that another tool has since moved to a third placement stay there, and the result names them.
    """
    context = reopen_run(environment, journal=journal, options=options, goal=Goal.ROLL_BACK, lock=lock)
    return execute(context, Goal.ROLL_BACK)


def cancel(
    environment: RunEnvironment, *, journal: Path | str | None = None, lock: ClusterLock | None = None
) -> RunResult:
    """Cancel what the latest run has in flight and restore its throttles; finished moves stay.

    Raises
    ------
    RunClosedError
        If nothing of the run is left.
    """
    context = reopen_run(environment, journal=journal, goal=Goal.CANCEL, lock=lock, only_winds_down=True)
    return execute(context, Goal.CANCEL)


def repair_run(
    environment: RunEnvironment, *, journal: Path | str | None = None, lock: ClusterLock | None = None
) -> RunResult:
    """Restore the throttles of the latest run; reassignments in flight continue and keep theirs."""
    context = reopen_run(environment, journal=journal, lock=lock, only_winds_down=True)
    try:
        ends = ends_of_copies(context)
        seen = context.retries.until_success(lambda: observe(context.cluster, ends))
        in_flight = {end.name for end in ends} & seen.reassignments.keys()
        in_flight |= {TopicPartition(r.topic, r.partition) for r in copies_between_dirs(seen, ends)}
        return _Run(context, context.state.goal).restore_only(in_flight)
    finally:
        context.store.close()


def execute(context: RunContext, goal: Goal) -> RunResult:
    """Bring the run to a goal, and clean up on the cluster.

    Raises
    ------
    KafkabalError
        The error that made it impossible to continue, raised after everything possible was cleaned up.
    BusyError
        If another process has taken the lock; then nothing more was changed.
    OtherClusterError
        If another cluster responds; then nothing was changed on it.
    """
    try:
        return _Run(context, goal).execute()
    except HardStop:
        # so that a host that cleans up after us need not wait for the session to expire
        context.fence.release()
        raise
    finally:
        context.store.close()


class _Run:
    """The steps of one run; collects what failed."""

    def __init__(self, context: RunContext, goal: Goal) -> None:
        self._context = context
        self._goal = goal
        self._problems: dict[TopicPartition, str] = {}
        self._placed: set[TopicPartition] = set()
        self._deleted: set[TopicPartition] = set()
        self._foreign: set[TopicPartition] = set()
        """Partitions that another tool has moved."""
        self._lagging_since_s: dict[TopicPartition, float] = {}
        self._loop: MoveLoop | None = None
        self._earlier_bytes = 0
        """Bytes that the loops before this one have copied."""
        self._is_ending = False

    def execute(self) -> RunResult:
        try:
            if self._goal is Goal.CANCEL:
                return self._end(OnInterrupt.CANCEL, RunOutcome.STOPPED)
            return self._move_and_lead()
        except BusyError as error:
            # another process has the lock: a cleanup now would cancel its moves and unset its throttles
            if self._context.store.cluster_record is None:
                self._leave_to_journal(error)
            raise
        except OtherClusterError:
            raise  # a cleanup would change that cluster
        except Exception as error:
            # if the way out has begun, a second attempt could cancel what the first one decided to leave running
            if not self._is_ending:
                self._wind_down()
            self._context.fence.release()
            if isinstance(error, PASSING_ERRORS):
                _hint_at_resume(error)
            raise

    def restore_only(self, in_flight: Collection[TopicPartition]) -> RunResult:
        before = self._context.state.outcome
        left = self._restore_for_good(in_flight)
        if in_flight:
            return self._close(RunOutcome.DETACHED, left.pending)
        # a broker that was drained completely is about to be stopped, and stays cordoned
        if before not in (RunOutcome.COMPLETE, RunOutcome.PARTIAL):
            lift_cordons(self._context)
        # a run that has done all that it was to do must not look like one to resume or to roll back
        return self._close(before if before is RunOutcome.COMPLETE else RunOutcome.STOPPED, left.pending)

    def _move_and_lead(self) -> RunResult:
        context = self._context
        if self._goal is Goal.ROLL_BACK:
            lift_cordons(context)  # a cordoned broker accepts no replica back
        else:
            cordon(context)
        while (end := self._move()) is MoveEnd.PAUSED:
            self._pause()
            if context.should_stop():
                return self._stop()  # another loop would end before it has looked at what is in place
        if end is MoveEnd.STOPPED:
            return self._stop()
        if context.options.elect_leaders or self._goal is Goal.ROLL_BACK:
            context.enter(self._goal, Phase.ELECTING)
            self._problems |= self._lead()
        if context.stop.reason is not None:
            return self._stop()
        return self._end(OnInterrupt.CANCEL, RunOutcome.PARTIAL if self._problems else RunOutcome.COMPLETE)

    def _move(self) -> MoveEnd:
        context = self._context
        # recorded first: a crash during the first request must find a run that says it may have moved something
        context.enter(self._goal, Phase.MOVING)
        loop = self._next_loop(context.retries.until_success(self._min_insync))
        # it observes and tries everything again
        self._placed, self._problems = set(), {}
        try:
            return loop.run()
        finally:
            self._collect(loop)

    def _next_loop(
        self, min_insync: Mapping[str, int], counted: Mapping[TopicPartition, int] | None = None
    ) -> MoveLoop:
        self._earlier_bytes = self._copied_bytes
        self._loop = MoveLoop(self._context, self._context.targets(self._goal), min_insync, counted)
        return self._loop

    @property
    def _copied_bytes(self) -> int:
        return self._earlier_bytes + (self._loop.copied_bytes if self._loop else 0)

    def _collect(self, loop: MoveLoop) -> None:
        self._count_placed({t.name for t in loop.tasks if t.stage is Stage.PLACED})
        self._deleted = {t.name for t in loop.tasks if t.stage is Stage.GONE}
        self._foreign = {t.name for t in loop.tasks if t.stage is Stage.FOREIGN}
        self._problems |= {t.name: t.problem for t in loop.tasks if _is_undone(t)}
        self._lagging_since_s = {t.name: t.lagging_since_s for t in loop.tasks if t.lagging_since_s is not None}

    def _count_placed(self, placed: set[TopicPartition]) -> None:
        for name in placed - self._placed:
            self._problems.pop(name, None)
        self._placed |= placed

    def _lead(self) -> dict[TopicPartition, str]:
        placed = [p for p in self._context.record.partitions if p.name in self._placed]
        if self._goal is Goal.ROLL_BACK:
            return restore_leaders(self._context, placed)
        return elect_preferred(self._context, placed)

    def _min_insync(self) -> dict[str, int]:
        return min_insync_replicas(self._context.cluster, {p.topic for p in self._context.record.partitions})

    def _pause(self) -> None:
        """Pause gracefully, and wait for the window or for a request to continue."""
        context = self._context
        self._end_in_flight(context.options.on_interrupt)
        self._restore()
        context.enter(self._goal, Phase.PAUSED)
        while context.is_paused or context.seconds_until_window() > 0:
            # first, because a request to cancel ends the pause as well
            self._take_throttle()
            if context.should_stop():
                return
            context.retries.until_success(context.keep_files)
            context.clock.sleep(_LONGEST_NAP_S)

    def _take_throttle(self) -> None:
        request, throttling = self._context.take_request(), self._context.throttling
        if request is not None:
            throttling.change(request.requested.applied_to(throttling.throttle), request.asked_at)

    def _stop(self) -> RunResult:
        is_cancelled = self._context.stop.reason is StopReason.CANCELLED
        policy = OnInterrupt.CANCEL if is_cancelled else self._context.options.on_interrupt
        return self._end(policy, RunOutcome.DETACHED if policy is OnInterrupt.DETACH else RunOutcome.STOPPED)

    def _end(self, policy: OnInterrupt, outcome: RunOutcome) -> RunResult:
        self._is_ending = True
        if outcome is RunOutcome.DETACHED:
            # moves that continue need their throttle, or they would take all bandwidth
            return self._close(outcome, ["the throttle of this run, because its reassignments continue"])
        self._context.store.tolerate_gaps()
        # throttles last: a copy that is still in flight would run unthrottled once they are gone
        still_running = self._end_in_flight(policy) if outcome is not RunOutcome.COMPLETE else {}
        for name, fault in still_running.items():
            # first the reason why it waits, which is also why it cannot be cancelled
            why = self._problems.get(name)
            self._problems[name] = f"{why}; not cancelled: {fault}" if why else fault
        left = self._restore_for_good(still_running.keys())
        if self._goal is not Goal.APPLY or outcome is RunOutcome.STOPPED:
            lift_cordons(self._context)
        if self._context.store.gap:
            self._context.warn(f"the journal is incomplete: {self._context.store.gap}")
        return self._close(outcome, left.pending)

    def _end_in_flight(self, policy: OnInterrupt) -> dict[TopicPartition, str]:
        """Wait until nothing that a throttle limits is in flight; returns what remains in flight nevertheless."""
        context = self._context
        context.enter(self._goal_to_record, Phase.CANCELLING)
        if policy is OnInterrupt.FINISH:
            loop = self._next_loop({}, self._loop.partial_bytes if self._loop else None)
            loop.run(finish_only=True)
            self._collect(loop)
        ended = cancel_in_flight(context, context.record.partitions, self._lagging_since_s)
        self._take_last(ended.seen)
        return dict(ended.still_running)

    @property
    def _goal_to_record(self) -> Goal:
        """The goal for a process that continues the run: one that was cancelled, from any process, must not resume."""
        return Goal.CANCEL if self._context.is_cancelled else self._goal

    def _take_last(self, seen: Observation) -> None:
        """Count the copies that have completed since the loop stopped, some of them before they could be cancelled."""
        if self._loop is not None:
            self._loop.take_last(seen)
            self._collect(self._loop)
        placed = {t.name for t in self._context.targets(self._goal) if seen.stage(t) is Stage.PLACED}
        self._count_placed(placed)

    def _restore(self, still_running: Collection[TopicPartition] = ()) -> Leftovers:
        context = self._context
        context.enter(self._goal_to_record, Phase.RESTORING)
        left = context.retries.until_success(lambda: context.throttling.restore(still_running))
        for complaint in left.complaints:
            context.warn(complaint)
        return left

    def _restore_for_good(self, still_running: Collection[TopicPartition]) -> Leftovers:
        """Restore throttles at the end of the run, and remove those of the tool whose reassignments it took over."""
        context = self._context
        left = self._restore(still_running)
        if context.record.options.removes_found_throttles and not still_running:
            left.pending += context.retries.until_success(lambda: remove_found_throttles(context))
        return left

    def _wind_down(self) -> None:
        """End the run after an error, in the usual way; a second error while doing so does not hide the first."""
        try:
            left = self._end(OnInterrupt.CANCEL, RunOutcome.STOPPED).pending
            if left:  # the error that is raised then does not name it
                self._context.warn(f"still set: {first_of(left)}")
        except Exception as error:  # noqa: BLE001 - whatever it is, the first error is the cause, and the lock is to be freed
            self._context.warn(f"throttles and reassignments of this run may remain on the cluster: {error}")

    def _leave_to_journal(self, error: BusyError) -> None:
        """Say what is left and how to end it: without a record on the cluster, only this journal knows of it.

        The journal may have been deleted together with the lock file, which is how another process could take that.
        """
        context = self._context
        with suppress(OutputError):
            context.store.keep_journal()
        context.warn(left_behind(context.record, context.state))
        journal = context.store.journal_path
        error.hint = f"once the other process has finished, run 'kafkabal rebalance cancel --journal {journal}'"

    def _close(self, outcome: RunOutcome, pending: Sequence[str]) -> RunResult:
        context = self._context
        problems = {str(name): reason for name, reason in sorted(self._problems.items())}
        context.close(outcome, list(pending), problems)
        context.fence.release()
        result = RunResult(
            run_id=context.record.run_id,
            goal=self._goal,
            outcome=outcome,
            stop_reason=context.stop.reason,
            done=len(self._placed),
            deleted=len(self._deleted - self._placed),
            total=len(context.record.partitions),
            copied_bytes=self._copied_bytes,
            elapsed_s=context.elapsed_s,
            problems=problems,
            skipped=len(self._foreign & self._problems.keys()),
            pending=list(pending),
            journal=context.store.journal_path,
        )
        context.listener.on_event(_finished(result))
        return result


def _hint_at_resume(error: KafkabalError) -> None:
    """Say how the run continues, after whatever else the error advises."""
    if _RESUME not in (error.hint or ""):
        error.hint = f"{error.hint}; then {_RESUME}" if error.hint else _RESUME


def _is_undone(task: PartitionTask) -> bool:
    """Whether a partition is not done; one whose topic was deleted counts as done."""
    return task.stage not in (Stage.PLACED, Stage.GONE) and bool(task.problem or task.is_given_up)


def _finished(result: RunResult) -> Finished:
    return Finished(
        run_id=result.run_id,
        outcome=result.outcome,
        done_partitions=result.done,
        total_partitions=result.total,
        done_bytes=result.copied_bytes,
        elapsed_s=result.elapsed_s,
        problems=result.problems,
        pending=result.pending,
    )
