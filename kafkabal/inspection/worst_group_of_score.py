"""The worst group of a score with groups, so that the figures shown belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.inspection.inspection import Scored
from kafkabal.model import ClusterState
from kafkabal.scoring import Grain, counted_holders, group_loads, parts_of, rules_of


@dataclass(frozen=True, slots=True)
class WorstGroup:
    """Largest and smallest share of a counted broker in one group: the one farther from 1 gives the score's skew."""

    topic: str | None
    """Its name, if the groups are topics."""
    max_share: float
    min_share: float


def worst_group(scored: Scored, state: ClusterState, *, outside_by: float | None = None) -> WorstGroup | None:
    """The group with the share farthest from 1; None for a score without groups.

    Parameters
    ----------
    outside_by
        Tolerance: among the groups that are outside their bands by it, if there are any. A topic with fewer replicas
        than there are brokers is never on all of them, and inside its band.
    """
    if scored.score.grain is not Grain.BROKER or scored.score.group(state) is None:
        return None
    parts = parts_of(scored.score, state)
    if parts.group is None or parts.holder_group is not None:
        return None
    counted = counted_holders(scored.score, state, parts)
    groups = group_loads(parts, state.replicas.broker, state, counted, rules_of(state, None))
    if not groups.group.size:
        return None
    share, n = groups.share, len(groups.mean)
    most, least = np.ones(n), np.full(n, np.inf)
    np.maximum.at(most, groups.group, share)
    np.minimum.at(least, groups.group, share)
    least[groups.missed()] = 0.0
    least = np.minimum(least, 1.0)
    distance = np.maximum(most - 1, 1 - least)
    if outside_by is not None and scored.score.band is not None:
        outside = np.zeros(n, np.bool_)
        outside[groups.group[groups.pairs_outside(scored.score.band, outside_by)]] = True
        distance[~outside & outside.any()] = -1.0
    worst = int(np.argmax(distance))
    by_topic = np.array_equal(parts.group, state.partitions.topic[state.replicas.partition])
    return WorstGroup(state.topics.name[worst] if by_topic else None, float(most[worst]), float(least[worst]))
