"""Where the load of each broker should end: inside its band, reached with the least that has to move.

What lies above the upper edges has to go somewhere: brokers below are filled up to a common level. If more is missing
below the lower edges than lies above the upper ones, those above a common level give the rest. Where every partition
has a replica in every rack, replicas can only move within their rack, and each rack is such a world of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I32, I64
    from kafkabal.planner.problem import Problem
    from kafkabal.planner.search.state import State

_HALVINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Targets:
    """Load to aim at, shape (n_brokers,) each."""

    bytes: I64
    count: I64


def zones(problem: Problem) -> I32:
    """int32, shape (n_brokers,): brokers between which replicas can move have equal numbers."""
    slots = problem.slots[problem.movable]
    bound_to_racks = problem.n_racks > 1 and bool((slots == problem.n_racks).all())
    return problem.rack if bound_to_racks else np.zeros(problem.n_brokers, np.int32)


def make_targets(state: State, zone: I32, waiting_bytes: int = 0, waiting_count: int = 0) -> Targets:
    """Targets for what lies on the brokers now, and for what waits to be put onto one."""
    problem, bands = state.problem, state.bands
    bytes_, count = state.used.copy(), state.count.copy()
    for z in np.unique(zone[problem.counted]):
        rows = np.flatnonzero((zone == z) & problem.counted)
        capacity = problem.capacity[rows]
        bytes_[rows] = _level(state.used[rows], bands.low_bytes[rows], bands.high_bytes[rows], capacity, waiting_bytes)
        even = np.ones(len(rows))
        count[rows] = _level(state.count[rows], bands.low_count[rows], bands.high_count[rows], even, waiting_count)
    return Targets(bytes=bytes_, count=count)


def _level(load: I64, low: I64, high: I64, capacity: F64, waiting: int) -> I64:
    """Clip the load to a band narrowed from one side until what leaves equals what arrives."""
    leaving = int(np.maximum(load - high, 0).sum()) + waiting
    arriving = int(np.maximum(low - load, 0).sum())
    if leaving == arriving:
        return np.clip(load, low, high)
    share = load / capacity
    below, above = float(share.min()), float(max(share.max(), (high / capacity).max()))

    def placed(level: float) -> I64:
        edge = np.clip(np.floor(level * capacity).astype(np.int64), low, high)
        return np.clip(load, edge, high) if leaving > arriving else np.clip(load, low, edge)

    goal = int(load.sum()) + waiting
    for _ in range(_HALVINGS):
        level = (below + above) / 2
        if int(placed(level).sum()) < goal:
            below = level
        else:
            above = level
    return _rounded(placed(below), placed(above), goal)


def _rounded(lower: I64, upper: I64, goal: int) -> I64:
    """Between two levels that differ by rounding only, raise the first ones until the sum fits."""
    missing = goal - int(lower.sum())
    step = upper - lower
    before = np.cumsum(step) - step
    return lower + np.clip(missing - before, 0, step)
