"""Bands as whole numbers: the fewest and the most bytes, replicas, leaders and topic replicas of each broker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64, I32, I64, UNLIMITED, Bools, foreign_of_brokers
from kafkabal.planner.due_loads import DueLoads
from kafkabal.planner.problem import Problem
from kafkabal.scoring import SHARE_EPSILON, CountBand, DiskBand, SpreadBand

# half of what a score forgives, so that rounding in either direction never matters
_SLACK = SHARE_EPSILON / 2
_SPREAD = SpreadBand()
_NEGLIGIBLE = 1e-4
"""Fraction of a fair load: bytes that all brokers may hold beyond their bands before a plan moves anything for it. A
plan fills brokers up to the edge; what a run writes to its own topic, or a consumer to its offsets, must not require
another plan. It is less than tables show."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bands:
    """Edges of each selected score, both inclusive; a score that was not selected has edges that never bind.

    Brokers that do not count (dead, drained) may hold nothing that can move, which bands do not concern: their edges
    are 0 and unlimited.
    """

    low_bytes: I64
    high_bytes: I64
    low_count: I64
    high_count: I64
    low_leaders: I64
    high_leaders: I64
    lowest_fair_leaders: I64
    """Lower edge for leaders that are spread as evenly as whole numbers allow, within the band."""
    highest_fair_leaders: I64
    """The upper one."""
    topic_replicas: F64
    """shape (n_topics,): replicas of each topic; infinite if their spread does not matter."""
    topic_kind: I32
    """shape (n_topics,): row of :attr:`topic_fraction` for each topic."""
    topic_fraction: F64
    """shape (n_kinds, n_brokers): fraction of the replicas of a topic that each broker is due."""

    def topic_most(self, topic: I32 | I64 | int, broker: I32 | I64 | int) -> F64:
        """Most replicas of a topic that a broker should hold; the arguments are broadcast."""
        fair = self.topic_replicas[topic] * self.topic_fraction[self.topic_kind[topic], broker]
        return _SPREAD.most(fair)


def make_bands(problem: Problem, due: DueLoads, total_bytes: int, used_before: I64, narrowed: float = 0.0) -> Bands:
    """Edges for a cluster whose counted brokers will hold ``total_bytes`` and every position to be filled.

    Parameters
    ----------
    used_before
        int64, shape (n_brokers,): bytes on each broker before the plan.
    narrowed
        Draw in the edges of bytes by this fraction of the fair load.
    """
    low_bytes, high_bytes = _byte_edges(problem, due.bytes, total_bytes, narrowed)
    low_bytes, high_bytes = _ignore_negligible(problem, low_bytes, high_bytes, used_before)
    positions, tolerance = _staying_positions(problem), problem.options.tolerance
    low_count, high_count = _count_edges(problem, "replicas", due.count, positions, tolerance)
    led = _staying_leaders(problem)
    low_leaders, high_leaders = _count_edges(problem, "leaders", due.leaders, led, tolerance)
    lowest_fair_leaders, highest_fair_leaders = _count_edges(problem, "leaders", due.leaders, led, 0.0)
    replicas, fraction = _topic_edges(problem, due)
    if problem.rules.asked is not None:
        high_bytes = np.minimum(high_bytes, problem.asked_bytes)
        high_count = np.minimum(high_count, problem.limit_replicas)
        # a broker that may hold few replicas need not hold more bytes than so many of the mean size
        of_mean_size = np.where(
            problem.limit_replicas < UNLIMITED, total_bytes / max(1, positions) * high_count, np.inf
        )
        low_bytes = _at_most(low_bytes, np.minimum(of_mean_size, problem.rules.asked.bytes), tolerance)
        low_count = _at_most(low_count, np.minimum(problem.rules.asked.replicas, problem.limit_replicas), tolerance)
        low_leaders = np.minimum(low_leaders, high_count)
    return Bands(
        low_bytes=low_bytes,
        high_bytes=high_bytes,
        low_count=low_count,
        high_count=high_count,
        low_leaders=low_leaders,
        high_leaders=high_leaders,
        lowest_fair_leaders=np.clip(lowest_fair_leaders, low_leaders, high_leaders),
        highest_fair_leaders=np.clip(highest_fair_leaders, low_leaders, high_leaders),
        topic_replicas=replicas,
        topic_kind=due.topic_kind,
        topic_fraction=fraction,
    )


def _at_most(low: I64, asked: F64, tolerance: float) -> I64:
    """Lower edges no higher than those of a band around what the user allows."""
    return np.minimum(low, np.floor(np.minimum(asked, UNLIMITED) * (1 - tolerance))).astype(np.int64)


def _byte_edges(problem: Problem, due: F64, total_bytes: int, narrowed: float) -> tuple[I64, I64]:
    low = np.zeros(problem.n_brokers, np.int64)
    high = np.full(problem.n_brokers, UNLIMITED, np.int64)
    rows, below = problem.weighed, problem.options.below
    if below is not None:
        # usage is what an operator sees of the disk: other programs count too
        others = np.nan_to_num(foreign_of_brokers(problem.state))[rows]
        high[rows] = np.floor(np.maximum(problem.capacity[rows] * below - others, 0)).astype(np.int64)
    elif problem.has_score("disk") and rows.any():
        tolerance = problem.options.tolerance
        narrowed = min(narrowed, tolerance / 2)
        capacity = due[rows]
        mean = total_bytes / float(capacity.sum())
        slack = _SLACK * min(mean, 1.0)
        low[rows] = np.ceil((mean * (1 - tolerance + narrowed) - slack) * capacity).astype(np.int64)
        high[rows] = np.floor((mean * (1 + tolerance - narrowed) + slack) * capacity).astype(np.int64)
    return np.maximum(low, 0), high


def _ignore_negligible(problem: Problem, low: I64, high: I64, used: I64) -> tuple[I64, I64]:
    """Widen edges so that brokers stay as they are if none is outside by more than :data:`_NEGLIGIBLE`, or by more than
    counts as outside.
    """
    rows = problem.weighed & (high < UNLIMITED)
    of_disk = DiskBand().negligible(problem.capacity)
    slack = np.where(rows, np.maximum((low // 2 + high // 2) * _NEGLIGIBLE, of_disk), 0.0)
    if problem.options.below is not None or ((used > high + slack) | (used < low - slack))[rows].any():
        return low, high
    return np.where(rows, np.minimum(low, used), low), np.where(rows, np.maximum(high, used), high)


def _staying_positions(problem: Problem) -> int:
    """Positions that will be on counted brokers; of excluded partitions, those that are there already."""
    fixed = problem.previous[~problem.movable | problem.rules.ignored]
    stuck = int((~problem.counted)[fixed[fixed >= 0]].sum())
    return int(problem.positions.sum()) - stuck


def _staying_leaders(problem: Problem) -> int:
    """Partitions that will have a leader; of excluded partitions, those that counted brokers lead already."""
    leader = problem.state.partitions.leader
    led = leader >= 0
    return int(np.where(problem.rules.ignored, led & problem.counted[leader], led | problem.movable).sum())


def _count_edges(problem: Problem, name: str, due: F64, total: int, tolerance: float) -> tuple[I64, I64]:
    low = np.zeros(problem.n_brokers, np.int64)
    high = np.full(problem.n_brokers, UNLIMITED, np.int64)
    rows = problem.counted
    if problem.has_score(name) and rows.any():
        edges = CountBand().edges(total / float(due[rows].sum()) * due[rows], tolerance)
        low[rows], high[rows] = edges[0].astype(np.int64), edges[1].astype(np.int64)
    return low, high


def _topic_edges(problem: Problem, due: DueLoads) -> tuple[F64, F64]:
    rows = problem.counted
    if not problem.has_score("topic-spread") or not rows.any():
        return np.full(problem.n_topics, np.inf), np.ones_like(due.of_topics)
    capacity = problem.score("topic-spread").capacity(problem.state)
    replicas = np.bincount(problem.topic, problem.positions, problem.n_topics).astype(np.float64)
    return replicas, due.of_topics / float(capacity[rows].sum())


def excess(load: I64, low: I64, high: I64, rows: Bools) -> tuple[I64, I64]:
    """By how much the load is above and below its band; 0 for brokers that are not in ``rows``."""
    above = np.where(rows, np.maximum(load - high, 0), 0)
    below = np.where(rows, np.maximum(low - load, 0), 0)
    return above, below
