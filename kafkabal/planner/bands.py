"""Bands as whole numbers: the fewest and the most bytes, replicas, leaders and topic replicas of each broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.planner.problem import UNLIMITED
from kafkabal.scoring.bands import SHARE_EPSILON, CountBand, SpreadBand

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I64, Bools
    from kafkabal.planner.problem import Problem

# half of what a score forgives, so that rounding on the way to it and back never matters
_SLACK = SHARE_EPSILON / 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bands:
    """Edges of each chosen score, both inclusive; a score that was not chosen has edges that never bind.

    Brokers that do not count (dead, drained) may hold nothing that can move, which is no matter of bands: their edges
    are 0 and unlimited.
    """

    low_bytes: I64
    high_bytes: I64
    low_count: I64
    high_count: I64
    low_leaders: I64
    high_leaders: I64
    topic_most: I64
    """shape (n_topics,): most replicas of a topic on one broker."""


def make_bands(problem: Problem, total_bytes: int) -> Bands:
    """Edges for a cluster whose counted brokers will hold ``total_bytes`` and every slot that is to be filled."""
    low_bytes, high_bytes = _byte_edges(problem, total_bytes)
    low_count, high_count = _count_edges(problem, "replicas", _staying_slots(problem))
    low_leaders, high_leaders = _count_edges(problem, "leaders", len(problem.leader))
    return Bands(
        low_bytes=low_bytes,
        high_bytes=high_bytes,
        low_count=low_count,
        high_count=np.minimum(high_count, problem.limit_replicas),
        low_leaders=low_leaders,
        high_leaders=high_leaders,
        topic_most=_topic_edges(problem),
    )


def _byte_edges(problem: Problem, total_bytes: int) -> tuple[I64, I64]:
    low = np.zeros(problem.n_brokers, np.int64)
    high = np.full(problem.n_brokers, UNLIMITED, np.int64)
    rows = problem.weighed
    if problem.has_score("disk") and rows.any():
        tolerance = problem.options.tolerance
        capacity = problem.capacity[rows]
        mean = total_bytes / float(capacity.sum())
        slack = _SLACK * min(mean, 1.0)
        low[rows] = np.ceil((mean * (1 - tolerance) - slack) * capacity).astype(np.int64)
        high[rows] = np.floor((mean * (1 + tolerance) + slack) * capacity).astype(np.int64)
    return np.maximum(low, 0), high


def _staying_slots(problem: Problem) -> int:
    """Slots that will lie on counted brokers."""
    return int(problem.slots.sum()) - stuck_slots(problem)


def stuck_slots(problem: Problem) -> int:
    """Slots of partitions that must not be touched on brokers that do not count."""
    fixed = problem.home[~problem.movable]
    return int((~problem.counted)[fixed[fixed >= 0]].sum())


def _count_edges(problem: Problem, name: str, total: int) -> tuple[I64, I64]:
    low = np.zeros(problem.n_brokers, np.int64)
    high = np.full(problem.n_brokers, UNLIMITED, np.int64)
    n = int(problem.counted.sum())
    if problem.has_score(name) and n:
        fair: F64 = np.array([total / n])
        edges = CountBand().edges(fair, problem.options.tolerance)
        low[problem.counted], high[problem.counted] = int(edges[0][0]), int(edges[1][0])
    return low, high


def _topic_edges(problem: Problem) -> I64:
    n = int(problem.counted.sum())
    if not problem.has_score("topic-spread") or not n:
        return np.full(problem.n_topics, UNLIMITED, np.int64)
    replicas = np.bincount(problem.topic, problem.slots, problem.n_topics)
    _, high = SpreadBand().edges(replicas / n, problem.options.tolerance)
    return high.astype(np.int64)


def excess(load: I64, low: I64, high: I64, rows: Bools) -> tuple[I64, I64]:
    """By how much the load lies above and below its band; 0 for brokers that are not in ``rows``."""
    above = np.where(rows, np.maximum(load - high, 0), 0)
    below = np.where(rows, np.maximum(low - load, 0), 0)
    return above, below
