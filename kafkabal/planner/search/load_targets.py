"""Where the load of each broker should end: inside its band, reached with the least that has to move.

Load above the upper edges has to go somewhere: brokers below are filled up to a common level. If more is missing
below the lower edges than is above the upper ones, those above a common level give the rest. Where every partition
has a replica in every rack, replicas can only move within their rack, and each rack is such a world of its own.

The common level is found by halving: what the brokers hold at a level only grows with it ("water filling", as in
S. Boyd and L. Vandenberghe, Convex Optimization, Cambridge 2004, example 5.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64, I32, I64, is_bound_to_racks
from kafkabal.planner.problem import Problem
from kafkabal.planner.search.solution import Solution

_HALVINGS = 60
"""A float64 has 53 bits: further halvings change nothing."""
_MOST = float(np.iinfo(np.int64).max // 2)
"""What a level is cut off at: an edge that never binds, against another capacity, would not fit 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Targets:
    """Load to aim at, shape (n_brokers,) each."""

    bytes: I64
    count: I64


def zones(problem: Problem) -> I32:
    """int32, shape (n_brokers,): brokers between which replicas can move have equal numbers."""
    if is_bound_to_racks(problem.positions[problem.movable], problem.n_racks):
        return problem.rack
    return np.zeros(problem.n_brokers, np.int32)


def make_targets(solution: Solution, zone: I32, waiting_bytes: int = 0, waiting_count: int = 0) -> Targets:
    """Targets for the loads on the brokers now, plus loads that wait to be placed."""
    problem, bands = solution.problem, solution.bands
    bytes_, count = solution.used.copy(), solution.count.copy()
    # a broker that may receive nothing cannot be filled
    low_bytes = np.where(problem.takes, bands.low_bytes, np.minimum(bands.low_bytes, solution.used))
    low_count = np.where(problem.takes, bands.low_count, np.minimum(bands.low_count, solution.count))
    high_bytes = np.where(problem.takes, bands.high_bytes, np.clip(solution.used, low_bytes, bands.high_bytes))
    high_count = np.where(problem.takes, bands.high_count, np.clip(solution.count, low_count, bands.high_count))
    for z in np.unique(zone[problem.counted]):
        rows = np.flatnonzero((zone == z) & problem.counted)
        capacity = solution.due.byte_weight[rows]
        bytes_[rows] = _level(solution.used[rows], low_bytes[rows], high_bytes[rows], capacity, waiting_bytes)
        even = solution.due.count_weight[rows]
        count[rows] = _level(solution.count[rows], low_count[rows], high_count[rows], even, waiting_count)
    return Targets(bytes=bytes_, count=count)


def _level(load: I64, low: I64, high: I64, capacity: F64, waiting: int) -> I64:
    """Clip the load to a band narrowed from one side until what leaves equals what arrives.

    If the bands cannot hold everything, all brokers are filled to the upper edge and the fullest ones give the most; if
    there is too little for the lower edges, the emptiest ones receive the most.
    """
    goal = int(load.sum()) + waiting
    # edges that never bind are too large for sums of whole numbers
    if goal > high.sum(dtype=np.float64):
        return _search(goal, lambda level: np.maximum(high, np.minimum(load, level)), load, high, capacity)
    if goal < low.sum(dtype=np.float64):
        return _search(goal, lambda level: np.minimum(low, np.maximum(load, level)), load, low, capacity)
    leaving = int(np.maximum(load - high, 0).sum()) + waiting
    arriving = int(np.maximum(low - load, 0).sum())
    if leaving > arriving:
        return _search(goal, lambda level: _clipped(load, _clipped(level, low, high), high), load, high, capacity)
    return _search(goal, lambda level: _clipped(load, low, _clipped(level, low, high)), load, high, capacity)


def _clipped(load: I64, low: I64, high: I64) -> I64:
    # np.clip takes several times as long for so few entries
    return np.minimum(np.maximum(load, low), high)


def _search(goal: int, placed: Callable[[I64], I64], load: I64, edge: I64, capacity: F64) -> I64:
    """Find the common level at which the loads add up to the goal."""
    below, above = 0.0, max(float((load / capacity).max()), float((edge / capacity).max())) + 1.0

    def at(level: float) -> I64:
        return placed(np.floor(np.minimum(level * capacity, _MOST)).astype(np.int64))

    for _ in range(_HALVINGS):
        level = (below + above) / 2
        if int(at(level).sum()) < goal:
            below = level
        else:
            above = level
    return _rounded(at(below), at(above), goal)


def _rounded(lower: I64, upper: I64, goal: int) -> I64:
    """Between two levels that differ by rounding only, raise the first ones until the sum fits."""
    missing = goal - int(lower.sum())
    step = upper - lower
    before = np.cumsum(step) - step
    return np.asarray(lower + np.clip(missing - before, 0, step))
