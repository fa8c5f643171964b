"""Applies a plan to a cluster state: the state as it will be afterwards."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from kafkabal.errors import DriftError
from kafkabal.model import I64, ClusterState, LogDirState, Replicas, freeze, move_bytes
from kafkabal.plan.drift import partition_rows
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Plan

_T = TypeVar("_T", bound=np.generic)
_PLAN_AGAIN: Final = "make a new plan with 'kafkabal rebalance plan'"


def apply_plan(state: ClusterState, plan: Plan) -> ClusterState:
    """The cluster after a plan: new replicas are as large as the leader's and in sync, and the first replica leads.

    The usable bytes of the volumes change with the replicas. A new replica whose log dir the broker chooses goes to its
    first open one.

    Raises
    ------
    DriftError
        If the plan names a partition, a broker or a log dir that the cluster does not have.
    """
    if not plan.partitions:
        return state
    changes = _Changes.of(state, plan)
    replicas = _replicas(state, changes)
    counts = state.replication_factor.astype(np.int64)
    counts[changes.partition] = changes.number
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    leader = state.partitions.leader.copy()
    leader[changes.partition] = changes.broker[np.cumsum(changes.number) - changes.number]
    freeze(first, leader)
    after = state.replace(partitions=replace(state.partitions, first=first, leader=leader), replicas=replicas)
    return with_free_space(state, after)


def with_free_space(before: ClusterState, after: ClusterState) -> ClusterState:
    """The cluster after a change of replicas, with the resulting usable bytes of its volumes."""
    usable = _usable_bytes(before, after)
    freeze(usable)
    return after.replace(log_dirs=replace(before.log_dirs, usable_bytes=usable))


class _Changes(NamedTuple):
    """The changing partitions and, concatenated, their target replicas."""

    partition: I64
    number: I64
    broker: I64
    log_dir: I64
    """Row of the log dir, -1 if the plan leaves it open."""

    @staticmethod
    def of(state: ClusterState, plan: Plan) -> _Changes:
        partition = _partition_rows(state, plan)
        number = np.array([len(c.replicas) for c in plan.partitions], np.int64)
        ids = np.fromiter(chain.from_iterable(c.replicas for c in plan.partitions), np.int64, int(number.sum()))
        broker = np.minimum(np.searchsorted(state.brokers.id, ids), len(state.brokers) - 1)
        strange = np.flatnonzero(state.brokers.id[broker] != ids)
        if strange.size:
            raise DriftError(f"unknown broker in the plan: {ids[strange[0]]}", hint=_PLAN_AGAIN)
        return _Changes(partition, number, broker, _log_dir_rows(state, plan.partitions, broker))


def _partition_rows(state: ClusterState, plan: Plan) -> I64:
    names = [change.name for change in plan.partitions]
    rows = dict(partition_rows(state, names))
    strange = next((name for name in names if name not in rows), None)
    if strange is not None:
        raise DriftError(f"unknown partition in the plan: {strange}", hint=_PLAN_AGAIN)
    return np.array([rows[name] for name in names], np.int64)


def _log_dir_rows(state: ClusterState, changes: tuple[PartitionChange, ...], broker: I64) -> I64:
    dirs = state.log_dirs
    known = {(b, path): row for row, (b, path) in enumerate(zip(dirs.broker.tolist(), dirs.path, strict=True))}
    rows = np.full(len(broker), -1, np.int64)
    paths = chain.from_iterable(c.log_dirs for c in changes)
    for i, (b, path) in enumerate(zip(broker.tolist(), paths, strict=True)):
        if path != ANY_DIR:
            row = known.get((b, path))
            if row is None:
                broker_id = state.brokers.id[b]
                raise DriftError(f"unknown log dir in the plan: {path} of broker {broker_id}", hint=_PLAN_AGAIN)
            rows[i] = row
    return rows


def _replicas(state: ClusterState, changes: _Changes) -> Replicas:
    """Unchanged rows and those of changed partitions, in the order of the partitions."""
    before = state.replicas
    changed = np.zeros(len(state.partitions), np.bool_)
    changed[changes.partition] = True
    kept = np.flatnonzero(~changed[before.partition])
    partition = np.repeat(changes.partition, changes.number)
    previous = _previous_rows(state, partition, changes.broker)
    stays = previous >= 0
    log_dir = np.where(changes.log_dir >= 0, changes.log_dir, _present_or_first(state, previous, changes.broker))
    order = np.argsort(np.concatenate((before.partition[kept], partition)), kind="stable")

    def column(unchanged: NDArray[_T], changed_rows: NDArray[Any]) -> NDArray[_T]:
        return np.concatenate((unchanged[kept], changed_rows.astype(unchanged.dtype)))[order]

    table = Replicas(
        partition=column(before.partition, partition),
        broker=column(before.broker, changes.broker),
        log_dir=column(before.log_dir, log_dir),
        size_bytes=column(
            before.size_bytes, np.where(stays, before.size_bytes[previous], move_bytes(state)[partition])
        ),
        in_sync=column(before.in_sync, before.in_sync[previous] | ~stays),
        adding=column(before.adding, np.zeros(len(partition), np.bool_)),
        removing=column(before.removing, np.zeros(len(partition), np.bool_)),
    )
    freeze(*(getattr(table, name) for name in Replicas.__slots__))
    return table


def _previous_rows(state: ClusterState, partition: I64, broker: I64) -> I64:
    """Row of the current replica of each partition on each broker, -1 if there is none."""
    n = len(state.brokers)
    present = state.replicas.partition.astype(np.int64) * n + state.replicas.broker
    order = np.argsort(present, kind="stable")
    wanted = partition * n + broker
    at = np.minimum(np.searchsorted(present[order], wanted), len(present) - 1)
    return np.where(present[order][at] == wanted, order[at], -1)


def _present_or_first(state: ClusterState, previous: I64, broker: I64) -> I64:
    """Current log dir of each replica, or else the first open one of its broker; -1 if it has none."""
    dirs = state.log_dirs
    first_open = np.full(len(state.brokers), -1, np.int64)
    open_rows = np.flatnonzero(dirs.state == LogDirState.ONLINE)[::-1]
    first_open[dirs.broker[open_rows]] = open_rows
    return np.where(previous >= 0, state.replicas.log_dir[previous], first_open[broker])


def _usable_bytes(before: ClusterState, after: ClusterState) -> I64:
    """Usable bytes on the volume of each dir after replicas were added and removed.

    At most all of it: a volume may be reported to hold less than its replicas do, as on a file system that compresses.
    """
    dirs = before.log_dirs
    growth = np.zeros(int(dirs.volume.max(initial=-1)) + 1, np.int64)
    for cluster, sign in ((after, 1), (before, -1)):
        r = cluster.replicas
        known = (r.log_dir >= 0) & (r.size_bytes > 0)
        np.add.at(growth, dirs.volume[r.log_dir[known]], sign * r.size_bytes[known])
    free = np.maximum(dirs.usable_bytes - growth[dirs.volume], 0)
    free = np.where(dirs.total_bytes >= 0, np.minimum(free, dirs.total_bytes), free)
    return np.where(dirs.usable_bytes >= 0, free, dirs.usable_bytes)
