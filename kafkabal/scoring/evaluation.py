"""Apply a score to a cluster: load, share of fair use and skew of every holder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.model.capacity import is_silent
from kafkabal.model.state import LogDirState
from kafkabal.scoring.protocol import Grain, Need, n_holders

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I32, Bools, ClusterState
    from kafkabal.scoring.protocol import Score


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """A score of every holder; holders that do not count (dead, drained, silent) have a share of NaN."""

    name: str
    counted: Bools
    """bool, shape (n_holders,): the holder is live, not drained, and what the score needs is known of it."""
    load: F64
    capacity: F64
    share: F64
    """1.0 is exactly the fair share; of a grouped score, the share in the holder's worst group."""
    low: F64
    """Lower edge of the band in the unit of the load; NaN for a grouped score."""
    high: F64
    outside: Bools
    """The load lies outside its band, in some group; all False for a score without one."""
    skew: float
    """How far the most uneven holder is from its fair share, 0 or more."""

    @property
    def max_share(self) -> float:
        """Largest share of a counted holder; 1.0 where none counts."""
        return float(np.nanmax(self.share)) if self.counted.any() else 1.0

    @property
    def min_share(self) -> float:
        """Smallest share of a counted holder; 1.0 where none counts."""
        return float(np.nanmin(self.share)) if self.counted.any() else 1.0


def evaluate(score: Score, cluster: ClusterState, *, tolerance: float, drained: Bools | None = None) -> Evaluation:
    """Apply a score.

    Parameters
    ----------
    tolerance
        Half the width of the band, as a share of the mean; 0.10 is ten percent.
    drained
        bool, shape (n_brokers,): brokers that are to end up empty and so have no fair share.
    """
    counted = counted_holders(score, cluster, drained)
    load = holder_load(score, cluster)
    capacity = score.capacity(cluster)
    if score.group(cluster) is None:
        return _evaluate_whole(score, counted, load, capacity, tolerance)
    return _evaluate_groups(score, cluster, counted, load, capacity, tolerance)


def holder_load(score: Score, cluster: ClusterState) -> F64:
    """float64, shape (n_holders,): base load plus what replicas and leaders add."""
    n = n_holders(score.grain, cluster)
    holder, leads_from = _holders(score, cluster)
    load = np.asarray(score.base_load(cluster), np.float64).copy()
    placed = holder >= 0
    load += np.bincount(holder[placed], score.replica_load(cluster)[placed], n)
    led = leads_from >= 0
    load += np.bincount(leads_from[led], score.leader_load(cluster)[led], n)
    return load


def counted_holders(score: Score, cluster: ClusterState, drained: Bools | None = None) -> Bools:
    """bool, shape (n_holders,): live, not drained, not offline, and known as far as the score needs."""
    brokers = cluster.brokers.is_live & ~drained if drained is not None else cluster.brokers.is_live
    if Need.LOG_DIRS in score.needs:
        brokers = brokers & ~is_silent(cluster)
    known = ~np.isnan(score.base_load(cluster))
    if score.grain is Grain.BROKER:
        return np.asarray(brokers & known)
    dirs = cluster.log_dirs
    return np.asarray(brokers[dirs.broker] & known & (dirs.state != LogDirState.OFFLINE))


def share_of(load: F64, capacity: F64, counted: Bools) -> tuple[F64, float]:
    """Share of each counted holder (NaN for the others), and the mean utilisation; a mean of 0 makes every share 1."""
    share = np.full(len(load), np.nan)
    total = float(capacity[counted].sum())
    mean = float(load[counted].sum()) / total if total else 0.0
    share[counted] = load[counted] / capacity[counted] / mean if mean else 1.0
    return share, mean


def _evaluate_whole(score: Score, counted: Bools, load: F64, capacity: F64, tolerance: float) -> Evaluation:
    share, mean = share_of(load, capacity, counted)
    low, high = (
        score.band.edges(mean * capacity, tolerance)
        if score.band
        else (np.full(len(load), -np.inf), np.full(len(load), np.inf))
    )
    return Evaluation(
        name=score.name,
        counted=counted,
        load=load,
        capacity=capacity,
        share=share,
        low=low,
        high=high,
        outside=counted & ((load < low) | (load > high)),
        skew=_skew(share),
    )


def _skew(share: F64) -> float:
    known = share[~np.isnan(share)]
    return max(float(known.max()) - 1, 1 - float(known.min())) if known.size else 0.0


def _holders(score: Score, cluster: ClusterState) -> tuple[I32, I32]:
    """Holder of each replica and of each partition's leader, -1 where there is none or it is not known."""
    if score.grain is Grain.BROKER:
        return cluster.replicas.broker, cluster.partitions.leader
    leader = cluster.leader_replica
    return cluster.replicas.log_dir, np.where(leader >= 0, cluster.replicas.log_dir[leader], -1).astype(np.int32)


def _evaluate_groups(
    score: Score, cluster: ClusterState, counted: Bools, load: F64, capacity: F64, tolerance: float
) -> Evaluation:
    """Evaluate within each group, over the (group, holder) pairs that carry load and the empty rest in one step."""
    n = len(load)
    group, holder, pair_load = _pairs(score, cluster, counted)
    n_groups = int(group.max()) + 1 if group.size else 0
    group_capacity = _group_capacity(score, cluster, counted, capacity, n_groups)
    mean = np.bincount(group, pair_load, n_groups) / np.where(group_capacity > 0, group_capacity, 1)
    pair_mean = mean[group]
    pair_share = np.where(pair_mean > 0, pair_load / capacity[holder] / np.where(pair_mean > 0, pair_mean, 1), 1.0)
    share = np.where(counted, 0.0, np.nan) if group.size else np.where(counted, 1.0, np.nan)
    np.maximum.at(share, holder, pair_share)
    outside = np.zeros(n, np.bool_)
    if score.band is not None:
        low, high = score.band.edges(pair_mean * capacity[holder], tolerance)
        outside[holder[(pair_load < low) | (pair_load > high)]] = True
    low_share = _lowest_share(score, cluster, counted, group, mean, pair_share)
    unknown = np.full(n, np.nan)
    skew = max(float(pair_share.max()) - 1, 1 - low_share) if group.size else 0.0
    return Evaluation(
        name=score.name,
        counted=counted,
        load=load,
        capacity=capacity,
        share=share,
        low=unknown,
        high=unknown,
        outside=outside,
        skew=skew,
    )


def _pairs(score: Score, cluster: ClusterState, counted: Bools) -> tuple[I32, I32, F64]:
    """Group, holder and load of every pair of a group and a counted holder that holds a replica of it."""
    group_of = score.group(cluster)
    assert group_of is not None
    holder_of, _ = _holders(score, cluster)
    load_of = score.replica_load(cluster).copy()
    leader = cluster.leader_replica
    led = np.flatnonzero(leader >= 0)
    load_of[leader[led]] += score.leader_load(cluster)[led]
    rows = np.flatnonzero((holder_of >= 0) & counted[holder_of])
    key = group_of[rows].astype(np.int64) * len(counted) + holder_of[rows]
    pairs, index = np.unique(key, return_inverse=True)
    load = np.asarray(np.bincount(index, load_of[rows], len(pairs)), np.float64)
    return (pairs // len(counted)).astype(np.int32), (pairs % len(counted)).astype(np.int32), load


def _group_capacity(score: Score, cluster: ClusterState, counted: Bools, capacity: F64, n_groups: int) -> F64:
    own = score.holder_group(cluster)
    if own is None:
        return np.full(n_groups, float(capacity[counted].sum()))
    return np.asarray(np.bincount(own[counted], capacity[counted], n_groups)[:n_groups], np.float64)


def _lowest_share(score: Score, cluster: ClusterState, counted: Bools, group: I32, mean: F64, pair_share: F64) -> float:
    """Smallest share of any holder in any group that has load: 0 as soon as one holder of a group holds none of it."""
    own = score.holder_group(cluster)
    holders = (
        np.full(len(mean), int(counted.sum()))
        if own is None
        else np.bincount(own[counted], minlength=len(mean))[: len(mean)]
    )
    present = np.bincount(group, minlength=len(mean))
    if ((present < holders) & (mean > 0)).any():
        return 0.0
    return float(pair_share.min()) if pair_share.size else 1.0
