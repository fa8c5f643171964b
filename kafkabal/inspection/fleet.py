"""Several clusters side by side: the figures of each, and which is worst."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafkabal.clusters.unknown_cluster_id import is_cluster_known
from kafkabal.inspection.inspection import Inspection, Scored
from kafkabal.inspection.partition_and_holder_figures import broker_figures, partition_figures
from kafkabal.inspection.verdict import Severity, Verdict, judge
from kafkabal.model import F64, ClusterState, broker_capacity_bytes, foreign_of_brokers, is_reassigned

_RANKS: Final = {Severity.BROKEN: 2, Severity.IMBALANCED: 1, Severity.BALANCED: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFigures:
    """Figures of a cluster that responded; None if unknown."""

    brokers: int
    dead_brokers: int
    used_bytes: int
    """Bytes of all replicas, including estimates."""
    used_estimated: bool
    """The size of at least one replica was not reported."""
    capacity_bytes: int | None
    full: float | None
    """Fullness of all volumes, including other programs."""
    fullest_broker: int | None
    fullest: float | None
    """How full that broker is."""
    worst_score: str | None
    skew: float | None
    """Skew of that score."""
    moving_partitions: int | None
    """None if unknown."""
    offline_partitions: int
    under_replicated_partitions: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Member:
    """A cluster of a fleet: what was read of it, or why nothing was."""

    name: str
    """Name of its profile."""
    inspection: Inspection | None = None
    figures: ClusterFigures | None = None
    problem: str = ""
    full_s: float | None = None
    """Seconds until its first disk is full, by its history; infinite for never, None if nothing was recorded."""
    read_at_s: float | None = None
    """When it was read, in seconds since the epoch; of a snapshot, when that was taken."""

    @property
    def badness(self) -> tuple[int, float]:
        """Sort key of members: unresponsive before broken before imbalanced, then by skew."""
        if self.figures is None:
            return 3, 0.0
        return _RANKS[self.figures.verdict.severity], self.figures.skew or 0.0


def member_of(name: str, inspection: Inspection, read_at_s: float, full_s: float | None = None) -> Member:
    """The member for a cluster that responded."""
    figures = cluster_figures(inspection)
    return Member(name=name, inspection=inspection, figures=figures, full_s=full_s, read_at_s=read_at_s)


def worst_members_first(members: Iterable[Member]) -> tuple[Member, ...]:
    """Unresponsive clusters, then broken ones, then by skew; equal ones by name."""
    return tuple(sorted(members, key=lambda m: (*(-figure for figure in m.badness), m.name)))


def profiles_of_one_cluster(members: Iterable[Member]) -> tuple[tuple[str, ...], ...]:
    """Names of members that are the same cluster, by its id if that is known; each group has at least two."""
    names: dict[str, list[str]] = {}
    for member in members:
        cluster_id = "" if member.inspection is None else member.inspection.state.cluster_id
        if is_cluster_known(cluster_id):
            names.setdefault(cluster_id, []).append(member.name)
    return tuple(sorted(tuple(sorted(group)) for group in names.values() if len(group) > 1))


def cluster_figures(inspection: Inspection) -> ClusterFigures:
    """The figures of one cluster."""
    state = inspection.state
    partitions = partition_figures(state)
    used, capacity, occupied = broker_figures(state).bytes, broker_capacity_bytes(state), _occupied(state)
    fullness = np.divide(occupied, capacity, out=np.full(len(capacity), np.nan), where=capacity > 0)
    known = ~np.isnan(fullness)
    fullest = int(np.nanargmax(fullness)) if known.any() else None
    worst = _worst(inspection)
    return ClusterFigures(
        brokers=len(state.brokers),
        dead_brokers=int((~state.brokers.is_live).sum()),
        used_bytes=int(used.sum()),
        used_estimated=bool(partitions.estimated.any()),
        capacity_bytes=int(capacity[known].sum()) if known.any() else None,
        full=float(occupied[known].sum() / capacity[known].sum()) if known.any() else None,
        fullest_broker=None if fullest is None else int(state.brokers.id[fullest]),
        fullest=None if fullest is None else float(fullness[fullest]),
        worst_score=None if worst is None else worst.score.name,
        skew=None if worst is None else float(worst.evaluation.skew),
        moving_partitions=int(is_reassigned(state).sum()) if state.reassignments_known else None,
        offline_partitions=int(partitions.offline.sum()),
        under_replicated_partitions=int(partitions.under_replicated.sum()),
        verdict=judge(inspection),
    )


def _worst(inspection: Inspection) -> Scored | None:
    """The score with the largest skew among those outside their bands, or else among those that are not rounded.

    A topic of a single partition has a skew of 100% by ``topic-spread`` on every balanced cluster.
    """
    outside = [s for s in inspection.scored if s.evaluation.outside.any()]
    exact = [s for s in inspection.scored if not inspection.is_rounded(s)]
    return max(outside or exact or inspection.scored, key=lambda s: float(s.evaluation.skew), default=None)


def _occupied(state: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of replicas and other programs on each broker's volumes."""
    return np.asarray(broker_figures(state).occupied_bytes + np.nan_to_num(foreign_of_brokers(state)), np.float64)
