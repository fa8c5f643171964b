"""Cancel reassignments and copies between log dirs, and restore the order of replicas.

A cancelled reassignment leaves the previous replicas in another order, and so with another preferred leader; restoring
the order copies nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkabal.clusters import ReplicaOn
from kafkabal.executor.observe.observation import Observation, Stage, observe
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import TargetPlacement, target_of
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.safety.retry import PASSING_ERRORS
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal
from kafkabal.model import TopicPartition

_NOT_REGISTERED = "INVALID_REPLICA_ASSIGNMENT"
_MOVING = frozenset({Stage.MOVING, Stage.LAGGING, Stage.WRONG_TARGET})


@dataclass(frozen=True, slots=True)
class CancelResult:
    """How a cancel ended."""

    still_running: Mapping[TopicPartition, str]
    """Partitions that are still in flight after the timeout, with the reason."""
    seen: Observation
    """The last observation: copies may have completed before they could be cancelled."""


def cancel_in_flight(
    context: RunContext, partitions: Sequence[RunPartition], lagging_since_s: Mapping[TopicPartition, float]
) -> CancelResult:
    """Cancel what is in flight of these partitions, wait until it has ended, and restore the order of replicas.

    Parameters
    ----------
    lagging_since_s
        Since when metadata has shown a reassignment that the controller does not list; a run waits for such a lag once.

    Raises
    ------
    OperationError
        If the cluster cannot be reached, or refuses requests for too long.
    """
    by_steps = context.options.limits.one_replica_at_a_time
    planned = {p.name: p for p in partitions}
    tasks = [
        PartitionTask(target_of(p, Goal.APPLY, by_steps=by_steps), lagging_since_s=lagging_since_s.get(p.name))
        for p in partitions
    ]
    give_up_at = context.clock.monotonic() + context.options.timeouts.broker_return_s
    while True:
        try:
            open_tasks, why, seen = _turn(context, tasks, planned)
        except PASSING_ERRORS as error:
            context.retries.back_off(error)
            continue
        context.retries.reset()
        if all(t.cancel_is_unclean for t in open_tasks) or context.clock.monotonic() >= give_up_at:
            return CancelResult({t.name: why.get(t.name, "still in flight") for t in open_tasks}, seen)
        context.clock.sleep(context.options.timeouts.poll_s)


def _turn(
    context: RunContext, tasks: Sequence[PartitionTask], planned: Mapping[TopicPartition, RunPartition]
) -> tuple[list[PartitionTask], dict[TopicPartition, str], Observation]:
    """One attempt: which tasks were in flight or out of order, why some could not be cancelled, what was observed."""
    ends = ends_of_copies(context)
    seen = observe(context.cluster, ends)
    for task in tasks:
        task.take(seen, context.clock.monotonic())
    moving = [t for t in tasks if t.stage in _MOVING]
    copying = copies_between_dirs(seen, ends)
    disordered = {
        t.name: planned[t.name].previous.replicas
        for t in tasks
        if t.stage is Stage.WAITING and _is_out_of_order(t, planned[t.name])
    }
    faults = {t.name: _why_unclean(t) for t in moving if t.cancel_is_unclean}
    # only what the controller lists: cancelling anything else is an error, since only its metadata lags
    listed = [t.name for t in moving if t.name in seen.reassignments and t.name not in faults]
    for name, fault in context.effects.cancel(listed).items():
        faults[name] = str(fault)
    context.effects.move_log_dirs(copying)
    # a cancelled move leaves the old replicas in another order, which auto leader rebalancing would follow
    refused = context.effects.reassign(disordered, changes_replication_factor=False)
    # Kafka refuses an order that names a broker unregistered since; nothing is in flight for that partition
    ended = {name for name, fault in refused.items() if fault.name == _NOT_REGISTERED}
    touched = {t.name for t in moving} | {(r.topic, r.partition) for r in copying} | (disordered.keys() - ended)
    return [t for t in tasks if t.name in touched], faults, seen


def _why_unclean(task: PartitionTask) -> str:
    return "only its new replicas are in sync" if task.isr else "no replica is in sync"


def ends_of_copies(context: RunContext) -> list[TargetPlacement]:
    """Every placement that this run may be copying to: a rollback that was stopped or died may copy the other way."""
    goals = [Goal.APPLY] if context.state.goal is Goal.APPLY else [Goal.APPLY, Goal.ROLL_BACK]
    return [target for goal in goals for target in context.targets(goal)]


def copies_between_dirs(seen: Observation, ends: Sequence[TargetPlacement]) -> dict[ReplicaOn, str]:
    """Copies of ours between log dirs, with the dir that holds the replica: a request for that dir cancels the copy."""
    found: dict[ReplicaOn, str] = {}
    for end in ends:
        for broker, path in end.log_dirs.items():
            log = seen.logs.get(ReplicaOn(*end.name, broker))
            if log is not None and log.future_log_dir is not None and log.future_log_dir == path:
                found[ReplicaOn(*end.name, broker)] = log.log_dir
    return found


def _is_out_of_order(task: PartitionTask, planned: RunPartition) -> bool:
    previous = planned.previous.replicas
    return set(task.current) == set(previous) and task.current != previous
