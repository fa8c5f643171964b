"""Applies a score to a cluster: load, share and skew of every holder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import (
    F64,
    I32,
    Bools,
    ClusterState,
    LogDirState,
    has_no_working_dir,
    most_load_of_dirs,
    with_choosable_log_dir,
)
from kafkabal.scoring.bands import Band, CountBand, DiskBand
from kafkabal.scoring.due_under_rules import (
    PlaceableLoads,
    Rules,
    due_within_groups,
    placeable_loads,
    rules_of,
    without,
)
from kafkabal.scoring.loads_by_group import GroupLoads, group_loads
from kafkabal.scoring.score_parts import Parts, parts_of
from kafkabal.scoring.score_protocol import Grain, Need, Score
from kafkabal.scoring.shares import fair_shares, shares_by_group

DISK_NAME = "disk"
"""The score that the free space of the log dirs limits."""
LOG_DIR_NAME = "log-dir"
"""The score that the free space of each log dir limits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """A score of every holder; a holder that does not count (dead, drained, not reporting) has a share of NaN."""

    name: str
    counted: Bools
    """bool, shape (n_holders,): the holder is live, not drained, and the score's inputs are known for it."""
    load: F64
    capacity: F64
    fair: F64
    """Fair load: the holder's load in the most even placement that the rules allow; NaN if it belongs to several
    groups, or does not count."""
    share: F64
    """1.0 is exactly the fair share; for a holder in several groups, its worst share."""
    low: F64
    """Lower edge of the band in the unit of the load; NaN if a holder belongs to several groups."""
    high: F64
    outside: Bools
    """The load is outside its band, in some group; all False for a score without a band."""
    skew: float
    """Distance of the most unbalanced holder from its fair share, 0 or more."""

    @property
    def max_share(self) -> float:
        """Largest share of a counted holder; 1.0 if none counts."""
        return float(np.nanmax(self.share)) if self.counted.any() else 1.0

    @property
    def min_share(self) -> float:
        """Smallest share of a counted holder; 1.0 if none counts."""
        return float(np.nanmin(self.share)) if self.counted.any() else 1.0

    @property
    def fair_over_mean(self) -> F64:
        """Fair utilisation of each holder over the mean of all: 1.0 if no rule prevents balance."""
        due = np.where(self.counted & ~np.isnan(self.fair), self.fair, 0.0)
        capacity = np.where(self.counted, self.capacity, 0.0)
        mean = due.sum() / (capacity.sum() or 1.0)
        return np.where(self.counted & (mean > 0), fair_shares(self.fair, self.capacity, mean or 1.0), 1.0)


def evaluate(
    score: Score,
    state: ClusterState,
    *,
    tolerance: float,
    drained: Bools | None = None,
    rules: Rules | None = None,
) -> Evaluation:
    """Apply a score.

    Parameters
    ----------
    tolerance
        Half the width of the band, as a fraction of the mean; 0.10 is ten percent.
    drained
        bool, shape (n_brokers,): brokers to be emptied, which have no fair share.
    rules
        Constraints on placement; None for the default ones.

    Raises
    ------
    UsageError
        If a part of the score has the wrong shape or is not finite.
    ConfigError
        If the capacity of only some brokers is known.
    """
    parts = parts_of(score, state)
    counted = counted_holders(score, state, parts, drained)
    load = holder_load(score, state, parts)
    rules = rules or rules_of(state, drained)
    if parts.group is None or parts.holder_group is not None:
        due = _due(score, parts, load, state, counted, rules)
        return _evaluate(score, parts, due, counted, load, tolerance)
    groups = group_loads(parts, _holders(score, state)[0], state, counted, rules)
    return _evaluate_shared(score, parts, counted, load, groups, tolerance)


def due_of(score: Score, state: ClusterState, parts: Parts, rules: Rules) -> F64:
    """float64, shape (n_holders,): what each holder is due, in proportion; the capacity if no rule binds."""
    loads = loads_of(score, state, parts, rules)
    return parts.capacity if loads is None else loads.due()


def loads_of(score: Score, state: ClusterState, parts: Parts, rules: Rules) -> PlaceableLoads | None:
    """What the fair loads of a score depend on; None for a score that placement rules do not affect."""
    if not _is_bound(score) or parts.group is not None:
        return None
    counted = counted_holders(score, state, parts, rules.leaves)
    return _placeable(score, parts, holder_load(score, state, parts), state, counted, rules)


def _placeable(
    score: Score, parts: Parts, load: F64, state: ClusterState, counted: Bools, rules: Rules
) -> PlaceableLoads:
    of_bytes, is_number = score.name == DISK_NAME, isinstance(score.band, CountBand)
    return placeable_loads(parts, load, state, counted, rules, of_bytes=of_bytes, is_number=is_number)


def _is_bound(score: Score) -> bool:
    """Whether placement rules affect the score: not if no replica carries its load, or it compares within single
    brokers."""
    return score.band is not None and score.grain is Grain.BROKER


def _due(score: Score, parts: Parts, load: F64, state: ClusterState, counted: Bools, rules: Rules) -> F64:
    if score.grain is Grain.LOG_DIR and parts.holder_group is not None:
        may_change_dir = rules.movable & with_choosable_log_dir(state)
        fixed = holder_load(score, state, without(may_change_dir, parts, state))
        most = _most_in_log_dirs(score, load, state, rules)
        return due_within_groups(parts.capacity, counted, parts.holder_group, load, fixed, most)
    if not _is_bound(score) or parts.group is not None:
        return parts.capacity
    return _placeable(score, parts, load, state, counted, rules).due()


def _most_in_log_dirs(score: Score, load: F64, state: ClusterState, rules: Rules) -> F64:
    """float64, shape (n_dirs,): most load that each log dir may have; the size of its volume limits only bytes."""
    limit = rules.volume_limit_bytes if score.name == LOG_DIR_NAME else np.full(len(load), np.inf)
    return most_load_of_dirs(state.log_dirs, load, limit)


def counted_holders(score: Score, state: ClusterState, parts: Parts, drained: Bools | None = None) -> Bools:
    """bool, shape (n_holders,): live, not offline nor drained, and the score's inputs are known."""
    brokers = state.brokers.is_live & ~drained if drained is not None else state.brokers.is_live
    if Need.LOG_DIRS in score.needs:
        brokers = brokers & ~has_no_working_dir(state)
    known = ~np.isnan(parts.base_load)
    if score.grain is Grain.BROKER:
        return np.asarray(brokers & known)
    dirs = state.log_dirs
    return np.asarray(brokers[dirs.broker] & known & (dirs.state != LogDirState.OFFLINE))


def holder_load(score: Score, state: ClusterState, parts: Parts) -> F64:
    """float64, shape (n_holders,): base load plus the load of replicas and leaders; NaN if unknown."""
    holder, leads_from = _holders(score, state)
    placed, led = holder >= 0, leads_from >= 0
    load = parts.base_load + np.bincount(holder[placed], parts.replica_load[placed], len(parts.base_load))
    return np.asarray(load + np.bincount(leads_from[led], parts.leader_load[led], len(load)))


def _holders(score: Score, state: ClusterState) -> tuple[I32, I32]:
    """Holder of each replica and of each partition's leader; -1 if there is none or it is unknown."""
    if score.grain is Grain.BROKER:
        return state.replicas.broker, state.partitions.leader
    leader = state.leader_replica
    return state.replicas.log_dir, np.where(leader >= 0, state.replicas.log_dir[leader], -1).astype(np.int32)


def _edges(band: Band | None, capacity: F64, fair: F64, tolerance: float) -> tuple[F64, F64]:
    """Edges for each holder; infinite without a band."""
    if band is None:
        return np.full(len(fair), -np.inf), np.full(len(fair), np.inf)
    return band.edges_on(capacity, fair, tolerance) if isinstance(band, DiskBand) else band.edges(fair, tolerance)


def _evaluate(score: Score, parts: Parts, due: F64, counted: Bools, load: F64, tolerance: float) -> Evaluation:
    """Evaluate a score with one group per holder: the whole cluster, or the holder's own."""
    group = parts.holder_group if parts.holder_group is not None else np.zeros(len(load), np.int32)
    share, fair = shares_by_group(load, due, counted, group)
    low, high = _edges(score.band, parts.capacity, fair, tolerance)
    known = share[counted]
    return Evaluation(
        name=score.name,
        counted=counted,
        load=load,
        capacity=parts.capacity,
        fair=np.where(counted, fair, np.nan),
        share=share,
        low=low,
        high=high,
        outside=counted & ((load < low) | (load > high)),
        skew=max(float(known.max()) - 1, 1 - float(known.min())) if known.size else 0.0,
    )


def _evaluate_shared(
    score: Score, parts: Parts, counted: Bools, load: F64, groups: GroupLoads, tolerance: float
) -> Evaluation:
    """Evaluate a score whose holders belong to every group, such as all brokers to each topic."""
    unknown = np.full(len(load), np.nan)
    return Evaluation(
        name=score.name,
        counted=counted,
        load=load,
        capacity=parts.capacity,
        fair=unknown,
        share=groups.worst_share(),
        low=unknown,
        high=unknown,
        outside=groups.outside(score.band, tolerance) if score.band else np.zeros(len(load), np.bool_),
        skew=groups.skew(),
    )
