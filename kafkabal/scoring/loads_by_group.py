"""Scores whose holders belong to every group, such as the replicas of each topic on each broker.

Only pairs of a group and a holder that carry load are listed, since most are empty: 10,000 topics on 1,000 brokers are
ten million pairs, of which perhaps one percent carry load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64, I32, I64, Bools, ClusterState
from kafkabal.scoring.bands import Band
from kafkabal.scoring.due_under_rules import Rules, due_of_factors
from kafkabal.scoring.score_parts import Parts
from kafkabal.scoring.shares import fair_shares


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupLoads:
    """The loads of all pairs of a group with load and a counted holder of one of its replicas."""

    group: I32
    holder: I32
    load: F64
    mean: F64
    """shape (n_groups,): load of the group over the capacity of all counted holders."""
    kind: I32
    """shape (n_groups,): row of :attr:`due` for each group."""
    share: F64
    """Share of each pair."""
    due: F64
    """shape (n_kinds, n_holders): what each holder is due of a group, in proportion."""
    judged: Bools
    """shape (n_groups,): whether any of the group may move."""
    counted: Bools
    takes: Bools
    """shape (n_holders,): whether the holder may receive replicas; one that may not, such as a cordoned broker, lacks
    nothing."""

    def fair(self) -> F64:
        """Fair load of each pair."""
        return np.asarray(self.mean[self.group] * self.due[self.kind[self.group], self.holder])

    def worst_share(self) -> F64:
        """float64, shape (n_holders,): largest share of each holder in any group; NaN if it does not count."""
        judged = bool(self.judged[self.group].any())
        share = np.where(self.counted, np.where(self.takes & judged, 0.0, 1.0), np.nan)
        np.maximum.at(share, self.holder, self.share)
        return share

    def skew(self) -> float:
        """Largest distance of a share from 1; a holder without a replica of a loaded group has a share of 0."""
        if not self.group.size:
            return 0.0
        is_missed = bool(self.missed().any())
        return max(float(self.share.max()) - 1, 1 - (0.0 if is_missed else float(self.share.min())))

    def missed(self) -> Bools:
        """bool, shape (n_groups,): a counted holder that may receive replicas has none of this loaded group."""
        due_some = self.counted & self.takes
        present = np.bincount(self.group[due_some[self.holder]], minlength=len(self.mean))
        return np.asarray((present < due_some.sum()) & (self.mean > 0) & self.judged)

    def outside(self, band: Band, tolerance: float) -> Bools:
        """bool, shape (n_holders,): outside the band in some group, above or below."""
        n = len(self.counted)
        outside = np.bincount(self.holder, self.pairs_outside(band, tolerance), n) > 0
        low, _ = band.edges(self.fair(), tolerance)
        holds_some_due = np.bincount(self.holder, (low > 0) & self.judged[self.group], n)
        lacks_some = holds_some_due < self._due_some(band, tolerance)
        return np.asarray(outside | (self.counted & self.takes & lacks_some))

    def pairs_outside(self, band: Band, tolerance: float) -> Bools:
        """bool, shape (n_pairs,): the load of the pair is outside the band, above or below."""
        low, high = band.edges(self.fair(), tolerance)
        too_little = (self.load < low) & self.takes[self.holder]
        return np.asarray((too_little | (self.load > high)) & self.judged[self.group])

    def _due_some(self, band: Band, tolerance: float) -> I64:
        """int64, shape (n_holders,): number of groups of which each holder must have some."""
        number = np.zeros(len(self.counted), np.int64)
        for kind, due in enumerate(self.due):
            mean = self.mean[self.judged & (self.kind == kind)]
            for weight in np.unique(due[self.counted]):
                number[due == weight] += int((band.edges(mean * weight, tolerance)[0] > 0).sum())
        return number


def group_loads(parts: Parts, holder: I32, state: ClusterState, counted: Bools, rules: Rules) -> GroupLoads:
    """Sum the loads of replicas and leaders by group and holder; a base load belongs to no group and is left out.

    Parameters
    ----------
    holder
        int32, shape (n_replicas,): holder of each replica, -1 if unknown.
    """
    leader_replica = parts.leader_replica
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
    kind, due, judged = _kinds(parts, state, counted, rules, len(mean))
    takes = rules.takes if len(parts.capacity) == len(state.brokers) else np.ones(len(counted), np.bool_)
    group, load, holder_of_pair = group[loaded], load[loaded], (pairs % max(len(counted), 1)).astype(np.int32)[loaded]
    share = fair_shares(load, due[kind[group], holder_of_pair], mean[group])
    share = np.where(takes[holder_of_pair], share, np.maximum(share, 1.0))
    return GroupLoads(
        group=group,
        holder=holder_of_pair,
        load=load,
        share=np.where(judged[group], share, 1.0),
        mean=mean,
        kind=kind,
        due=due,
        judged=judged,
        counted=counted,
        takes=takes,
    )


def _kinds(parts: Parts, state: ClusterState, counted: Bools, rules: Rules, n_groups: int) -> tuple[I32, F64, Bools]:
    """What the due of a group depends on: the replication factor of its partitions, the largest if they differ."""
    assert parts.group is not None
    factor = np.zeros(n_groups, rules.factor.dtype)
    if len(parts.capacity) != len(state.brokers):
        return factor.astype(np.int32), parts.capacity[None, :], np.ones(n_groups, np.bool_)
    movable = np.flatnonzero(rules.movable)
    np.maximum.at(factor, parts.group[state.partitions.first[movable]], rules.factor[movable])
    by_factor = due_of_factors(parts.capacity, counted, rules)
    distinct = sorted(by_factor)
    due = np.array([parts.capacity, *(by_factor[f] for f in distinct)])
    return np.searchsorted([0, *distinct], factor).astype(np.int32), due, factor > 0
