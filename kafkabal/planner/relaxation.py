"""The relaxation behind the lower bound: brokers have potentials, and moves are credited with the fall between them.

For any potentials :meth:`Relaxation.evaluate` gives bytes that every plan must move, and :meth:`Relaxation.prices` the
cost of each move, net of what it is worth to the loads. ``docs/planner.md`` has the proof.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I32, I64, Bools, shares_rack
from kafkabal.planner.lowest_potential_in_reachable_racks import RackReach, Reached
from kafkabal.planner.problem import NONE
from kafkabal.planner.sampled_partitions import SampledPartitions
from kafkabal.planner.search.grouped_array_operations import by_group, running_count, stable_order
from kafkabal.planner.search.load_targets import zones
from kafkabal.planner.search.solution import Solution

_SHORT = np.iinfo(np.uint16).max
"""Larger group numbers are made dense: shorter ones are sorted faster."""
_SLACK = 1e-9
"""Fraction of a band: what a score forgives (``SHARE_EPSILON``), so that the bound holds for plans that use it."""

_NONE = np.empty(0, np.int64)


class BoundPoint(NamedTuple):
    """The bound at some potentials."""

    value: float
    gradient: F64
    """shape (n_brokers,): a direction in which no point is larger than the value allows (a supergradient)."""


class Moves(NamedTuple):
    """Moves at some potentials, one entry for each replica that may move."""

    price: F64
    """Bytes: cost of each move, net of what it is worth."""
    where: I64
    """Broker that each replica would move to."""
    paid_back: float
    chosen: Bools
    """Moves that are worth it, or have to be made."""


class Relaxation:
    """Loads of brokers, replicas that may move, and those that have to.

    Parameters
    ----------
    sample
        Partitions that represent all; None for every partition. A sample only shows where the bound is high: its values
        are estimates. It leaves out how many replicas brokers have to shed for their numbers and topics, which raises
        the bound, but hardly changes where it is highest.
    single
        Evaluate every replica by itself, even if replicas are chosen together at all potentials.
    """

    def __init__(self, solution: Solution, sample: SampledPartitions | None = None, *, single: bool = False) -> None:
        problem = solution.problem
        self.solution = solution
        self.problem = problem
        tolerance = problem.options.tolerance
        rows = problem.weighed & problem.has_score("disk")
        capacity = np.where(rows, solution.due.bytes, 0.0)
        fraction = capacity / capacity.sum() if rows.any() else capacity
        # the edges as fractions of the total, so that they follow it if copies differ in size
        self.rows = rows
        self.high: F64 = fraction * (1 + tolerance + _SLACK)
        self.low: F64 = np.where(problem.is_limited, 0.0, fraction * (1 - tolerance - _SLACK))
        p, k = np.nonzero((solution.placement >= 0) & problem.movable[:, None])
        weight = np.ones(len(p))
        if sample is not None:
            row = np.minimum(np.searchsorted(sample.partition, p), len(sample.partition) - 1)
            drawn = sample.partition[row] == p
            p, k, weight = p[drawn], k[drawn], sample.weight[row[drawn]]
        self.is_sample = sample is not None
        self.p, self.k = p, k
        self.n_cells = len(p)
        self.broker = solution.placement[p, k]
        self.cost: F64 = problem.arriving_bytes[p] * weight
        self.held: F64 = np.where(rows[self.broker], problem.held_bytes[p, k], 0) * weight
        self.forced: Bools = problem.leaves[self.broker]
        self.used: F64 = np.where(rows, solution.used, 0).astype(np.float64)
        self.total = float(self.used.sum())
        self.zone = zones(problem)
        self.pinned = self.zone.any() and not self._crowded_racks().any()
        self.entered = self._entered()
        # classes of replicas, by which equal copies are evaluated, ignore the racks of single partitions
        is_single = not solution.sizes_agree() and not self.pinned and bool(problem.takes.any())
        self.reach = RackReach(solution, p, k, self.cost, ~self.forced) if is_single else None
        self._group()
        if solution.sizes_agree() and not single:
            # prices on a broker are then proportional to bytes, whatever the potentials
            self._merge(*self._demanded(np.where(self.free_of_charge, 0.0, self.cost)))
        self.all_crowded_move = False
        """Whether all replicas of crowded topics compete for free racks, and not only those that move.

        The bound is concave then, and an ascent is not caught below its top; but it is lower where most stay."""

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

    @property
    def variables(self) -> Bools:
        """Multipliers that an ascent may change."""
        return self.rows

    def evaluate(self, potential: F64) -> BoundPoint:
        """Value of the bound at these potentials, and the direction in which it grows."""
        return self._point(potential, self._cheapest_moves(potential))

    def prices(self, potential: F64) -> F64:
        """float64, shape (n_partitions, width): price of each position's cheapest move; infinite if it may not move."""
        price = np.full(self.solution.placement.shape, np.inf)
        price[self.p, self.k] = self._cheapest_moves(potential).price
        return price

    def _point(self, potential: F64, moves: Moves) -> BoundPoint:
        """The bound at these potentials, given the moves and their prices."""
        drift = self._drift(potential)
        price, where, paid_back, chosen = moves
        edge = np.where(potential >= 0, self.high, self.low)
        value = float((potential * self.used).sum()) - drift * self.total - paid_back
        value += float(price[chosen].sum())
        # a forced replica comes from outside the total, so it adds its whole size
        gradient = self.used - edge * self.total
        leaving = np.bincount(self.broker[chosen], self.held[chosen], len(potential))
        arriving = np.bincount(where[chosen], self.cost[chosen], len(potential))
        growth = float((self.cost[chosen] - self.held[chosen]).sum())
        gradient = gradient - leaving + arriving - edge * growth
        return BoundPoint(value, np.where(self.rows, gradient, 0.0))

    def _cheapest_moves(self, potential: F64) -> Moves:
        """The cheapest set of moves that contains every forced one and enough of each group."""
        moves = self._moves(potential, self.topic_groups.rows if self.all_crowded_move else _NONE)
        at_a_loss = np.flatnonzero(moves.chosen & (moves.price > 0))
        if self.reach is None or self.all_crowded_move or not at_a_loss.size:
            return moves
        return self._moves(potential, at_a_loss)

    def _moves(self, potential: F64, compelled: I64) -> Moves:
        """Moves if some replicas compete for free racks at any cost, and the others for what they save."""
        lowest, where, paid_back = self._lowest(potential, compelled)
        price = self._price(potential, lowest, self._drift(potential))
        return Moves(price, where, paid_back, self._cheapest(price))

    def _drift(self, potential: F64) -> float:
        """Value of one more byte in the cluster, since the bands grow with it."""
        up, down = np.maximum(potential, 0), np.maximum(-potential, 0)
        return float((up * self.high - down * self.low).sum())

    def _price(self, potential: F64, lowest: F64, drift: float) -> F64:
        return np.asarray(self.cost * (1 + lowest - drift) - self.held * (potential[self.broker] - drift))

    def _lowest(self, potential: F64, compelled: I64) -> Reached:
        """Lowest potential that each replica can reach, and the broker that has it."""
        takes = self.problem.takes
        inside = np.where(takes, potential, np.inf)
        if not takes.any():
            return Reached(np.zeros(self.n_cells), np.zeros(self.n_cells, np.int64), 0.0)
        if self.reach is not None:
            drift = self._drift(potential)
            worth = self.held / np.maximum(self.cost, 1) * (potential[self.broker] - drift) - 1 + drift
            worth[compelled] = np.inf
            return self.reach.lowest(inside, worth)
        if not self.pinned:
            best = int(inside.argmin())
            return Reached(np.full(self.n_cells, inside[best]), np.full(self.n_cells, best), 0.0)
        anywhere = int(inside.argmin())
        of_zone = np.full(int(self.zone.max()) + 1, anywhere)
        for z in np.unique(self.zone[takes]):
            of_zone[z] = int(np.where(self.zone == z, inside, np.inf).argmin())
        # a replica with no possible target in its own rack may move to any rack
        where = np.where(self.entered >= 0, of_zone[np.maximum(self.entered, 0)], anywhere)
        return Reached(inside[where], where, 0.0)

    def _entered(self) -> I32:
        """int32, shape (n_cells,): zone that each replica moves to: its own, or one that its partition lacks."""
        entered = self.zone[self.broker]
        lost = np.flatnonzero(entered < 0)
        if not self.pinned or not lost.size:
            return entered
        entered = entered.copy()
        partition = self.p[lost]
        there = self.solution.rack[self.solution.placement[partition]]
        lacked = np.ones((len(lost), int(self.zone.max()) + 1), np.bool_)
        lacked[:, ~np.isin(np.arange(lacked.shape[1]), self.zone[self.rows])] = False
        for column in range(there.shape[1]):
            row = np.flatnonzero(there[:, column] >= 0)
            lacked[row, there[row, column]] = False
        # if a partition has lost several, each goes to another rack; without racks left anything goes
        order = np.argsort(~lacked, axis=1, kind="stable")
        rank = np.minimum(running_count(partition), lacked.sum(1) - 1)
        entered[lost] = np.where(rank >= 0, order[np.arange(len(lost)), np.maximum(rank, 0)], NONE)
        return entered

    def _group(self) -> None:
        """Find replicas of which some number has to move: because of racks, topics or counts."""
        solution, problem = self.solution, self.problem
        crowded = self._crowded_racks()
        for_racks = crowded[self.p, self.k]
        placement = solution.placement
        empty = solution.missing_racks(placement) - ((placement >= 0) & problem.leaves[placement]).any(1)
        self.rack_need: I64 = np.maximum(empty, 0).astype(np.int64)[self.p]
        rest = ~for_racks & ~self.forced
        self.rack_groups = _Groups(for_racks & (self.rack_need > 0), self.p)
        topic, broker = problem.topic[self.p].astype(np.int64), self.broker
        need = np.zeros(self.n_cells, np.int64)
        if solution.topic_count is not None and not self.is_sample:
            need = (solution.topic_count[topic, broker] - solution.bands.topic_most(topic, broker)).astype(np.int64)
        self.pair_need: I64 = np.where(problem.counted[broker], np.maximum(need, 0), 0)
        self.topic_groups = _Groups((self.pair_need > 0) & ~self.forced, topic * problem.n_brokers + broker)
        surplus = np.where(problem.counted, np.maximum(solution.count - solution.bands.high_count, 0), 0)
        if self.is_sample:
            surplus = np.zeros_like(surplus)
        self.count_need: I64 = surplus
        self.for_count = (surplus[broker] > 0) & ~self.forced
        self.count_groups = _Groups(self.for_count, broker)
        # moves made because of racks are not charged a second time
        self.free_of_charge = ~rest
        self.demanded: tuple[Bools, Bools] | None = None

    def _merge(self, by_topic: Bools, by_count: Bools) -> None:
        """Merge replicas that are chosen together at all potentials: a thousand times fewer to evaluate.

        Replicas among which racks choose stay single: they are on different brokers, and any of them may be the
        cheapest.
        """
        single = np.zeros(self.n_cells, np.bool_)
        single[self.rack_groups.rows] = True
        kind = self.broker.astype(np.int64) * (int(self.entered.max(initial=0)) + 2) + self.entered + 1
        for flag in (self.forced, self.free_of_charge, by_topic, by_count):
            kind = 2 * kind + flag
        kind[single] = int(kind.max(initial=0)) + 1 + np.arange(int(single.sum()))
        # any replica of a kind represents all of them: they differ in bytes only
        stands_for = np.zeros(int(kind.max(initial=0)) + 1, np.int64)
        stands_for[kind] = np.arange(self.n_cells) + 1
        kinds = np.flatnonzero(stands_for)
        one = stands_for[kinds] - 1
        cost, held = np.bincount(kind, self.cost), np.bincount(kind, self.held)
        self.cost, self.held = cost[kinds].astype(np.float64), held[kinds].astype(np.float64)
        self.p, self.k, self.n_cells = self.p[one], self.k[one], len(one)
        self.broker, self.entered, self.forced = self.broker[one], self.entered[one], self.forced[one]
        self.free_of_charge, self.rack_need = self.free_of_charge[one], self.rack_need[one]
        self.rack_groups = _Groups(single[one], self.p)
        self.demanded = by_topic[one], by_count[one]

    def _crowded_racks(self) -> Bools:
        """Positions that share their rack with another one of a partition that could be in more racks."""
        solution, problem = self.solution, self.problem
        brokers = np.where(problem.leaves[solution.placement], -1, solution.placement)
        lacking = (solution.missing_racks(brokers) > 0) & problem.movable
        return shares_rack(solution.rack[brokers]) & lacking[:, None]

    def _cheapest(self, price: F64) -> Bools:
        """The cheapest set of moves that contains every forced one and enough of each group."""
        chosen = self.forced | (price < 0)
        positive = np.maximum(price, 0.0)
        chosen |= self.rack_groups.cheapest(positive, self.rack_need)
        charged = np.where(self.free_of_charge, 0.0, positive)
        by_topic, by_count = self.demanded or self._demanded(charged)
        n = self.problem.n_brokers
        topics = np.bincount(self.broker[by_topic], charged[by_topic], n)
        counts = np.bincount(self.broker[by_count], charged[by_count], n)
        best = np.where((counts > topics)[self.broker], by_count, by_topic)
        return np.asarray(chosen | (best & ~self.free_of_charge))

    def _demanded(self, charged: F64) -> tuple[Bools, Bools]:
        """The cheapest replicas that brokers have to shed because of topics, and because of their number."""
        by_topic = self.topic_groups.cheapest(charged, self.pair_need)
        return by_topic, self.count_groups.cheapest(charged, self._count_left(charged), charged > 0)

    def _count_left(self, charged: F64) -> I64:
        """How many charged replicas each broker must shed once all free ones are gone."""
        uncharged = self.for_count & (charged <= 0)
        free = np.bincount(self.broker[uncharged], minlength=self.problem.n_brokers)
        return np.asarray(np.maximum(self.count_need - free, 0)[self.broker])


class _Groups:
    """Replicas in groups, of each of which a number has to move."""

    def __init__(self, among: Bools, group: I32 | I64) -> None:
        self.rows: I64 = np.flatnonzero(among)
        self.code = group[self.rows]
        if self.code.max(initial=0) > _SHORT:
            self.code = np.unique(self.code, return_inverse=True)[1]
        self.n_cells = len(among)

    def cheapest(self, price: F64, need: I64, among: Bools | None = None) -> Bools:
        """bool, shape (n_cells,): the cheapest of each group, as many as needed.

        Parameters
        ----------
        need
            shape (n_cells,): number needed of the group of each replica.
        among
            shape (n_cells,): replicas that may be chosen; None for all.
        """
        rows, code = self.rows, self.code
        if among is not None:
            left = among[rows]
            rows, code = rows[left], code[left]
        order = stable_order(price[rows])
        order = order[by_group(code[order])]
        number = np.bincount(code)
        rank = np.arange(len(order)) - (np.cumsum(number) - number)[code[order]]
        order = rows[order]
        chosen = np.zeros(self.n_cells, np.bool_)
        chosen[order[rank < need[order]]] = True
        return chosen
