"""How a run begins, and how one that has begun is opened again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from kafkabal.clusters import Capability, ClusterLock
from kafkabal.errors import (
    DriftError,
    MissingCapabilityError,
    NotAuthorizedError,
    RefusedByClusterError,
    UnsafeError,
    UsageError,
)
from kafkabal.executor.observe.duration_estimate import dir_changes, predicted_s
from kafkabal.executor.open_run import lock_cluster, make_context, make_fence
from kafkabal.executor.reassign.cordon_brokers import read_cordons
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Started, Warned
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import LockLostError, confirm_lock, release_lock
from kafkabal.executor.safety.retry import RetryBudget
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.find_run import FoundRun, find_run, open_cluster_record
from kafkabal.executor.state.journal import Entered, Journal, Rate, ThrottleTaken
from kafkabal.executor.state.run_record import Original, PlannedPartition, RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunState
from kafkabal.executor.state.run_store import RunStore
from kafkabal.executor.throttle.run_throttles import read_originals
from kafkabal.model import ClusterState, TopicPartition, move_bytes
from kafkabal.plan import PartitionChange, Placement, Plan, find_drift, partition_rows, placements, write_plan


class RunClosedError(UsageError):
    """The run has ended, and nothing of it is left to resume or to cancel."""


_T = TypeVar("_T")
_BEGINNINGS = 3
_OF_NO_INTEREST = frozenset({"tolerance", "seed", "scores", "keep_moved"})
_HOW_TO_END = "finish it with 'kafkabal rebalance resume', 'rollback' or 'cancel', then try again"


def begin_run(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    *,
    rollback_file: Path | None = None,
    skip_drifted: bool = False,
    starts: Mapping[TopicPartition, Placement] | None = None,
    lock: ClusterLock | None = None,
) -> RunContext | None:
    """Take the lock, check the plan against the cluster as it is now, and write down everything before any effect.

    Parameters
    ----------
    rollback_file
        Where to write the plan of the way back; beside the journal if None.
    skip_drifted
        Leave out partitions that have changed since the plan was made.
    starts
        Where partitions were before a reassignment of another tool that this run takes over; they have not drifted.
    lock
        Taken already; the run gives it up when it ends. Taken now if None.

    Returns
    -------
    RunContext or None
        None where nothing is to be done.

    Raises
    ------
    BusyError
        If another run holds the lock.
    DriftError
        If planned partitions have changed.
    UnsafeError
        If an earlier run has not been ended.
    """
    return _again_if_lock_lost(
        lambda held: _begin(
            environment, plan, options, starts or {}, held, rollback_file=rollback_file, skip_drifted=skip_drifted
        ),
        lock,
    )


def _begin(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    starts: Mapping[TopicPartition, Placement],
    held: ClusterLock | None,
    *,
    rollback_file: Path | None,
    skip_drifted: bool,
) -> RunContext | None:
    with ExitStack() as undo:
        lock = held or lock_cluster(environment, options.session_s, wait_s=environment.lock_wait_s)
        undo.callback(release_lock, lock)
        # under the lock: a run that ends meanwhile would be taken for one that crashed
        earlier = find_run(environment)
        inherited = _inherited(earlier)
        # read again although the command has read it: a prompt may have been open for hours since
        state = environment.read_state()
        partitions = _planned(_without_drifted(plan, state, starts, skip_drifted=skip_drifted), state, starts)
        if not partitions:
            return None
        # without ids a rollback would move a topic that was created again under its name
        partitions = _with_topic_ids(environment, partitions)
        record = _record(environment, plan, options, partitions)
        path = environment.journal_path(record.cluster_id, record.run_id)
        if rollback_file is not None:
            # before the journal: what cannot be undone as was asked never began
            write_plan(_way_back(record), rollback_file)
        journal = undo.enter_context(closing(Journal.create(path, record)))
        if rollback_file is None:
            write_plan(_way_back(record), path.with_suffix(".rollback.json"))
        at = record.started_at
        rates = earlier.state.rates if earlier is not None and inherited else set()
        begun = RunState(at=at, phase=Phase.RECORDED, later_originals=list(inherited), rates=set(rates))
        remembered = _remember(environment, options, lock, lambda r: r.begin(record, begun))
        opened = RunState(at=at, later_originals=list(inherited), rates=set(rates))
        fence = make_fence(environment, options, lock, remembered, record.run_id)
        store = RunStore(record, opened, journal, remembered, fence, environment.clock)
        context = make_context(environment, options, store, fence)
        # only now has the run begun: until here a crash leaves nothing that anybody has to resume
        context.enter(Goal.APPLY, Phase.RECORDED)
        if inherited:
            journal.append(*inherited, *(Rate(at=at, value=value) for value in sorted(rates)))
        undo.pop_all()
    _tell_start(context)
    return context


def reopen_run(
    environment: RunEnvironment,
    *,
    journal: Path | str | None = None,
    options: RunOptions | None = None,
    goal: Goal | None = None,
    lock: ClusterLock | None = None,
) -> RunContext:
    """Take the lock and open the latest run again, in whatever state it was left.

    Parameters
    ----------
    options
        Replace those that the run was begun with.
    goal
        What it is to be brought to now; what it was heading for before if None.
    lock
        Taken already; the run gives it up when it ends. Taken now if None.

    Raises
    ------
    UsageError
        If no run is known.
    BusyError
        If another run holds the lock.
    """
    return _again_if_lock_lost(lambda held: _reopen(environment, journal, options, goal, held), lock)


def _reopen(
    environment: RunEnvironment,
    journal: Path | str | None,
    options: RunOptions | None,
    goal: Goal | None,
    held: ClusterLock | None,
) -> RunContext:
    found = find_run(environment, journal)
    if found is None or not found.state.has_begun:
        raise UsageError(
            "no run found for this cluster",
            hint="give its journal with --journal; 'kafkabal rebalance repair' lists leftover throttles",
        )
    with ExitStack() as undo:
        wanted = options or found.record.options
        lock = held or lock_cluster(environment, wanted.session_s, wait_s=environment.lock_wait_s)
        undo.callback(release_lock, lock)
        found = find_run(environment, journal) or found  # an earlier holder of the lock may have resumed it
        _refuse_closed(found, goal)
        opened = undo.enter_context(closing(_open_journal(environment, found)))
        # told before any effect: a process that stood still sees by this time that the run is no longer its own
        found.state.at = environment.clock.utc_now().isoformat(timespec="milliseconds")
        remembered = _remember(environment, wanted, lock, lambda r: _reopen_cluster_record(r, found))
        effects = found.journal.effects if found.journal else 0
        fence = make_fence(environment, wanted, lock, remembered, found.record.run_id)
        store = RunStore(found.record, found.state, opened, remembered, fence, environment.clock)
        context = make_context(environment, wanted, store, fence, last_effect=effects)
        if options is not None and options.throttle.bytes_per_s is not None:
            context.throttling.change(options.throttle)
        undo.pop_all()
    _tell_start(context, goal)
    return context


def _again_if_lock_lost(begin: Callable[[ClusterLock | None], _T], held: ClusterLock | None) -> _T:
    """Begin again where the lock was lost before anything was changed, as by a process that stood still."""
    for _ in range(_BEGINNINGS - 1):
        with suppress(LockLostError):
            return begin(held)
        held = None
    return begin(held)


def _refuse_closed(found: FoundRun, goal: Goal | None) -> None:
    """A run that is closed stays closed: to apply its plan again would undo what was done since.

    It can be rolled back, which is another goal; one that was stopped or did a part only can be resumed.
    """
    run_id = found.record.run_id
    if goal is Goal.CANCEL and found.state.is_clean:
        raise RunClosedError(f"run {run_id} is closed: it has no reassignment in flight and no throttle")
    if goal is None and not found.is_resumable:
        hint = f"undo it with 'kafkabal rebalance rollback {run_id}'"
        raise RunClosedError(f"run {run_id} is complete: nothing to resume", hint=hint)


def _inherited(earlier: FoundRun | None) -> tuple[Original, ...]:
    """Original rates of brokers that an earlier run could not restore, since they were dead: this one does.

    Raises
    ------
    UnsafeError
        If anything else is left of the earlier run.
    """
    inherited = earlier.rates_left if earlier is not None else ()
    if not inherited:
        _refuse_unfinished(earlier)
    return inherited


def _refuse_unfinished(found: FoundRun | None) -> None:
    if found is not None and found.is_open:
        raise UnsafeError(
            f"run {found.record.run_id} of {found.record.host} is unfinished (phase: {found.state.phase})",
            hint=_HOW_TO_END,
        )


def _without_drifted(
    plan: Plan, state: ClusterState, starts: Mapping[TopicPartition, Placement], *, skip_drifted: bool
) -> tuple[PartitionChange, ...]:
    drifts = [drift for drift in find_drift(plan, state) if drift.partition not in starts]
    if drifts and not skip_drifted:
        named = "; ".join(map(str, drifts[:5])) + (f"; and {len(drifts) - 5} more" if len(drifts) > 5 else "")
        raise DriftError(
            f"{len(drifts)} of {len(plan.partitions)} planned partitions have changed since planning: {named}",
            hint="make a new plan, or skip them with --skip-drifted",
        )
    drifted = {d.partition for d in drifts}
    return tuple(c for c in plan.partitions if c.name not in drifted)


def _planned(
    changes: Collection[PartitionChange], state: ClusterState, starts: Mapping[TopicPartition, Placement]
) -> tuple[PlannedPartition, ...]:
    """The partitions in which something is to be done."""
    names = [c.name for c in changes]
    found = placements(state, names)
    sizes = move_bytes(state)
    size_of = {name: max(int(sizes[row]), 0) for name, row in partition_rows(state, names)}
    planned = [
        PlannedPartition(
            topic=c.topic,
            partition=c.partition,
            start=starts.get(c.name, found[c.name].placement),
            replicas=c.replicas,
            log_dirs=c.log_dirs,
            copy_bytes=size_of[c.name],
        )
        for c in changes
        if c.name in found
    ]
    return tuple(p for p in planned if _has_work(p))


def _with_topic_ids(
    environment: RunEnvironment, partitions: tuple[PlannedPartition, ...]
) -> tuple[PlannedPartition, ...]:
    status = environment.cluster.partition_status({p.topic for p in partitions})
    ids = {name.topic: found.topic_id for name, found in status.items()}
    return tuple(msgspec.structs.replace(p, topic_id=ids.get(p.topic, "")) for p in partitions)


def _has_work(p: PlannedPartition) -> bool:
    is_elsewhere = any(p.start_dirs.get(b) != path for b, path in p.target_dirs.items())
    return p.start.replicas != p.replicas or p.start.leader != p.replicas[0] or is_elsewhere


def _record(
    environment: RunEnvironment, plan: Plan, options: RunOptions, partitions: tuple[PlannedPartition, ...]
) -> RunRecord:
    return RunRecord(
        run_id=environment.new_run_id(),
        plan_id=plan.plan_id,
        cluster_id=environment.cluster.cluster_id(),
        started_at=environment.clock.utc_now().isoformat(timespec="milliseconds"),
        host=environment.host,
        options=options,
        partitions=partitions,
        originals=_originals(environment, options, partitions),
        cordons=read_cordons(environment.cluster, plan.drained),
        user=environment.user,
        why=_why(plan),
    )


def _why(plan: Plan) -> str:
    """What was asked of the plan, as options that differ from their defaults; its file, where no planner made it."""
    if plan.cluster_id is None:
        return "plan of another tool"
    asked = {name: value for name, value in plan.options.items() if name not in _OF_NO_INTEREST}
    if asked.get("adopted"):
        return "adopted from another tool"
    words = [
        f"--{value}" if name == "mode" else f"--{name.replace('_', '-')} {_text(value)}"
        for name, value in asked.items()
    ]
    return " ".join(words) or "balance"


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _originals(
    environment: RunEnvironment, options: RunOptions, partitions: tuple[PlannedPartition, ...]
) -> tuple[Original, ...]:
    """Configs as found; without a throttle of ours they are of no interest."""
    if options.throttle.bytes_per_s is None and options.throttle.log_dir_bytes_per_s is None:
        return ()
    if Capability.CONFIGS not in environment.cluster.capabilities:
        raise MissingCapabilityError(
            f"throttles not supported: {environment.cluster.name}", hint="run without a throttle: --throttle none"
        )
    originals, faults = read_originals(environment.cluster, partitions)
    for resource, fault in faults.items():
        if fault.name.endswith("AUTHORIZATION_FAILED"):
            raise NotAuthorizedError(
                f"not authorized to read the configs of {resource}: {fault}",
                hint="run without a throttle: --throttle none",
            )
        environment.listener.on_event(Warned(message=f"cannot read the configs of {resource}: {fault}"))
    return originals


def _way_back(record: RunRecord) -> Plan:
    """The plan that undoes this one, for any tool."""
    changes = (
        PartitionChange(
            topic=p.topic,
            partition=p.partition,
            replicas=p.start.replicas,
            log_dirs=p.start.log_dirs,
            previous=Placement(replicas=p.replicas, leader=p.replicas[0], log_dirs=p.log_dirs),
            bytes=p.copy_bytes * sum(b not in p.replicas for b in p.start.replicas),
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


def _remember(
    environment: RunEnvironment, options: RunOptions, lock: ClusterLock, write: Callable[[ClusterRecord], None]
) -> ClusterRecord | None:
    """Let the cluster keep what another host needs, while the lock is held; None where it may not."""
    remembered = open_cluster_record(environment.cluster)

    def confirm() -> None:
        confirm_lock(lock, options.session_s)

    def write_under_lock() -> None:
        confirm()
        if remembered is not None:
            with remembered.confirming(confirm):
                write(remembered)

    try:
        RetryBudget(environment.clock, options.timeouts, environment.listener).until_success(write_under_lock)
    except (NotAuthorizedError, MissingCapabilityError) as error:
        message = f"only the journal on this host can resume or roll back this run: {error.message}"
        environment.listener.on_event(Warned(message=message))
        return None
    return remembered


def _reopen_cluster_record(remembered: ClusterRecord, found: FoundRun) -> None:
    """Record on the cluster that the run continues here, unless it holds another that was not ended."""
    known = remembered.load()
    if known is not None and known[0].run_id == found.record.run_id:
        try:
            remembered.update(found.record.run_id, found.state)
        except NotAuthorizedError:
            raise
        except RefusedByClusterError:
            pass  # with too few replicas to write to, a run can still be called back
        return
    if known is not None:
        _refuse_unfinished(FoundRun(*known, None))
    remembered.begin(found.record, found.state)


def _open_journal(environment: RunEnvironment, found: FoundRun) -> Journal:
    """Continue the journal of this host, or begin one from the cluster record."""
    if found.journal is not None:
        return Journal(found.journal.path, keep_bytes=found.journal.valid_bytes)
    now = environment.clock.utc_now().isoformat(timespec="milliseconds")
    return Journal.create(
        environment.journal_path(found.record.cluster_id, found.record.run_id),
        found.record,
        Entered(at=now, goal=found.state.goal, phase=Phase.RECORDED),
        *found.state.later_originals,
        *(Rate(at=now, value=value) for value in sorted(found.state.rates)),
        *_changed_throttle(found.state, now),
    )


def _changed_throttle(state: RunState, now: str) -> tuple[ThrottleTaken, ...]:
    if state.throttle is None:
        return ()
    return (ThrottleTaken(at=now, throttle=state.throttle, asked_at=state.asked_at),)


def _tell_start(context: RunContext, goal: Goal | None = None) -> None:
    partitions, throttle = context.record.partitions, context.throttling.throttle
    copies = [p.copy_bytes * len(p.adding) for p in partitions]
    context.listener.on_event(
        Started(
            run_id=context.record.run_id,
            goal=goal or context.state.goal,
            partitions=len(partitions),
            copy_bytes=sum(copies),
            log_dir_bytes=sum(p.copy_bytes * len(dir_changes(p)) for p in partitions),
            predicted_s=predicted_s(partitions, throttle),
            lock_scope=context.fence.scope,
            throttle_bytes_per_s=throttle.bytes_per_s,
            has_cluster_record=context.store.cluster_record is not None,
        )
    )
