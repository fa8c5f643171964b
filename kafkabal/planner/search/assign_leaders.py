"""Assign the leader of every partition among its replicas: the counts inside their band, with the fewest changes.

::

    the present leader stays wherever it may; partitions without one go to the candidate that leads least
    repeat: brokers above their band hand partitions back to their preferred leaders, such as a broker that restarted
    repeat: brokers above their band hand partitions over to the candidate that leads least
    repeat: brokers below their band take back partitions of which they are the preferred leaders
    repeat: brokers below their band take over from those that lead most
    what is left: hand on along shortest paths from broker to broker (augmenting paths, see _along_paths)

The greedy rounds do nearly all of the work in time linear in the partitions; the paths make the result exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import I32, I64, Bools, shortest_broker_path
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.search.additional_loads import AdditionalLoads, additional_scores_of
from kafkabal.planner.search.additional_scores import balance_by_leadership
from kafkabal.planner.search.grouped_array_operations import any_of_row, by_group, running_count
from kafkabal.planner.search.leadership import Leadership
from kafkabal.planner.search.solution import Solution

_MOST_ROUNDS = 64
"""A limit that is never reached: a round fills half of the room, and 8 give the same plans."""


def assign_leaders(solution: Solution) -> I32:
    """Assign a leader to every partition.

    Returns
    -------
    int32, shape (n_partitions,)
        Broker that is to lead; the current leader if that does no harm.
    """
    leadership = Leadership(solution)
    _fill_vacancies(leadership)
    # partitions that are only repaired get a leader and keep it: the next plan may not move them
    leadership.free &= solution.problem.rules.movable & ~solution.keeps_dead()
    if solution.problem.options.mode in {Mode.FULL, Mode.LEADERS_ONLY, Mode.ONLY_TO_NEW}:
        bands = solution.bands
        _balance_counts(leadership, bands.low_leaders, bands.high_leaders)
        if not additional_scores_of(solution.problem):
            # an election copies nothing; additional scores may need the width of the band
            _balance_counts(leadership, bands.lowest_fair_leaders, bands.highest_fair_leaders)
        balance_by_leadership(leadership, AdditionalLoads(solution, leadership.leader.copy()))
    return leadership.leader


def _balance_counts(leadership: Leadership, low: I64, high: I64) -> None:
    # preferred leaders first: Kafka elects them within minutes (auto.leader.rebalance.enable), and a broker that was
    # handed others in their place would then lead both
    for candidates in (leadership.preferred, leadership.candidates):
        for _ in range(_MOST_ROUNDS):
            if not _hand_over(leadership, candidates, high, low):
                break
    for candidates in (leadership.preferred, leadership.candidates):
        for _ in range(_MOST_ROUNDS):
            if not _take_over(leadership, candidates, low):
                break
    _along_paths(leadership, low, high)


def _fill_vacancies(leadership: Leadership) -> None:
    vacant = np.flatnonzero((leadership.leader < 0) & leadership.free)
    step = max(1, len(leadership.count) // 2)
    for i in range(0, len(vacant), step):
        p = vacant[i : i + step]
        leadership.change(p, leadership.least_loaded(p, leadership.candidates))


def _hand_over(leadership: Leadership, candidates: I32, high: I64, low: I64) -> int:
    """Hand over from brokers that lead too many to the least loaded of these candidates of each partition."""
    surplus = np.where(leadership.solution.problem.counted, leadership.count - high, 0)
    p = np.flatnonzero((np.append(surplus, 0) > 0)[leadership.leader] & leadership.free & any_of_row(candidates >= 0))
    if not p.size:
        return 0
    return _swap_in(leadership, p, leadership.least_loaded(p, candidates), np.maximum(surplus, 0), high, low)


def _take_over(leadership: Leadership, candidates: I32, low: I64) -> int:
    """Take over for those of these candidates that lead too few, from brokers that can spare leadership."""
    lack = np.where(leadership.solution.problem.counted, low - leadership.count, 0)
    wanting = np.append(lack > 0, False)[candidates]
    spare = np.maximum(leadership.count - low, 0)
    p = np.flatnonzero(any_of_row(wanting) & leadership.free & (spare[leadership.leader] > 0))
    if not p.size:
        return 0
    order = by_group(leadership.count.max() - leadership.count[leadership.leader[p]])
    p = p[order]
    return _swap_in(leadership, p, leadership.least_loaded(p, candidates), spare, low, low)


def _swap_in(leadership: Leadership, p: I64, broker: I32, spare: I64, most: I64, low: I64) -> int:
    """Accept the first proposals, as many as one side can spare and a fraction of the other side's room."""
    room = np.maximum(np.where(leadership.count < low, low, most) - leadership.count, 0)
    quota = np.where(room > 8, room // 2, room)
    order = by_group(leadership.count[broker])
    p, broker = p[order], broker[order]
    good = (leadership.count[broker] < most[broker]) & (broker != leadership.leader[p])
    p, broker = p[good], broker[good]
    good = running_count(broker) < quota[broker]
    p, broker = p[good], broker[good]
    good = running_count(leadership.leader[p]) < spare[leadership.leader[p]]
    p, broker = p[good][: leadership.changes_left], broker[good][: leadership.changes_left]
    leadership.change(p, broker)
    leadership.changes_left -= len(p)
    return len(p)


def _along_paths(leadership: Leadership, low: I64, high: I64) -> None:
    """If no direct exchange is left, hand on leadership from broker to broker along shortest paths.

    ::

        repeat
            give: brokers above the upper edge, else above the lower one; take: those below it, else below the upper one
            find a shortest path from a donor to a receiver over brokers that may hand a partition to the next
            hand on as many along it as both ends and every step allow

    Source: augmenting paths of a flow, shortest first (J. Edmonds and R. M. Karp, J. ACM 19, 1972).
    """
    counted = leadership.solution.problem.counted
    handovers: _Handovers | None = None
    while True:
        over = counted & (leadership.count > high)
        under = counted & (leadership.count < low)
        if not over.any() and not under.any():
            return
        handovers = handovers or _Handovers(leadership)
        ends = _Ends(over, counted & (leadership.count < high), leadership.count - high, high - leadership.count)
        if under.any():
            spare, lack = leadership.count - low, low - leadership.count
            within = _Ends(counted & (spare > 0), under, spare, lack)
            both = _Ends(over, under, leadership.count - high, lack)
            tried = (both, ends, within) if over.any() else (within,)
        else:
            tried = (ends,)
        if not any(handovers.along_shortest_path(each) for each in tried):
            return


class _Ends(NamedTuple):
    """Where paths may begin and end, and how many leaders each broker may give or take there."""

    give: Bools
    take: Bools
    spare: I64
    room: I64


class _Handovers:
    """How many partitions each broker leads that each other one may lead; updated with every change."""

    def __init__(self, leadership: Leadership) -> None:
        self.leadership = leadership
        n = len(leadership.count)
        self.number: I64 = np.zeros((n, n + 1), np.int64)
        """shape (n_brokers, n_brokers + 1): from the leader, to the candidate; the last column stands for none."""
        self._count(np.flatnonzero(leadership.free & (leadership.leader >= 0)), 1)

    def _count(self, p: I64, sign: int) -> None:
        leader, n = self.leadership.leader[p].astype(np.int64), len(self.number)
        for column in range(self.leadership.candidates.shape[1]):
            candidate = self.leadership.candidates[p, column]
            key = leader * (n + 1) + np.where((candidate == leader) | (candidate < 0), n, candidate)
            np.add.at(self.number.reshape(-1), key, sign)

    def along_shortest_path(self, ends: _Ends) -> bool:
        """Hand on leadership from a donor to a receiver; returns whether there was a path."""
        path = shortest_broker_path(self.number[:, :-1] > 0, ends.give, ends.take)
        if not path:
            return False
        most = min(int(ends.spare[path[0][0]]), int(ends.room[path[-1][1]]), *(int(self.number[s]) for s in path))
        most = min(most, self.leadership.changes_left // len(path))
        if most < 1:
            return False
        for old, new in reversed(path):
            self._hand_on(old, new, most)
        return True

    def _hand_on(self, old: int, new: int, number: int) -> None:
        leadership = self.leadership
        p = np.flatnonzero((leadership.leader == old) & leadership.free)
        p = p[(leadership.candidates[p] == new).any(1)][:number]
        self._count(p, -1)
        leadership.change(p, np.full(len(p), new))
        self._count(p, 1)
        leadership.changes_left -= len(p)
