"""A proved lower bound on the bytes that any plan reaching the same bands under the same rules must move.

It is the Lagrangian dual of a relaxation: give each broker a potential, charge every move with the fall in potential
between its ends, and what remains can only cost. Any potentials give a valid bound; a few steps of a subgradient
method look for good ones. ``docs/planner.md`` has the proof.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.planner.indivisible_bound import grain_bound
from kafkabal.planner.search.load_targets import zones
from kafkabal.planner.search.solution import State

_CELLS_TO_SPEND = 1_500_000
_MOST_STEPS = 60
_MOST_PATIENCE = 9
_FEWEST_STEPS = 3
_ROUNDING = 1e-12
_SUM_ROUNDING = 1e-13
"""Of a total, what sums of its parts may differ by."""
_ROUNDING_BYTES = 1e-6
_CLOSE = 5e-4


def bound_bytes(start: State, moved_bytes: int) -> int:
    """Bytes that every plan must move that brings the state before the plan inside its bands.

    Parameters
    ----------
    start
        The state before anything was moved.
    moved_bytes
        What a plan is known to need; it only guides the search for good potentials.
    """
    dual = _Dual(start)
    best = _ascend(dual, moved_bytes)
    divided = max(0, math.ceil(best * (1 - _ROUNDING) - _ROUNDING_BYTES))
    if not start.sizes_agree():
        return divided
    # a plan may end outside the exact bands by what a score forgives
    return max(divided, grain_bound(start), min(_plain_bound(start), moved_bytes))


def _plain_bound(start: State) -> int:
    """Load above the exact upper edges, or on brokers that have to be emptied; or is missing below the lower ones.

    Holds where the copies of a partition are equal in size, so that moves leave the total as it is.
    """
    problem, tolerance = start.problem, start.problem.options.tolerance
    leaving = int(problem.arriving_bytes[np.nonzero(start.must_leave())[0]].sum())
    rows = problem.weighed
    if not problem.has_score("disk") or not rows.any():
        return leaving
    used, capacity = start.used[rows].astype(np.float64), start.due.bytes[rows]
    mean = (float(used.sum()) + leaving) / float(capacity.sum())
    above = float(np.maximum(used - mean * (1 + tolerance) * capacity, 0).sum()) + leaving
    below = float(np.maximum(mean * (1 - tolerance) * capacity - used, 0).sum())
    noise = _SUM_ROUNDING * float(used.sum()) + _ROUNDING_BYTES
    return max(0, math.ceil(max(above, below) - noise))


class _Point(NamedTuple):
    value: float
    gradient: F64


def _ascend(dual: _Dual, moved_bytes: int) -> float:
    """Follow subgradients with Polyak's steps from the best corner."""
    potential, point = max(
        ((corner, dual.evaluate(corner)) for corner in dual.corners()), key=lambda found: found[1].value
    )
    best = max(0.0, point.value)
    patience, scale = 0, 1.0
    for _ in range(int(np.clip(_CELLS_TO_SPEND // max(1, dual.n_cells), _FEWEST_STEPS, _MOST_STEPS))):
        norm = float((point.gradient**2).sum())
        if moved_bytes - best < _CLOSE * moved_bytes or norm <= 0 or patience > _MOST_PATIENCE:
            break
        potential = potential + scale * max(moved_bytes - point.value, 0.0) * point.gradient / norm
        point = dual.evaluate(potential)
        if point.value > best:
            best, patience = point.value, 0
        else:
            patience += 1
            scale = scale * 0.7 if patience % 3 == 0 else scale
    return best


class _Dual:
    """The relaxation: loads of brokers, replicas that may move, and those of which some have to."""

    def __init__(self, state: State) -> None:
        problem = state.problem
        self.state = state
        self.problem = problem
        tolerance = problem.options.tolerance
        rows = problem.weighed & problem.has_score("disk")
        capacity = np.where(rows, state.due.bytes, 0.0)
        share = capacity / capacity.sum() if rows.any() else capacity
        # the edges as shares of the total, so that they follow it where copies differ in size
        self.rows = rows
        slack = 1e-9
        self.high: F64 = share * (1 + tolerance + slack)
        self.low: F64 = share * (1 - tolerance - slack)
        p, k = np.nonzero((state.place >= 0) & problem.movable[:, None])
        self.p, self.k = p, k
        self.n_cells = len(p)
        self.broker = state.place[p, k]
        self.cost = problem.arriving_bytes[p].astype(np.float64)
        self.held = np.where(rows[self.broker], problem.held_bytes[p, k], 0).astype(np.float64)
        self.forced: Bools = problem.leaves[self.broker]
        self.used: F64 = np.where(rows, state.used, 0).astype(np.float64)
        self.total = float(self.used.sum())
        self.zone = zones(problem)
        self.pinned = self.zone.any() and not self._crowded_racks().any()
        self._group()

    def corners(self) -> list[F64]:
        """Potentials that give the two simple bounds: what must leave, and what must enter; also rack by rack."""
        total = self.total + float(self.cost[self.forced].sum())
        above = np.where(self.used > self.high * total, 1.0, 0.0)
        below = np.where(self.rows & (self.used < self.low * total), -1.0, 0.0)
        found = [above, below]
        if self.pinned:
            by_rack = above.copy()
            for z in np.unique(self.zone[self.rows]):
                inside = self.rows & (self.zone == z)
                excess = float((self.used - self.high * total)[inside & (above > 0)].sum())
                deficit = float((self.low * total - self.used)[inside & (below < 0)].sum())
                if deficit > excess:
                    by_rack[inside] = below[inside]
            found.append(by_rack)
        return found

    def evaluate(self, potential: F64) -> _Point:
        """Value of the bound at these potentials, and the direction in which it grows."""
        up, down = np.maximum(potential, 0), np.maximum(-potential, 0)
        drift = float((up * self.high - down * self.low).sum())
        lowest, where = self._lowest(potential)
        price = self.cost * (1 + lowest - drift) - self.held * (potential[self.broker] - drift)
        edge = np.where(potential >= 0, self.high, self.low)
        value = float((potential * self.used).sum()) - drift * self.total
        chosen = self._cheapest(price)
        value += float(price[chosen].sum())
        # a forced replica comes from outside the total, so it adds its whole size
        gradient = self.used - edge * self.total
        leaving = np.bincount(self.broker[chosen], self.held[chosen], len(potential))
        arriving = np.bincount(where[chosen], self.cost[chosen], len(potential))
        growth = float((self.cost[chosen] - self.held[chosen]).sum())
        gradient = gradient - leaving + arriving - edge * growth
        return _Point(value, np.where(self.rows, gradient, 0.0))

    def _lowest(self, potential: F64) -> tuple[F64, I64]:
        """Lowest potential that each replica can come to, and where that is."""
        takes = self.problem.takes
        inside = np.where(takes, potential, np.inf)
        if not takes.any():
            return np.zeros(self.n_cells), np.zeros(self.n_cells, np.int64)
        if not self.pinned:
            best = int(inside.argmin())
            return np.full(self.n_cells, inside[best]), np.full(self.n_cells, best)
        # what leaves a dead broker may come to any rack, and so may what has no taker in its own
        anywhere = int(inside.argmin())
        of_zone = np.full(int(self.zone.max()) + 1, anywhere)
        for z in np.unique(self.zone[takes]):
            of_zone[z] = int(np.where(self.zone == z, inside, np.inf).argmin())
        zone = self.zone[self.broker]
        where = np.where(zone >= 0, of_zone[np.maximum(zone, 0)], anywhere)
        return inside[where], where

    def _group(self) -> None:
        """Find replicas of which a number has to move: for racks, for topics, for counts."""
        state, problem = self.state, self.problem
        crowded = self._crowded_racks()
        self.for_racks = crowded[self.p, self.k]
        empty = state.required_racks - state.distinct_racks(state.place) - problem.leaves[state.place].any(1)
        self.rack_need: I64 = np.maximum(empty, 0).astype(np.int64)
        rest = ~self.for_racks & ~self.forced
        topic, broker = problem.topic[self.p].astype(np.int64), self.broker
        self.pair: I64 = topic * problem.n_brokers + broker
        need = np.zeros(self.n_cells, np.int64)
        if state.topic_count is not None:
            need = (state.topic_count[topic, broker] - state.bands.topic_most(topic, broker)).astype(np.int64)
        self.pair_need: I64 = np.where(problem.counted[broker], np.maximum(need, 0), 0)
        self.for_topics = (self.pair_need > 0) & ~self.forced
        surplus = np.where(problem.counted, np.maximum(state.count - state.bands.high_count, 0), 0)
        self.count_need: I64 = surplus
        self.for_count = (surplus[broker] > 0) & ~self.forced
        # what moves for its rack's sake is not charged a second time
        self.free_of_charge = ~rest

    def _crowded_racks(self) -> Bools:
        """Slots that share their rack with another one of a partition that could be in more racks."""
        state, problem = self.state, self.problem
        places = np.where(problem.leaves[state.place], -1, state.place)
        racks = state.rack[places]
        crowded = np.zeros(racks.shape, np.bool_)
        for i in range(racks.shape[1]):
            for j in range(racks.shape[1]):
                if i != j:
                    crowded[:, i] |= (racks[:, i] == racks[:, j]) & (racks[:, i] >= 0)
        lacking = (state.distinct_racks(places) < state.required_racks) & problem.movable
        return crowded & lacking[:, None]

    def _cheapest(self, price: F64) -> Bools:
        """The cheapest set of moves that has every forced one and enough of each group."""
        chosen = self.forced | (price < 0)
        positive = np.maximum(price, 0.0)
        chosen |= self._smallest(self.for_racks, self.p, positive, self.rack_need[self.p])
        charged = np.where(self.free_of_charge, 0.0, positive)
        by_topic = self._smallest(self.for_topics, self.pair, charged, self.pair_need)
        by_count = self._smallest(self.for_count & (positive > 0), self.broker, charged, self._count_left(charged))
        n = self.problem.n_brokers
        topics = np.bincount(self.broker[by_topic], charged[by_topic], n)
        counts = np.bincount(self.broker[by_count], charged[by_count], n)
        best = np.where((counts > topics)[self.broker], by_count, by_topic)
        return np.asarray(chosen | (best & ~self.free_of_charge))

    def _count_left(self, charged: F64) -> I64:
        """How many charged replicas each broker must shed once all that cost nothing are gone."""
        gratis = self.for_count & (charged <= 0)
        free = np.bincount(self.broker[gratis], minlength=self.problem.n_brokers)
        return np.asarray(np.maximum(self.count_need - free, 0)[self.broker])

    def _smallest(self, among: Bools, group: I32 | I64, price: F64, need: I64) -> Bools:
        """The cheapest of each group, as many as it needs."""
        rows = np.flatnonzero(among & (need > 0))
        order = rows[np.lexsort((price[rows], group[rows]))]
        ordered = group[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        chosen = np.zeros(self.n_cells, np.bool_)
        chosen[order[rank < need[order]]] = True
        return chosen
