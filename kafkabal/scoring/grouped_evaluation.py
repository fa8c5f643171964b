"""Scores taken within groups that all holders belong to, such as the replicas of each topic on each broker.

Only the pairs of a group and a holder that carry load are listed, since most of them are empty: 10,000 topics on
1,000 brokers are ten million pairs, of which perhaps one percent carries anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model.cluster_state import F64, I32, Bools
from kafkabal.scoring.bands import Band
from kafkabal.scoring.score_parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupLoads:
    """Load of every pair of a group that has load and a counted holder that holds a replica of it."""

    group: I32
    holder: I32
    load: F64
    mean: F64
    """shape (n_groups,): load of the group against the capacity of all counted holders."""
    capacity: F64
    counted: Bools

    def share(self) -> F64:
        """Share of each pair."""
        return self.load / self.capacity[self.holder] / self.mean[self.group]

    def worst_share(self) -> F64:
        """float64, shape (n_holders,): largest share of each holder in any group; NaN where it does not count."""
        share = np.where(self.counted, 0.0 if self.group.size else 1.0, np.nan)
        np.maximum.at(share, self.holder, self.share())
        return share

    def skew(self) -> float:
        """The largest distance of a share from 1; a holder without a replica of a loaded group has a share of 0."""
        if not self.group.size:
            return 0.0
        share = self.share()
        present = np.bincount(self.group, minlength=len(self.mean))
        is_missed = bool(((present < self.counted.sum()) & (self.mean > 0)).any())
        return max(float(share.max()) - 1, 1 - (0.0 if is_missed else float(share.min())))

    def outside(self, band: Band, tolerance: float) -> Bools:
        """bool, shape (n_holders,): outside the band in some group, for holding too much of it or too little."""
        low, high = band.edges(self.mean[self.group] * self.capacity[self.holder], tolerance)
        n = len(self.capacity)
        outside = np.bincount(self.holder, (self.load < low) | (self.load > high), n) > 0
        holds_some_due = np.bincount(self.holder, low > 0, n)
        for capacity in np.unique(self.capacity[self.counted]):
            due = int((band.edges(self.mean * capacity, tolerance)[0] > 0).sum())
            outside |= self.counted & (self.capacity == capacity) & (holds_some_due < due)
        return np.asarray(outside)


def group_loads(parts: Parts, holder: I32, leader_replica: I32, counted: Bools) -> GroupLoads:
    """Add up replicas and leaders by group and holder; a base load belongs to no group and is left out.

    Parameters
    ----------
    holder
        int32, shape (n_replicas,): holder of each replica, -1 where it is not known.
    leader_replica
        int32, shape (n_partitions,): row of the leader's replica, -1 where there is no leader.
    """
    assert parts.group is not None
    each = parts.replica_load.copy()
    led = leader_replica >= 0
    each[leader_replica[led]] += parts.leader_load[led]
    placed = np.flatnonzero(holder >= 0)
    rows = placed[counted[holder[placed]]]
    pairs, index = np.unique(parts.group[rows].astype(np.int64) * len(counted) + holder[rows], return_inverse=True)
    group = (pairs // max(len(counted), 1)).astype(np.int32)
    load = np.asarray(np.bincount(index, each[rows], len(pairs)), np.float64)
    mean = np.bincount(group, load, int(parts.group.max(initial=-1)) + 1) / (parts.capacity[counted].sum() or 1.0)
    loaded = mean[group] > 0
    return GroupLoads(
        group=group[loaded],
        holder=(pairs % max(len(counted), 1)).astype(np.int32)[loaded],
        load=load[loaded],
        mean=mean,
        capacity=parts.capacity,
        counted=counted,
    )
