"""Which partitions of a plan have changed since it was made, and how.

A partition that already has the planned placement has not drifted. Neither has one whose leader or size changed: both
change all the time and do not invalidate the move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafkabal.model import I32, I64, Bools, ClusterState, TopicPartition, in_offline_dir
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.wording import replica_list

_NUMBERS: Final = range(2**31)
"""Numbers of partitions in Kafka's protocol; a user may type others."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A planned partition that is no longer as the plan found it."""

    partition: TopicPartition
    what: str
    """What changed, as the end of a sentence that starts with the partition."""
    is_deleted: bool = False
    """Whether its topic was deleted, so that nothing is left to move; another one may have its name now."""

    def __str__(self) -> str:
        return f"{self.partition} {self.what}"


@dataclass(frozen=True, slots=True)
class PartitionNow:
    """A partition in the current state."""

    placement: Placement
    is_moving: bool
    """Whether a reassignment of it is in flight."""
    in_offline_dir: tuple[int, ...] = ()
    """Live brokers that have it in an offline log dir."""


def find_drift(plan: Plan, state: ClusterState) -> tuple[Drift, ...]:
    """Compare a plan with the current state of the cluster.

    Returns
    -------
    tuple of Drift
        In the order of the plan; empty if every partition is as the plan found it or as it targets it.
    """
    found = placements(state, (c.name for c in plan.partitions))
    brokers = set(state.brokers.id[state.brokers.is_live].tolist())
    now = topic_ids(state, plan.topic_ids)
    created_again = {topic for topic, topic_id in plan.topic_ids.items() if now.get(topic, topic_id) != topic_id}
    drifts = (
        Drift(
            c.name,
            _difference(c, found.get(c.name), brokers, created_again),
            is_deleted=c.name not in found or c.topic in created_again,
        )
        for c in plan.partitions
    )
    return tuple(drift for drift in drifts if drift.what)


def topic_ids(state: ClusterState, topics: Iterable[str]) -> dict[str, str]:
    """Ids of these topics, if the state knows them."""
    wanted = set(topics)
    known = zip(state.topics.name, state.topics.topic_id, strict=True)
    return {name: topic_id for name, topic_id in known if topic_id and name in wanted}


def placements(state: ClusterState, names: Iterable[TopicPartition]) -> Mapping[TopicPartition, PartitionNow]:
    """Placements of these partitions; missing ones are left out."""
    offline = in_offline_dir(state)
    return {name: _found(state, row, offline) for name, row in partition_rows(state, names)}


def partition_rows(state: ClusterState, names: Iterable[TopicPartition]) -> Iterator[tuple[TopicPartition, int]]:
    """The row of each of these partitions that exists."""
    rows = {name: row for row, name in enumerate(state.topics.name)}
    listed = [name for name in names if name.topic in rows and name.partition in _NUMBERS]
    topic = np.array([rows[name.topic] for name in listed], np.int64)
    known = _keys(state.partitions.topic, state.partitions.number)
    wanted = _keys(topic, np.array([name.partition for name in listed], np.int64))
    at = np.searchsorted(known, wanted)
    exists = np.append(known, -1)[at] == wanted
    for name, row, is_known in zip(listed, at.tolist(), exists.tolist(), strict=True):
        if is_known:
            yield name, row


def _keys(topic: I32 | I64, number: I32 | I64) -> I64:
    """One number for each partition, in the order of topic and number."""
    return topic.astype(np.int64) * len(_NUMBERS) + number


def _found(state: ClusterState, row: int, offline: Bools) -> PartitionNow:
    replicas, ids = state.replicas, state.brokers.id
    rows = slice(int(state.partitions.first[row]), int(state.partitions.first[row + 1]))
    leader = int(state.partitions.leader[row])
    return PartitionNow(
        Placement(
            replicas=tuple(ids[replicas.broker[rows]].tolist()),
            leader=int(ids[leader]) if leader >= 0 else -1,
            log_dirs=tuple(state.log_dirs.path[d] if d >= 0 else ANY_DIR for d in replicas.log_dir[rows].tolist()),
        ),
        is_moving=bool((replicas.adding[rows] | replicas.removing[rows]).any()),
        in_offline_dir=tuple(ids[replicas.broker[rows][offline[rows]]].tolist()),
    )


def _difference(change: PartitionChange, found: PartitionNow | None, brokers: set[int], created_again: set[str]) -> str:
    if found is None:
        return "no longer exists"
    if change.topic in created_again:
        return "is of a topic that was deleted and created again"
    now = found.placement
    strangers = sorted(set(change.replicas) - brokers)
    if strangers:
        if strangers[0] in now.replicas:
            return f"keeps a replica on broker {strangers[0]}, which is dead"
        return f"moves to broker {strangers[0]}, which is dead or unknown"
    if found.is_moving:
        return "is being reassigned by another tool"
    # Kafka completes no reassignment while a target replica is out of sync; a mere change of order completes at once
    kept = sorted(set(change.replicas) & set(found.in_offline_dir))
    if kept and set(change.replicas) != set(now.replicas):
        return f"keeps a replica in an offline log dir of broker {kept[0]}"
    if now.replicas == change.replicas or change.previous is None:
        return ""
    if now.replicas != change.previous.replicas:
        return f"was on brokers {replica_list(change.previous.replicas)} and is now on {replica_list(now.replicas)}"
    return _log_dir_difference(change.previous, now)


def _log_dir_difference(previous: Placement, now: Placement) -> str:
    for broker, before, after in zip(previous.replicas, previous.log_dirs, now.log_dirs, strict=True):
        if ANY_DIR not in (before, after) and before != after:
            return f"was in {before} of broker {broker}, is now in {after}"
    return ""
