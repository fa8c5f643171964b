"""Replicas that may move, found by broker and size: the candidates of a step of the local search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import I32, I64
from kafkabal.planner.search.grouped_array_operations import sorted_distinct, stable_order
from kafkabal.planner.search.load_targets import zones
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search.sort_keys_by_group_and_size import SizeKeys

_HALVINGS = 6
"""Sizes on the ladder: with 3 and with 12 the 19 plans of benchmarks/planner_constants.py move 0.04% more, 2026-11."""


class SampleSize(NamedTuple):
    """How many replicas and pairs a step considers, and whether near the wanted size or of all sizes."""

    replicas: int
    pairs: int
    all_sizes: bool


class ReplicaIndex:
    """Replicas that may move, by broker and size; skips entries that have moved since."""

    def __init__(self, solution: Solution) -> None:
        problem = solution.problem
        self.solution = solution
        p, k = np.nonzero((solution.placement >= 0) & problem.movable_positions)
        broker = solution.placement[p, k].astype(np.int64)
        bytes_ = solution.load(p, k, broker)
        self.keys = SizeKeys(bytes_)
        # moved ones first: moving them again costs nothing
        group = 2 * broker + (problem.previous[p, k] == broker)
        key = self.keys.of(group, bytes_)
        order = stable_order(key)
        self.p, self.k, self.key = p[order], k[order], key[order]
        self.first = self.keys.ends(self.key, 2 * problem.n_brokers)
        zone = zones(problem)
        self.zone: I32 = zone if zone.any() and not solution.narrow().any() else np.zeros_like(zone)
        """shape (n_brokers,): replicas cannot move between brokers of different numbers."""
        self.left_out: bool = False
        """Whether any replica of its brokers was left out since this was last reset; those that moved do not matter."""

    def pick(self, brokers: I64, size: float, number: int, sample: SampleSize) -> tuple[I64, I64]:
        """Positions on each broker, near a size or of all sizes."""
        return self.spread(brokers, number) if sample.all_sizes else self.ladder(brokers, size, number)

    def ladder(self, brokers: I64, size: float, number: int) -> tuple[I64, I64]:
        """Positions on each broker nearest a size, its half, its quarter and so on, and the smallest."""
        rungs = [size / 2**i for i in range(_HALVINGS)] + [0.0] if size > 0 else [0.0]
        return self.near(brokers, rungs, max(2, number // len(rungs)))

    def near(self, brokers: I64, sizes: list[float], number: int) -> tuple[I64, I64]:
        """Positions on each broker nearest each of these sizes: so many on either side, moved and unmoved ones."""
        group = _groups(brokers)[:, None]
        first, end = self.first[group], self.first[group + 1]
        # more would be on other brokers
        number = min(number, int((end - first).max(initial=0)))
        at = np.searchsorted(self.key, self.keys.at_least(group, np.array(sizes)))
        around = at[:, :, None] + np.arange(-number, number)
        inside = (around >= first[:, :, None]) & (around < end[:, :, None])
        return self._still(brokers, sorted_distinct(around[inside]))

    def spread(self, brokers: I64, number: int) -> tuple[I64, I64]:
        """Positions on each broker, evenly picked over their sizes."""
        group = _groups(brokers)[:, None]
        first, last = self.first[group], self.first[group + 1] - 1
        # more would contain duplicates
        number = min(number, int((last - first).max(initial=0)) + 1)
        at = first + np.arange(number) * (last - first) // max(1, number - 1)
        return self._still(brokers, sorted_distinct(at[np.broadcast_to(last >= first, at.shape)]))

    def _still(self, brokers: I64, at: I64) -> tuple[I64, I64]:
        self.left_out |= len(at) < int((self.first[2 * brokers + 2] - self.first[2 * brokers]).sum())
        p, k = self.p[at], self.k[at]
        here = self.solution.placement[p, k] == self.keys.group_of(self.key[at]) // 2
        return p[here], k[here]


def _groups(brokers: I64) -> I64:
    return np.concatenate((2 * brokers, 2 * brokers + 1))
