"""Evicts what has to leave its broker, whatever the loads: off dead or drained brokers, crowded racks, crowded topics.

::

    every position on a dead or drained broker, or in an offline log dir: lift
    every partition with two replicas in one rack that could be in more racks, the largest first: lift one of the two,
        that of the crowded topic or the fullest broker
    every (topic, broker) that holds too many: lift as many as are too many; of all its topics a broker parts with
        replicas of about one size, found by a few tries, at which they add up to what it has to shed

What was lifted is placed by :mod:`~kafkabal.planner.search.assign_unplaced`. The method is our own: which replicas
leave is decided by size, so that evicting for racks and topics does part of the balancing as well.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64, Bools, shares_rack
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.grouped_array_operations import any_of_row, by_group, stable_order
from kafkabal.planner.search.solution import Solution

_SIZES_TRIED = 10
"""With 3 and with 30 the plans of benchmarks/planner_constants.py move 0.1% less: by luck, since neither is worse."""
_MOST_RACK_STEPS = 400
"""Affects time only: with 50 two of these plans differ, by less than 0.01%."""


def lift_leaving(solution: Solution) -> None:
    """Lift every position on a dead or drained broker, and every one in an offline log dir."""
    p, k = np.nonzero(solution.must_leave())
    solution.lift(p, k, MoveCause.LEAVES)


def drop_surplus(solution: Solution) -> None:
    """Drop replicas if fewer were requested: those that have to leave anyway, then those out of sync, then those in
    crowded racks, then those on the fullest brokers.

    The leader stays, unless it has to leave as well and another copy in sync need not.
    """
    problem = solution.problem
    while True:
        rows = np.flatnonzero((solution.placement >= 0).sum(1) > problem.positions)
        if not rows.size:
            return
        brokers = solution.placement[rows]
        leaving = problem.leaves[brokers] | problem.lost[rows]
        leads = brokers == problem.leader[rows][:, None]
        sound = (brokers >= 0) & ~leaving & problem.electable[rows]
        fullness = np.append(_fullness(solution), 0.0)[brokers]
        # each weight exceeds the sum of those after it
        priority = 4.0 * leaving + 2.0 * ~problem.electable[rows] + 1.0 * shares_rack(solution.rack[brokers])
        priority += fullness / (1.0 + fullness.max())
        priority[(brokers < 0) | (leads & ~(leaving & any_of_row(sound)[:, None]))] = -1.0
        solution.drop(rows, priority.argmax(1))


def lift_for_racks(solution: Solution) -> None:
    """Lift one of two replicas in the same rack if the partition could be in more racks.

    The largest partitions choose first; each lifts the replica whose topic is crowded on its broker, or whose broker is
    the fullest at that moment.
    """
    rows = _lacking_racks(solution)
    while rows.size:
        rows = rows[np.lexsort((rows, -solution.problem.arriving_bytes[rows]))]
        step = max(1, solution.problem.n_brokers // 2, len(rows) // _MOST_RACK_STEPS)
        for i in range(0, len(rows), step):
            _lift_from_racks(solution, rows[i : i + step])
        left = _lacking_racks(solution)
        if left.size == rows.size:
            return
        rows = left


def _lacking_racks(solution: Solution) -> I64:
    """Partitions that could be in more racks and have a replica that may move for it."""
    empty = (solution.is_position & (solution.placement < 0)).sum(1)
    return np.flatnonzero((solution.missing_racks(solution.placement) > empty) & solution.problem.movable)


def _lift_from_racks(solution: Solution, rows: I64) -> None:
    brokers = solution.placement[rows]
    priority = np.append(_fullness(solution), -1.0)[brokers]
    if solution.topic_count is not None:
        topic = solution.problem.topic[rows]
        crowded = solution.topic_count[topic[:, None], brokers] > solution.bands.topic_most(topic[:, None], brokers)
        priority = priority + np.where(crowded & (brokers >= 0), 1.0, 0.0)
    in_crowd = shares_rack(solution.rack[brokers])
    best = np.where(in_crowd, priority, -2.0).argmax(1)
    found = in_crowd[np.arange(len(rows)), best]
    solution.lift(rows[found], best[found], MoveCause.RACK)


def lift_for_topics(solution: Solution) -> bool:
    """Lift replicas of topics of which a broker holds too many.

    Of all topics of a broker, the replicas nearest to one size are taken. That size is chosen so that they add up in
    proportion to what the broker has to shed, or to as little as possible if it has nothing to shed. If the copies of a
    partition differ in size, those that a linear program would move first are taken instead. Replicas that were lifted
    before and found no other place are left alone.

    Returns
    -------
    bool
        Whether any was lifted.
    """
    surplus = _SurplusReplicas(solution)
    if not len(surplus):
        return False
    if solution.guidance is not None:
        chosen = surplus.cheapest(solution.guidance.price * np.maximum(solution.problem.arriving_bytes, 1)[:, None])
    else:
        number = surplus.to_lose
        fraction = number / np.maximum(np.maximum(solution.count - solution.bands.high_count, number), 1)
        chosen = surplus.fitting(np.maximum(solution.used - solution.bands.high_bytes, 0) * fraction, number)
    solution.lift(chosen // solution.width, chosen % solution.width, MoveCause.TOPIC)
    return bool(len(chosen))


class _SurplusReplicas:
    """Replicas of (topic, broker) pairs that hold too many, of which each pair has to lose a number."""

    def __init__(self, solution: Solution) -> None:
        problem = solution.problem
        cells, surplus = _crowded(solution)
        p, k = cells // solution.width, cells % solution.width
        broker = solution.placement[p, k]
        pair = problem.topic[p].astype(np.int64) * problem.n_brokers + broker
        order = np.lexsort((cells, pair))
        self.cells, self.pair, self.broker = cells[order], pair[order], broker[order]
        self.bytes: I64 = problem.held_bytes[p, k][order]
        self.quota: I64 = surplus[order]
        first = np.searchsorted(self.pair, self.pair)
        self.number: I64 = np.cumsum(first == np.arange(len(first))) - 1
        """Number of each replica's pair, from 0."""
        self.rank: I64 = np.arange(len(pair)) - first
        lose = np.where(self.rank == 0, np.minimum(self.quota, np.bincount(first, minlength=len(first))[first]), 0)
        self.to_lose: I64 = np.bincount(self.broker, lose, problem.n_brokers).astype(np.int64)

    def __len__(self) -> int:
        return len(self.cells)

    def fitting(self, to_shed: F64, number: I64) -> I64:
        """Cells to take so that each broker sheds about as many bytes as it has to."""
        wanted = to_shed / np.maximum(number, 1)
        best = np.full(len(to_shed), np.inf)
        best_wanted = wanted.copy()
        for _ in range(_SIZES_TRIED):
            shed = np.bincount(self.broker, np.where(self._nearest(wanted), self.bytes, 0), len(to_shed))
            miss = np.where(shed > to_shed, 2.0 * (shed - to_shed), to_shed - shed)
            better = miss < best
            best[better], best_wanted[better] = miss[better], wanted[better]
            wanted = wanted * np.clip(to_shed / np.maximum(shed, 1), 0.5, 2.0)
        return self.cells[self._nearest(best_wanted)]

    def cheapest(self, price: F64) -> I64:
        """Cells to take by the price of their moves."""
        return self.cells[self._least(price.reshape(-1)[self.cells])]

    def _nearest(self, wanted: F64) -> Bools:
        """The replicas of each pair nearest to the size that its broker should shed."""
        return self._least(np.abs(self.bytes - wanted[self.broker]))

    def _least(self, misfit: F64) -> Bools:
        """As many replicas of each pair as it has to lose, those of the least misfit."""
        order = stable_order(misfit)
        order = order[by_group(self.number[order])]
        taken = np.empty(len(order), np.bool_)
        taken[order] = self.rank < self.quota[order]
        return taken


def _crowded(solution: Solution) -> tuple[I64, I64]:
    """Cells of positions that may leave a (topic, broker) pair which holds too many, and by how many it does."""
    problem = solution.problem
    if solution.topic_count is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    free = (solution.placement >= 0) & (solution.why != MoveCause.TOPIC) & problem.movable_positions
    p, k = np.nonzero(free)
    broker, topic = solution.placement[p, k], problem.topic[p]
    surplus = (solution.topic_count[topic, broker] - solution.bands.topic_most(topic, broker)).astype(np.int64)
    over = (surplus > 0) & problem.counted[broker]
    return p[over] * solution.width + k[over], surplus[over]


def _fullness(solution: Solution) -> F64:
    """Bytes relative to the fair share; brokers without a fair share count as empty."""
    rows = solution.problem.weighed
    return np.where(rows & (solution.used[rows].sum() > 0), solution.due.byte_shares(solution.used, rows), 0.0)
