"""The lowest potential among all brokers that a replica can move to, given the racks of its partition.

A partition that has to be in as many racks as it has replicas enters two kinds of racks: racks that it was not in, each
at most once, and racks that one of its replicas leaves. The second kind can be charged to the replicas that leave them,
so that each replica enters its own rack or one that was free of its partition. The number of free racks limits how
often they are entered: a price on each entry, paid back once for each free rack, makes that limit part of the bound.
The bound is valid for any price.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I32, I64, NO_RACK, Bools
from kafkabal.planner.search.grouped_array_operations import any_of_row
from kafkabal.planner.search.solution import Solution


class Reached(NamedTuple):
    """The brokers that replicas can move to, one entry each."""

    potential: F64
    """Lowest potential, entry prices included."""
    broker: I64
    paid_back: float
    """Bytes: total value of the entry prices that are paid back."""


class RackReach:
    """The racks that the partition of each replica is in.

    Parameters
    ----------
    p, k
        Position of each replica, by partition.
    cost
        Bytes of each replica's move.
    free_to_stay
        Whether each replica need not move.
    """

    def __init__(self, solution: Solution, p: I64, k: I64, cost: F64, free_to_stay: Bools) -> None:
        problem = solution.problem
        partition, first, row = np.unique(p, return_index=True, return_inverse=True)
        self._row, self._k = row, k
        self._racks: I32 = solution.rack[solution.placement[partition]]
        self._of_broker: I32 = problem.rack
        self._n_racks = int(problem.rack.max(initial=0)) + 1
        self._own: I32 = self._racks[row, k]
        self._anywhere = problem.positions[p] > problem.n_racks
        self._free_to_stay = free_to_stay & ~self._anywhere
        self._bytes = cost[first]
        taking = np.zeros(self._n_racks + 1, np.bool_)
        taking[problem.rack[problem.takes]] = True
        self._number: I64 = int(taking.sum()) - _distinct(np.where(taking[self._racks], self._racks, NO_RACK))

    def lowest(self, potential: F64, worth: F64) -> Reached:
        """The lowest potential that each replica can reach.

        Parameters
        ----------
        potential
            shape (n_brokers,): infinite if a broker accepts nothing.
        worth
            shape (n,): potential of a target at which it is just worth the while to move each replica; infinite where
            it moves at any.
        """
        order = np.argsort(potential, kind="stable")
        order = order[self._of_broker[order] >= 0]
        racks, first = np.unique(self._of_broker[order], return_index=True)
        best = np.full(self._n_racks + 1, order[0])
        best[racks] = order[first]
        # one more entry, for NO_RACK
        value = np.full(self._n_racks + 1, np.inf)
        value[racks] = potential[best[racks]]
        ranked = racks[np.argsort(value[racks], kind="stable")]
        free = self._free(ranked[np.isfinite(value[ranked])])
        there = value[free][self._row]
        own = value[self._own]
        most = np.minimum(own, worth)
        enters = self._free_to_stay & np.isfinite(most) & np.isfinite(there)
        price = self._entry_price(np.maximum(np.subtract(most, there, out=np.zeros_like(most), where=enters), 0))
        there = there + price[self._row]
        where = np.where(own <= there, best[self._own], best[free][self._row])
        lowest = np.minimum(own, there)
        goes_anywhere = self._anywhere | (lowest == np.inf)
        paid_back = float((price * self._number * self._bytes).sum())
        lowest = np.where(goes_anywhere, potential[order[0]], lowest)
        return Reached(lowest, np.where(goes_anywhere, order[0], where), paid_back)

    def _free(self, racks: I32) -> I64:
        """int64, shape (n_rows,): the first of these racks that each partition is not in, or -1."""
        free = np.full(len(self._racks), -1, np.int64)
        # among one more rack than it has replicas, at least one is free
        for rack in racks[: self._racks.shape[1] + 1].tolist():
            free[(free < 0) & ~any_of_row(self._racks == rack)] = rack
        return free

    def _entry_price(self, saved: F64) -> F64:
        """float64, shape (n_rows,): price at which no more replicas gain from a free rack than there are."""
        most = self._racks.shape[1] - 1
        if (self._number > most).all():
            return np.zeros(len(self._racks))
        matrix = np.zeros(self._racks.shape)
        matrix[self._row, self._k] = saved
        matrix = -np.sort(-matrix, axis=1)
        return np.where(self._number <= most, matrix[np.arange(len(matrix)), np.clip(self._number, 0, most)], 0.0)


def _distinct(racks: I32) -> I64:
    """int64, shape (n_partitions,): how many racks each row names."""
    ordered = np.sort(racks, axis=1)
    new = ordered >= 0
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return np.asarray(new.sum(1))
