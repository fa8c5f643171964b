"""Reassignments that Kafka can neither complete nor cancel until a dead broker is back."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kafkabal.clusters import Cluster
from kafkabal.executor.observe.observation import Stage, observe
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal


def can_any_end(cluster: Cluster, partitions: Sequence[RunPartition]) -> bool:
    """Whether a resume could now complete or cancel the reassignment of any of these partitions."""
    # a step of a stepwise move counts as one that can end: a run without steps would not recognise it as its own
    tasks = [PartitionTask(target_of(p, Goal.APPLY, by_steps=False)) for p in partitions]
    seen = observe(cluster, [t.target for t in tasks])
    for task in tasks:
        task.take(seen, 0.0)
    return not all(_is_stuck(task, seen.brokers) for task in tasks)


def _is_stuck(task: PartitionTask, live: Collection[int]) -> bool:
    if task.stage is not Stage.MOVING:
        return False
    # some versions keep a dead leader as the last replica of the ISR until it is back
    can_cancel = any(b in task.isr and b in live for b in task.current if b not in task.arriving)
    can_finish = task.leader >= 0 and all(b in live for b in task.out_of_sync)
    return not can_cancel and not can_finish
