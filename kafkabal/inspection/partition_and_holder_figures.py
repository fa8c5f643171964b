"""Counts and bytes of a cluster by broker, log dir, topic and partition, as numpy columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import (
    F64,
    I32,
    I64,
    Bools,
    ClusterState,
    in_offline_dir,
    is_estimated,
    move_bytes,
    replica_bytes,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartitionFigures:
    """One value per partition."""

    leader_bytes: I64
    """Bytes of the leader's replica, or else of the largest one."""
    leader_estimated: Bools
    """These are an estimate; without a leader, if no size is known."""
    bytes: I64
    """Bytes of all replicas."""
    estimated: Bools
    """The size of at least one replica is an estimate."""
    under_replicated: Bools
    """At least one replica is not in sync."""
    offline: Bools
    """It has no leader."""
    not_preferred: Bools
    """It has a leader, but not the preferred one."""
    preferred: I32
    """Row of the preferred leader's broker."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HolderFigures:
    """One value per broker or log dir."""

    bytes: I64
    """Bytes of the replicas on it, including estimates."""
    occupied_bytes: I64
    """The same without replicas in offline log dirs: what fills the volumes whose size is known."""
    estimated: Bools
    replicas: I64
    leaders: I64
    out_of_sync: I64
    """Number of replicas on it that are not in sync."""
    in_bytes_per_s: F64
    """Rate at which producers write to the partitions it leads; NaN if not sampled."""
    out_bytes_per_s: F64


def partition_figures(state: ClusterState) -> PartitionFigures:
    """Figures of every partition."""
    p, r = state.partitions, state.replicas
    if not len(p):
        none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
        return PartitionFigures(
            leader_bytes=none,
            leader_estimated=no,
            bytes=none,
            estimated=no,
            under_replicated=no,
            offline=no,
            not_preferred=no,
            preferred=np.empty(0, np.int32),
        )
    first = p.first[:-1]
    size, estimated = replica_bytes(state), is_estimated(state)
    leader = state.leader_replica
    preferred = r.broker[first]
    return PartitionFigures(
        leader_bytes=np.where(leader >= 0, size[leader], np.maximum.reduceat(size, first)),
        leader_estimated=np.where(leader >= 0, estimated[leader], np.logical_and.reduceat(estimated, first)),
        bytes=np.add.reduceat(size, first),
        estimated=np.logical_or.reduceat(estimated, first),
        under_replicated=~np.logical_and.reduceat(r.in_sync, first),
        offline=p.leader < 0,
        not_preferred=(p.leader >= 0) & (p.leader != preferred),
        preferred=preferred,
    )


def broker_figures(state: ClusterState) -> HolderFigures:
    """Figures of every broker, including dead ones."""
    return _holder_figures(state, state.replicas.broker, len(state.brokers))


def dir_figures(state: ClusterState) -> HolderFigures:
    """Figures of every log dir; replicas in unknown dirs are left out."""
    return _holder_figures(state, state.replicas.log_dir, len(state.log_dirs))


def unknown_sizes(state: ClusterState) -> Bools:
    """bool, shape (n_replicas,): no copy of its partition has a known size."""
    return np.asarray(is_estimated(state) & (move_bytes(state) < 0)[state.replicas.partition])


def sum_by(group: I32 | I64, values: I64 | F64 | Bools, n: int) -> I64:
    """int64, shape (n,): sum of the values of each group; group -1 is left out."""
    rows = group >= 0
    return np.asarray(np.bincount(group[rows], values[rows], n).astype(np.int64))


def rate_by(group: I32 | I64, rates: F64, n: int) -> F64:
    """float64, shape (n,): sum of the known rates of each group; all NaN if no rate is known."""
    rows = (group >= 0) & ~np.isnan(rates)
    if not rows.any():
        return np.full(n, np.nan)
    return np.asarray(np.bincount(group[rows], rates[rows], n), np.float64)


def _holder_figures(state: ClusterState, holder: I32, n: int) -> HolderFigures:
    p, r = state.partitions, state.replicas
    size = replica_bytes(state)
    leader = state.leader_replica
    leads_from = np.where(leader >= 0, holder[leader], -1) if len(p) else np.empty(0, np.int32)
    ones = np.ones(len(r), np.int64)
    return HolderFigures(
        bytes=sum_by(holder, size, n),
        occupied_bytes=sum_by(holder, np.where(in_offline_dir(state), 0, size), n),
        estimated=sum_by(holder, is_estimated(state), n) > 0,
        replicas=sum_by(holder, ones, n),
        leaders=sum_by(leads_from, np.ones(len(p), np.int64), n),
        out_of_sync=sum_by(holder, ~r.in_sync, n),
        in_bytes_per_s=rate_by(leads_from, p.in_bytes_per_s, n),
        out_bytes_per_s=rate_by(leads_from, p.out_bytes_per_s, n),
    )
