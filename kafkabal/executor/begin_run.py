"""Begins a new run: takes the lock, runs the checks, and writes a record and a rollback plan before any change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from kafkabal.clusters import ClusterLock, ResourceKind
from kafkabal.errors import OutputError
from kafkabal.executor.new_run_record import new_run_record
from kafkabal.executor.observe.duration_estimate import planned_copies
from kafkabal.executor.reopen_preview import preview_reopen
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.run_setup import (
    announce_start,
    make_context,
    make_fence,
    refuse_unfinished,
    retry_if_lock_lost,
    write_cluster_record,
)
from kafkabal.executor.safety.cluster_lock import confirm_lock, release_lock
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.state.find_run import FoundRun, find_run
from kafkabal.executor.state.journal import Journal, not_started, rollback_plan_path
from kafkabal.executor.state.journal_records import ThrottleRate
from kafkabal.executor.state.run_record import Original, RunPartition, RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunState
from kafkabal.executor.state.run_store import RunStore
from kafkabal.model import TopicPartition
from kafkabal.plan import PartitionChange, Placement, Plan, write_plan


def begin_run(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    *,
    rollback_file: Path | None = None,
    skip_drifted: bool = False,
    previous: Mapping[TopicPartition, Placement] | None = None,
    goal: Goal = Goal.APPLY,
    lock: ClusterLock | None = None,
) -> RunContext | None:
    """Take the lock, check the plan against the current cluster, and record everything before the first change.

    Parameters
    ----------
    rollback_file
        Where to write the rollback plan; beside the journal if None.
    skip_drifted
        Leave out partitions that have changed since the plan was made.
    previous
        Where partitions were before a reassignment of another tool that this run takes over; they have not drifted.
    goal
        What is announced: reassignments of another tool may be taken over to be cancelled.
    lock
        The lock if it is already held; taken now if None. The run releases it at the end.

    Returns
    -------
    RunContext or None
        None if there is nothing to do.

    Raises
    ------
    BusyError
        If another run holds the lock.
    DriftError
        If planned partitions have changed.
    UnsafeError
        If an earlier run is unfinished.
    """
    return retry_if_lock_lost(
        lambda held: _begin(
            environment,
            plan,
            options,
            previous or {},
            goal,
            held,
            rollback_file=rollback_file,
            skip_drifted=skip_drifted,
        ),
        lock,
    )


def _begin(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    previous: Mapping[TopicPartition, Placement],
    goal: Goal,
    held: ClusterLock | None,
    *,
    rollback_file: Path | None,
    skip_drifted: bool,
) -> RunContext | None:
    with ExitStack() as undo:
        lock = held or lock_cluster(environment, options.session_s, wait_s=environment.lock_wait_s)
        undo.callback(release_lock, lock)
        # under the lock: otherwise a run that is just ending would be taken for one that crashed
        earlier = find_run(environment)
        confirm_lock(lock, options.session_s)
        # not if another tool's reassignments are taken over: to cancel those is to cancel the whole run
        carried = earlier.moves_to_carry(environment.cluster, plan) if earlier is not None and not previous else ()
        inherited = _inherited(earlier, carried)
        record = new_run_record(environment, plan, options, previous, skip_drifted=skip_drifted, carried=carried)
        if record is None:
            return None
        path = environment.journal_path(record.cluster_id, record.run_id)
        if rollback_file is not None:
            # before the journal: if the rollback plan cannot be written, the run must not begin
            _write_rollback_plan(record, rollback_file)
        journal = undo.enter_context(closing(Journal.create(path, record)))
        if rollback_file is None:
            _write_rollback_plan(record, rollback_plan_path(path))
        at = record.started_at
        rates = earlier.state.rates if earlier is not None and (inherited or carried) else set()
        begun = RunState(at=at, phase=Phase.RECORDED, batches=0, later_originals=list(inherited), rates=set(rates))
        cluster_record = write_cluster_record(
            environment,
            options,
            lock,
            lambda r: r.begin(record, begun),
            new_run_id=record.run_id,
            drained=plan.drained,
        )
        state = RunState(at=at, batches=0, later_originals=list(inherited), rates=set(rates))
        fence = make_fence(environment, options, lock, cluster_record, FoundRun(record, state, None), journal)
        store = RunStore(record, state, journal, cluster_record, fence, environment.clock, environment.listener)
        context = make_context(environment, options, store, fence)
        # the run begins only here: a crash before this leaves nothing to resume
        context.enter(Goal.APPLY, Phase.RECORDED)
        if inherited:
            journal.append(*inherited, *(ThrottleRate(at=at, value=value) for value in sorted(rates)))
        copies = [planned_copies(p) for p in record.partitions]
        if previous:
            # part of the copies of another tool has arrived already
            run = FoundRun(record, state, None)
            left = context.retries.until_success(lambda: preview_reopen(environment, run, Goal.APPLY).moves)
            copies = [move.copies for move in left]
        undo.pop_all()
    announce_start(context, goal, copies)
    return context


def _write_rollback_plan(record: RunRecord, path: Path) -> None:
    try:
        write_plan(_rollback_plan(record), path)
    except OutputError as error:
        raise not_started(error.message, error) from error


def _rollback_plan(record: RunRecord) -> Plan:
    """The plan that undoes a run; any tool can execute it."""
    changes = (
        PartitionChange(
            topic=p.topic,
            partition=p.partition,
            replicas=p.previous.replicas,
            log_dirs=p.previous.log_dirs,
            previous=p.target,
            bytes=p.copy_bytes * sum(b not in p.replicas for b in p.previous.replicas),
            reason=f"rollback of run {record.run_id}",
        )
        for p in record.partitions
    )
    return Plan(
        partitions=tuple(changes),
        cluster_id=record.cluster_id,
        taken_at=record.started_at,
        topic_ids={p.topic: p.topic_id for p in record.partitions if p.topic_id},
    )


def _inherited(earlier: FoundRun | None, carried: Collection[RunPartition]) -> tuple[Original, ...]:
    """Original configs that an earlier run could not restore because brokers were dead; this run restores them.

    Raises
    ------
    UnsafeError
        If anything else of the earlier run is left.
    """
    if earlier is not None and carried:
        topics = {p.topic for p in carried}
        # the earlier run left nothing on topics without such a move
        return tuple(o for o in earlier.originals if o.kind is ResourceKind.BROKER or o.resource in topics)
    inherited = earlier.rates_left if earlier is not None else ()
    if not inherited:
        refuse_unfinished(earlier)
    return inherited
