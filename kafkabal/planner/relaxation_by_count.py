"""The relaxation of the lower bound with a second potential for each broker: what one replica less on it is worth.

Where brokers of unequal capacity may hold equally many replicas, bands of bytes and of numbers bind each other: a large
broker is full by number before it is full by bytes, and a small one needs many small replicas. Potentials of bytes
alone are blind to that. A replica then moves where ``bytes x potential of bytes + potential of a replica`` is lowest,
so that small and large ones go to different brokers, and each has to be evaluated by itself.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.relaxation import BoundPoint, Moves, Relaxation
from kafkabal.planner.search.solution import Solution


class RelaxationByCount(Relaxation):
    """Loads and numbers of brokers.

    *Multipliers* are the potentials of bytes, then those of replicas in units of a replica of the mean size; shape
    (2 n_brokers,). With 0 for all replicas the bound is that of :class:`Relaxation`, unless racks limit where replicas
    of different sizes may go.

    Parameters
    ----------
    best
        float64, shape (n_brokers,): the best known potentials of bytes.
    """

    def __init__(self, solution: Solution, best: F64) -> None:
        super().__init__(solution, single=True)
        problem = self.problem
        self.best = best
        # the racks that a partition is in allow one lowest potential, not one for each size
        self.reach = None
        self.has_band = problem.counted & problem.has_score("replicas") & problem.takes.any()
        self.number = np.where(self.has_band, solution.count, 0).astype(np.float64)
        self.most = np.where(self.has_band, solution.bands.high_count, 0).astype(np.float64)
        self.fewest = np.where(self.has_band & ~problem.is_limited, solution.bands.low_count, 0).astype(np.float64)
        self.unit = max(1.0, float(self.cost.mean())) if self.n_cells else 1.0
        """Bytes: mean size of a replica."""
        self.targets = self._targets()

    @property
    def numbers_read(self) -> int:
        """Numbers read in an evaluation."""
        return max(1, sum(len(cells) * len(brokers) for cells, brokers in self.targets))

    @property
    def variables(self) -> Bools:
        """Multipliers that an ascent may change."""
        return np.concatenate((self.rows, self.has_band))

    def corners(self) -> list[F64]:
        """The best known potentials of bytes, with 0 for replicas."""
        return [np.concatenate((self.best, np.zeros(len(self.best))))]

    def evaluate(self, potential: F64) -> BoundPoint:
        """Value of the bound at these multipliers, and the direction in which it grows."""
        moves = self._cheapest_moves(potential)
        of_bytes, of_replica = self._split(potential)
        point = self._point(of_bytes, moves)
        edge = np.where(of_replica >= 0, self.most, self.fewest)
        gone = np.bincount(self.broker[moves.chosen], minlength=len(edge))
        arrived = np.bincount(moves.where[moves.chosen], minlength=len(edge))
        gradient = np.where(self.has_band, self.unit * (self.number - edge - gone + arrived), 0.0)
        value = point.value + float((of_replica * (self.number - edge)).sum())
        return BoundPoint(value, np.concatenate((point.gradient, gradient)))

    def _cheapest_moves(self, potential: F64) -> Moves:
        of_bytes, of_replica = self._split(potential)
        worth = np.zeros(self.n_cells)
        where = np.zeros(self.n_cells, np.int64)
        for cells, brokers in self.targets:
            each = self.cost[cells, None] * of_bytes[brokers] + of_replica[brokers]
            best = each.argmin(1)
            where[cells], worth[cells] = brokers[best], each[np.arange(len(cells)), best]
        price = self._price(of_bytes, np.zeros(self.n_cells), self._drift(of_bytes)) + worth - of_replica[self.broker]
        return Moves(price, where, 0.0, self._cheapest(price))

    def _split(self, potential: F64) -> tuple[F64, F64]:
        n = len(potential) // 2
        return potential[:n], potential[n:] * self.unit

    def _targets(self) -> list[tuple[I64, I64]]:
        """Replicas, and the brokers that they may move to: those of their rack if no replica can change it."""
        takes = self.problem.takes
        if not takes.any():
            return []
        zone = self.zone if self.pinned else np.zeros_like(self.zone)
        entered = self.entered if self.pinned else np.zeros_like(self.entered)
        found = []
        for z in np.unique(entered):
            inside = takes & (zone == z)
            # as in Relaxation: a replica with no possible target in its own rack may move to any
            found.append((np.flatnonzero(entered == z), np.flatnonzero(inside if inside.any() else takes)))
        return found
