"""Computes what to change to turn one cluster state into another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkabal.gc_pause import cycle_collection_paused
from kafkabal.model import I32, I64, Bools, ClusterState, move_bytes, replica_bytes
from kafkabal.plan.plan import ANY_DIR, Action, PartitionChange, Placement


def no_reason(partitions: I64) -> list[str]:
    """An empty reason for each partition."""
    return [""] * len(partitions)


def make_changes(
    before: ClusterState, after: ClusterState, reasons: Callable[[I64], list[str]] = no_reason
) -> tuple[PartitionChange, ...]:
    """The changes that turn one state into another with the same brokers and partitions.

    A partition is listed if its replicas, their order, a known log dir or its leader differ; the first replica of a
    listed one is to lead.

    Parameters
    ----------
    reasons
        Returns a reason for each of the given partition rows.
    """
    with cycle_collection_paused():
        return _Difference(before, after).changes(reasons)


class _Difference:
    """Columns of both states, reduced to the partitions that differ."""

    def __init__(self, before: ClusterState, after: ClusterState) -> None:
        self.before, self.after = before, after
        self.rows = np.flatnonzero(_differs(before, after))
        self.previous, _ = _rows_of(before, self.rows)
        self.new, self.owner = _rows_of(after, self.rows)
        self.held, self.stays = _matches(before, after, self.rows)
        """Row of the previous replica that each kept replica continues, and which of the new replicas are kept."""

    def changes(self, reasons: Callable[[I64], list[str]]) -> tuple[PartitionChange, ...]:
        rows, before, after = self.rows, self.before, self.after
        topic = before.topics.name
        dirs = self._changed_dirs()
        arrivals, copies = self._costs()
        columns = zip(
            before.partitions.topic[rows].tolist(),
            before.partitions.number[rows].tolist(),
            _tuples(before.brokers.id[before.replicas.broker[self.previous]], before.replication_factor[rows]),
            _leader_ids(before, rows),
            self._paths(before.replicas.log_dir[self.previous], before.replication_factor[rows]),
            _tuples(after.brokers.id[after.replicas.broker[self.new]], after.replication_factor[rows]),
            self._paths(dirs, after.replication_factor[rows]),
            self._actions(dirs),
            arrivals.tolist(),
            copies.tolist(),
            reasons(rows),
            strict=True,
        )
        return tuple(
            [
                PartitionChange(
                    topic=topic[t],
                    partition=n,
                    replicas=replicas,
                    log_dirs=dirs,
                    action=action,
                    previous=Placement(replicas=previous, leader=leader, log_dirs=previous_dirs),
                    bytes=arriving,
                    log_dir_bytes=copied,
                    reason=reason,
                )
                for t, n, previous, leader, previous_dirs, replicas, dirs, action, arriving, copied, reason in columns
            ]
        )

    def _changed_dirs(self) -> I32:
        """Log dir that the plan requests for each new replica, -1 if it is open or unchanged."""
        dirs = self.after.replicas.log_dir[self.new]
        same = self.stays.copy()
        same[self.stays] = dirs[self.stays] == self.before.replicas.log_dir[self.held]
        return np.where(same, -1, dirs).astype(np.int32)

    def _paths(self, dirs: I32, counts: I32 | I64) -> list[tuple[str, ...]]:
        # an extra last entry for "no dir", which is index -1
        return _tuples(np.array([*self.before.log_dirs.path, ANY_DIR], np.object_)[dirs], counts)

    def _actions(self, changed_dirs: I32) -> list[Action]:
        before, after = self.before, self.after
        number = len(self.rows)
        comes = np.bincount(self.owner[~self.stays], minlength=number) > 0
        moves = comes | (before.replication_factor[self.rows] != after.replication_factor[self.rows])
        copies = np.bincount(self.owner[changed_dirs >= 0], minlength=number) > 0
        reorders = np.ones(number, np.bool_)
        same = np.flatnonzero(~moves)
        (previous, _), (new, owner) = _rows_of(before, self.rows[same]), _rows_of(after, self.rows[same])
        unequal = before.replicas.broker[previous] != after.replicas.broker[new]
        reorders[same] = np.bincount(owner[unequal], minlength=len(same)) > 0
        chosen = np.select([moves, copies, reorders], [0, 1, 2], 3)
        kinds = (Action.MOVE, Action.LOG_DIR, Action.REORDER, Action.ELECT)
        return [kinds[i] for i in chosen.tolist()]

    def _costs(self) -> tuple[I64, I64]:
        """For each listed partition: bytes copied to new brokers, and bytes copied between log dirs of one broker."""
        before, rows, stays = self.before, self.rows, self.stays
        arriving = np.maximum(move_bytes(before)[rows], 0)
        bytes_ = np.bincount(self.owner[~stays], minlength=len(rows)) * arriving
        now = self.after.replicas.log_dir[self.new[stays]]
        copied = (now >= 0) & (now != before.replicas.log_dir[self.held])
        sizes = np.where(copied, replica_bytes(before)[self.held], 0)
        copies = np.zeros(len(rows), np.int64)
        np.add.at(copies, self.owner[stays], sizes)
        return bytes_, copies


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


def _rows_of(state: ClusterState, partitions: I64) -> tuple[I64, I64]:
    """Replica rows of some partitions, and the position in ``partitions`` of each."""
    first = state.partitions.first
    counts = first[partitions + 1] - first[partitions]
    owner = np.repeat(np.arange(len(partitions)), counts)
    before = np.cumsum(counts) - counts
    return first[partitions][owner] + np.arange(len(owner)) - before[owner], owner


def _matches(before: ClusterState, after: ClusterState, partitions: I64) -> tuple[I64, Bools]:
    """Rows of the previous replicas that listed new replicas continue, and which of these do."""
    previous, previous_owner = _rows_of(before, partitions)
    new, new_owner = _rows_of(after, partitions)
    n = len(before.brokers)
    previous_key = previous_owner * n + before.replicas.broker[previous]
    new_key = new_owner * n + after.replicas.broker[new]
    order = np.argsort(previous_key, kind="stable")
    at = np.searchsorted(previous_key[order], new_key)
    at[at == len(order)] = 0
    matched = previous_key[order][at] == new_key if len(order) else np.zeros(len(new_key), np.bool_)
    return previous[order][at[matched]], matched


def _tuples(values: NDArray[Any], counts: I32 | I64) -> list[tuple[Any, ...]]:
    """Values cut into one tuple per partition."""
    if len(counts) and (counts == counts[0]).all() and counts[0] > 0:
        return list(zip(*values.reshape(-1, counts[0]).T.tolist(), strict=True))
    flat = values.tolist()
    ends = np.cumsum(counts).tolist()
    return [tuple(flat[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=False)]


def _leader_ids(state: ClusterState, partitions: I64) -> list[int]:
    leader: I32 = state.partitions.leader[partitions]
    ids: list[int] = np.where(leader >= 0, state.brokers.id[leader], -1).tolist()
    return ids
