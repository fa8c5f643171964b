"""Loads of the scores beyond disk, replicas, leaders, topic-spread and log-dir, updated with every change.

These are scores of brokers that have a band and no groups: rates, and custom scores. Each is a sum over the replicas on
a broker and the partitions that it leads, so that a move or a new leader changes two brokers.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.planner.problem import Problem
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import Grain, WeightedScore, fair_shares, parts_of, placeable_loads

_OF_ITS_OWN = frozenset({"disk", "replicas", "leaders", "topic-spread", "log-dir"})
"""Scores with a part of the search of their own."""
_ROUNDING = 1e-9
"""Fraction of a fair share by which edges are drawn in: updated loads drift from those of the score by rounding."""
_LEAST = 0.01
"""Least fraction of the mean that a broker counts as due when loads are divided by it."""


def additional_scores_of(problem: Problem) -> list[WeightedScore]:
    """The selected scores that are planned for by their declared loads alone."""
    return [w for w in problem.scores if w.score.name not in _OF_ITS_OWN and _is_simple(problem, w)]


def _is_simple(problem: Problem, weighted: WeightedScore) -> bool:
    score = weighted.score
    return score.band is not None and score.grain is Grain.BROKER and score.group(problem.state) is None


class AdditionalLoads:
    """Load of every broker under each of some scores; the first axis counts scores."""

    def __init__(self, solution: Solution, leader: I32) -> None:
        problem = solution.problem
        self.solution = solution
        self.leader = leader
        """shape (n_partitions,): the leader; -1 for none yet."""
        self.scores = additional_scores_of(problem)
        shape = (len(self.scores), *problem.previous.shape)
        self.held: F64 = np.zeros(shape)
        """Load of each replica where it was before the plan."""
        self.arriving: F64 = np.zeros(shape[:2])
        """Load of a new copy of each partition."""
        self.led: F64 = np.zeros(shape[:2])
        """Load of leading each partition."""
        self.load: F64 = np.zeros((len(self.scores), problem.n_brokers))
        self.low, self.high = np.full(self.load.shape, -np.inf), np.full(self.load.shape, np.inf)
        self.fair: F64 = np.zeros(self.load.shape)
        """Fair load of each counted broker, above 0; 0 for the others, and under scores without load."""
        self.price: F64 = np.zeros(self.load.shape)
        """Cost of one unit outside the band: the weight of the score over the fair load of the broker."""
        for row, weighted in enumerate(self.scores):
            self._fill(row, weighted)

    def _fill(self, row: int, weighted: WeightedScore) -> None:
        solution, problem = self.solution, self.solution.problem
        state = problem.state
        parts = parts_of(weighted.score, state)
        r = state.replicas
        position = np.arange(len(r)) - state.partitions.first[r.partition]
        self.held[row, r.partition, position] = parts.replica_load
        sums = np.bincount(r.partition, parts.replica_load, len(state.partitions))
        self.arriving[row] = sums / np.maximum(state.replication_factor, 1)
        self.led[row] = parts.leader_load
        p, k = np.nonzero(solution.placement >= 0)
        carried = np.bincount(
            solution.placement[p, k], self.of_positions(p, k, solution.placement[p, k])[row], problem.n_brokers
        )
        led = self.leader >= 0
        carried += np.bincount(self.leader[led], parts.leader_load[led], problem.n_brokers)
        known = ~np.isnan(parts.base_load)
        self.load[row] = np.where(known, parts.base_load, 0.0) + carried
        counted = problem.counted & known
        due = placeable_loads(parts, self.load[row], state, counted, problem.rules).due()
        self._bound(row, weighted, due, counted)

    def _bound(self, row: int, weighted: WeightedScore, due: F64, counted: np.ndarray) -> None:
        total, band = float(self.load[row, counted].sum()), weighted.score.band
        if band is None or total <= 0:
            return
        fair = total / float(due[counted].sum()) * due[counted]
        low, high = band.edges(fair, self.solution.problem.options.tolerance)
        rounding = _ROUNDING * fair
        self.low[row, counted], self.high[row, counted] = low + rounding, high - rounding
        self.fair[row, counted] = np.maximum(fair, _LEAST * total / len(fair))
        self.price[row, counted] = fair_shares(weighted.weight, self.fair[row, counted])

    def __len__(self) -> int:
        return len(self.scores)

    # -- questions ---------------------------------------------------------------------------------------------

    def of_positions(self, p: I64, k: I64, broker: I32 | I64) -> F64:
        """shape (scores, n): load of replicas in these positions on these brokers, leading or not."""
        is_previous = self.solution.problem.previous[p, k] == broker
        return np.where(is_previous, self.held[:, p, k], self.arriving[:, p])

    def violation(self) -> F64:
        """shape (n_brokers,): how far each broker is outside its bands, in weighted fair shares."""
        return _outside(self.load, self.low, self.high, self.price)

    def change(self, broker: I32 | I64 | int, more: F64) -> F64:
        """By how much further loads, shape (scores, ...), change the violation of brokers."""
        low, high, price, now = (column[:, broker] for column in (self.low, self.high, self.price, self.load))
        now, low, high, price = (_spread(column, more.ndim) for column in (now, low, high, price))
        return np.asarray(_outside(now + more, low, high, price) - _outside(now, low, high, price))

    # -- changes -----------------------------------------------------------------------------------------------

    def lead(self, p: I64, broker: I32 | I64) -> None:
        """Change the leaders of partitions."""
        old = self.leader[p]
        led = old >= 0
        for row in range(len(self)):
            np.subtract.at(self.load[row], old[led], self.led[row, p[led]])
            np.add.at(self.load[row], broker, self.led[row, p])
        self.leader[p] = broker

    def move(self, p: I64, k: I64, target: I64) -> None:
        """Move positions to other brokers, together with the leadership of a leader."""
        current = self.solution.placement[p, k].astype(np.int64)
        leads = self.leader[p] == current
        for row, (leaving, coming) in enumerate(
            zip(self.of_positions(p, k, current), self.of_positions(p, k, target), strict=True)
        ):
            np.subtract.at(self.load[row], current, leaving)
            np.add.at(self.load[row], target, coming)
        self.lead(p[leads], target[leads])
        self.solution.move(p, k, target)


def _spread(column: F64, n_axes: int) -> F64:
    """Values of one broker each, broadcast to the axes of what is added to them."""
    return column.reshape(column.shape + (1,) * (n_axes - column.ndim))


def _outside(load: F64, low: F64, high: F64, price: F64) -> F64:
    beyond = np.maximum(load - high, 0.0) + np.maximum(low - load, 0.0)
    return np.asarray((beyond * price).sum(0))
