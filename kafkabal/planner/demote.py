"""Take leadership away from brokers without moving a byte (Cruise Control calls this demotion).

The replica list of each partition that a demoted broker leads, or is preferred to lead, is reordered: the in-sync
replica whose broker leads least comes first, demoted brokers last. Reordering completes at once (KIP-455); the executor
elects the new preferred leader. Rolling the run back restores the previous leaders.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kafkabal.model import ClusterState, is_reassigned
from kafkabal.plan import ANY_DIR, Action, PartitionChange, Placement, Plan, partition_rows, topic_ids


def demote_brokers(state: ClusterState, brokers: Collection[int], avoid: Collection[int] = ()) -> Plan:
    """The plan that leaves these brokers no partition to lead, if other in-sync replicas allow it.

    Parameters
    ----------
    brokers
        Ids. They keep partitions of which they hold the only in-sync replicas, and partitions that are being
        reassigned.
    avoid
        Ids of other brokers that get no leadership either.
    """
    demoted, avoided = (np.isin(state.brokers.id, list(ids)) for ids in (brokers, {*brokers, *avoid}))
    leads = np.bincount(state.partitions.leader[state.partitions.leader >= 0], minlength=len(state.brokers))
    changes = []
    for row in _concerned(state, demoted):
        change = _reordered(state, row, avoided, leads)
        if change is not None:
            changes.append(change)
    return Plan(
        partitions=tuple(changes),
        cluster_id=state.cluster_id,
        taken_at=state.taken_at,
        options={"demote": sorted(brokers)},
        topic_ids=topic_ids(state, (change.topic for change in changes)),
    )


def _concerned(state: ClusterState, demoted: np.ndarray) -> list[int]:
    """Rows of partitions that a demoted broker leads or is the first replica of, and that are not being reassigned."""
    partitions, replicas = state.partitions, state.replicas
    first = replicas.broker[partitions.first[:-1]]
    led = (partitions.leader >= 0) & demoted[partitions.leader]
    return np.flatnonzero((led | demoted[first]) & ~is_reassigned(state)).tolist()


def _reordered(state: ClusterState, row: int, avoided: np.ndarray, leads: np.ndarray) -> PartitionChange | None:
    replicas = state.replicas
    rows = range(int(state.partitions.first[row]), int(state.partitions.first[row + 1]))
    able = [
        r
        for r in rows
        if replicas.in_sync[r] and not avoided[replicas.broker[r]] and state.brokers.is_live[replicas.broker[r]]
    ]
    if not able:
        return None
    leader = int(state.partitions.leader[row])
    staying = [r for r in able if replicas.broker[r] == leader]
    chosen = staying[0] if staying else min(able, key=lambda r: (leads[replicas.broker[r]], r))
    if not staying:
        leads[replicas.broker[chosen]] += 1
        if leader >= 0:
            leads[leader] -= 1
    others = [r for r in rows if r != chosen]
    order = [chosen, *(r for r in others if not avoided[replicas.broker[r]])]
    order += [r for r in others if avoided[replicas.broker[r]]]
    replicas_in_order = tuple(int(state.brokers.id[replicas.broker[r]]) for r in order)
    return _reorder(state, row, replicas_in_order, "leadership leaves a demoted broker")


def _reorder(state: ClusterState, row: int, replicas: tuple[int, ...], reason: str) -> PartitionChange:
    """The change that reorders the replicas of a partition."""
    rows = slice(int(state.partitions.first[row]), int(state.partitions.first[row + 1]))
    ids, leader, name = state.brokers.id, int(state.partitions.leader[row]), state.topic_partition(row)
    return PartitionChange(
        topic=name.topic,
        partition=name.partition,
        replicas=replicas,
        log_dirs=(ANY_DIR,) * len(replicas),
        action=Action.REORDER,
        previous=Placement(
            replicas=state.replicas_of(row),
            leader=int(ids[leader]) if leader >= 0 else -1,
            log_dirs=tuple(
                state.log_dirs.path[d] if d >= 0 else ANY_DIR for d in state.replicas.log_dir[rows].tolist()
            ),
        ),
        reason=reason,
    )


def undo_demotion(state: ClusterState, demotion: Plan, avoid: Collection[int] = ()) -> Plan:
    """The plan that restores the previous leaders, if the replicas are still those of the demotion.

    Parameters
    ----------
    avoid
        Ids of brokers that get no leadership back.
    """
    demoted = {change.name: change for change in demotion.partitions if change.previous is not None}
    changes = []
    for name, row in partition_rows(state, demoted):
        now = state.replicas_of(row)
        before = demoted[name].previous
        if before is None or set(now) != set(before.replicas) or now == before.replicas:
            continue
        if before.replicas[0] in avoid:
            continue
        changes.append(_reorder(state, row, before.replicas, "leadership returns to a broker that is well again"))
    return Plan(
        partitions=tuple(changes),
        cluster_id=state.cluster_id,
        taken_at=state.taken_at,
        options={"demote": []},
        topic_ids=topic_ids(state, (change.topic for change in changes)),
    )
