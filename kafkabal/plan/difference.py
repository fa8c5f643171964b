"""What has to change to turn one state of a cluster into another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.model.sizes import move_bytes, replica_bytes
from kafkabal.plan.plan import ANY_DIR, Action, PartitionChange, Placement

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkabal.model.state import I32, I64, Bools, ClusterState


def no_reason(partitions: I64) -> list[str]:
    """An empty reason for each partition."""
    return [""] * len(partitions)


def make_changes(
    before: ClusterState, after: ClusterState, reasons: Callable[[I64], list[str]] = no_reason
) -> tuple[PartitionChange, ...]:
    """Changes that lead from one state to another of the same brokers and partitions.

    A partition is listed when its replicas, their order, a known log dir or its leader differ; the first replica of a
    listed one is to lead.

    Parameters
    ----------
    reasons
        Gives a reason for each of some partition rows.
    """
    return _Difference(before, after).changes(reasons)


class _Difference:
    """Columns of both states, cut down to the partitions that differ."""

    def __init__(self, before: ClusterState, after: ClusterState) -> None:
        self.before, self.after = before, after
        self.rows = np.flatnonzero(_differs(before, after))
        self.paths: list[str] = [*before.log_dirs.path, ANY_DIR]

    def changes(self, reasons: Callable[[I64], list[str]]) -> tuple[PartitionChange, ...]:
        rows, before = self.rows, self.before
        arrivals, copies = self._costs()
        topic = before.topics.name
        columns = zip(
            before.partitions.topic[rows].tolist(),
            before.partitions.number[rows].tolist(),
            _leader_ids(before, rows),
            _lists(before, rows),
            _lists(self.after, rows),
            arrivals.tolist(),
            copies.tolist(),
            reasons(rows),
            strict=True,
        )
        return tuple(
            self._change(topic[t], number, leader, old, new, arriving, copied, reason)
            for t, number, leader, old, new, arriving, copied, reason in columns
        )

    def _change(
        self,
        topic: str,
        number: int,
        leader: int,
        old: tuple[tuple[int, ...], list[int]],
        new: tuple[tuple[int, ...], list[int]],
        arriving: int,
        copied: int,
        reason: str,
    ) -> PartitionChange:
        held = dict(zip(*old, strict=True))
        changed_dirs = [d if held.get(b) != d else -1 for b, d in zip(*new, strict=True)]
        return PartitionChange(
            topic=topic,
            partition=number,
            replicas=new[0],
            log_dirs=tuple([self.paths[d] for d in changed_dirs]),
            action=_action(old[0], new[0], held, changed_dirs),
            previous=Placement(replicas=old[0], leader=leader, log_dirs=tuple([self.paths[d] for d in old[1]])),
            bytes=arriving,
            log_dir_bytes=copied,
            reason=reason,
        )

    def _costs(self) -> tuple[I64, I64]:
        """Bytes that arrive at brokers, and that are copied between log dirs of one, of each listed partition."""
        before, after, rows = self.before, self.after, self.rows
        listed, partition = _rows_of(after, rows)
        matches, matched = _matches(before, after, rows)
        arriving = np.maximum(move_bytes(before)[rows], 0)
        bytes_ = np.bincount(partition[~matched], minlength=len(rows)) * arriving
        now = after.replicas.log_dir[listed[matched]]
        copied = (now >= 0) & (now != before.replicas.log_dir[matches])
        sizes = np.where(copied, replica_bytes(before)[matches], 0)
        copies = np.zeros(len(rows), np.int64)
        np.add.at(copies, partition[matched], sizes)
        return bytes_, copies


def _action(old: tuple[int, ...], new: tuple[int, ...], held: dict[int, int], changed_dirs: list[int]) -> Action:
    if len(old) != len(new) or any(b not in held for b in new):
        return Action.MOVE
    if any(d >= 0 for d in changed_dirs):
        return Action.LOG_DIR
    return Action.REORDER if old != new else Action.ELECT


def _differs(before: ClusterState, after: ClusterState) -> Bools:
    differs = np.asarray(before.partitions.leader != after.partitions.leader)
    same_length = before.replication_factor == after.replication_factor
    differs |= ~same_length
    if same_length.all():
        a, b, partition = before.replicas, after.replicas, before.replicas.partition
    else:
        equal = np.flatnonzero(same_length)
        (first, _), (second, _) = _rows_of(before, equal), _rows_of(after, equal)
        return differs | _unequal_rows(before, after, first, second)
    unequal = (a.broker != b.broker) | ((a.log_dir != b.log_dir) & (b.log_dir >= 0))
    differs[partition[unequal]] = True
    return differs


def _unequal_rows(before: ClusterState, after: ClusterState, first: I64, second: I64) -> Bools:
    a, b = before.replicas, after.replicas
    unequal = a.broker[first] != b.broker[second]
    unequal |= (a.log_dir[first] != b.log_dir[second]) & (b.log_dir[second] >= 0)
    differs = np.zeros(len(before.partitions), np.bool_)
    differs[a.partition[first[unequal]]] = True
    return differs


def _rows_of(cluster: ClusterState, partitions: I64) -> tuple[I64, I64]:
    """Replica rows of some partitions, and the position in ``partitions`` that each belongs to."""
    first = cluster.partitions.first
    counts = first[partitions + 1] - first[partitions]
    owner = np.repeat(np.arange(len(partitions)), counts)
    before = np.cumsum(counts) - counts
    return first[partitions][owner] + np.arange(len(owner)) - before[owner], owner


def _matches(before: ClusterState, after: ClusterState, partitions: I64) -> tuple[I64, Bools]:
    """Rows of the old replicas that the listed new ones continue, and which of these do."""
    old, old_owner = _rows_of(before, partitions)
    new, new_owner = _rows_of(after, partitions)
    n = len(before.brokers)
    old_key = old_owner * n + before.replicas.broker[old]
    new_key = new_owner * n + after.replicas.broker[new]
    order = np.argsort(old_key, kind="stable")
    at = np.searchsorted(old_key[order], new_key)
    at[at == len(order)] = 0
    matched = old_key[order][at] == new_key if len(order) else np.zeros(len(new_key), np.bool_)
    return old[order][at[matched]], matched


def _lists(cluster: ClusterState, partitions: I64) -> list[tuple[tuple[int, ...], list[int]]]:
    """Broker ids and log dir rows of the replicas of each partition."""
    rows, _ = _rows_of(cluster, partitions)
    ids = cluster.brokers.id[cluster.replicas.broker[rows]].tolist()
    dirs = cluster.replicas.log_dir[rows].tolist()
    ends = np.cumsum(cluster.replication_factor[partitions]).tolist()
    starts = [0, *ends[:-1]]
    return [(tuple(ids[a:b]), dirs[a:b]) for a, b in zip(starts, ends, strict=False)]


def _leader_ids(cluster: ClusterState, partitions: I64) -> list[int]:
    leader: I32 = cluster.partitions.leader[partitions]
    ids: list[int] = np.where(leader >= 0, cluster.brokers.id[leader], -1).tolist()
    return ids
