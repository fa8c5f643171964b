"""Starts moves: requests log dirs first, then the reassignments, and records each failure by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafkabal.clusters import Fault, ReplicaOn
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.safety.fenced_requests import FencedRequests

_WILL_REMEMBER = "REPLICA_NOT_AVAILABLE"
"""The answer of a broker that does not hold the replica yet: it remembers the log dir (KIP-113)."""


def start_moves(effects: FencedRequests, tasks: Sequence[PartitionTask]) -> dict[PartitionTask, Fault]:
    """Start tasks: copies between log dirs for replicas on the right brokers, reassignments for the others.

    Returns
    -------
    dict
        Tasks that could not be started, with the first fault of each.
    """
    moving = [t for t in tasks if t.stage is Stage.WAITING]
    faults = _start_copies(effects, [t for t in tasks if t.stage is Stage.MISPLACED])
    # before the reassignment: a broker that has begun to copy into another dir would have to copy once more
    faults |= _ask_for_log_dirs(effects, moving)
    moving = [t for t in moving if t not in faults]
    keeping = [t for t in moving if len(t.next_step) == len(t.current)]
    changing = [t for t in moving if len(t.next_step) != len(t.current)]
    # KIP-860 guards against a factor that changed since the last observation, by a flag of the whole request: moves
    # that are meant to change theirs go in a request of their own
    faults |= _reassign(effects, keeping, changes_replication_factor=False)
    return faults | _reassign(effects, changing, changes_replication_factor=True)


def endangers_isr(task: PartitionTask, min_insync: int) -> bool:
    """Whether a move would leave fewer replicas in sync than allowed, and fewer than now."""
    after = len(task.to_add) + sum(b in task.isr for b in task.next_step if b in task.current)
    return after < min(min_insync, len(task.isr))


def _start_copies(effects: FencedRequests, tasks: Collection[PartitionTask]) -> dict[PartitionTask, Fault]:
    by_replica = {ReplicaOn(*t.name, b): t for t in tasks for b in t.misplaced}
    faults = effects.move_log_dirs({r: t.misplaced[r.broker] for r, t in by_replica.items()})
    for task in tasks:
        task.stage = Stage.COPYING
    return _by_task(by_replica, faults)


def _ask_for_log_dirs(effects: FencedRequests, tasks: Collection[PartitionTask]) -> dict[PartitionTask, Fault]:
    by_replica = {ReplicaOn(*t.name, b): t for t in tasks for b in t.to_add if b in t.target.log_dirs}
    faults = effects.move_log_dirs({r: t.target.log_dirs[r.broker] for r, t in by_replica.items()})
    return _by_task(by_replica, {r: f for r, f in faults.items() if f.name != _WILL_REMEMBER})


def _reassign(
    effects: FencedRequests, tasks: Collection[PartitionTask], *, changes_replication_factor: bool
) -> dict[PartitionTask, Fault]:
    by_name = {t.name: t for t in tasks}
    faults = effects.reassign(
        {t.name: t.next_step for t in tasks}, changes_replication_factor=changes_replication_factor
    )
    for task in tasks:
        if task.name not in faults:
            task.begin_reassignment()
    return {by_name[name]: fault for name, fault in faults.items()}


def _by_task(
    by_replica: Mapping[ReplicaOn, PartitionTask], faults: Mapping[ReplicaOn, Fault]
) -> dict[PartitionTask, Fault]:
    found: dict[PartitionTask, Fault] = {}
    for replica, fault in faults.items():
        found.setdefault(by_replica[replica], fault)
    return found
