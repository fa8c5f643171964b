"""Sends replicas back while others make room, on any brokers.

A replica ``r`` that moved from ``b`` to ``c`` can return if ``b`` has room and ``c`` can spare it. Otherwise replicas
``S`` make room on ``b`` and go to any brokers that have some, and replicas ``T`` come to ``c`` from any brokers that
can spare them. Either move is free if the replica has moved already, and saves bytes if it returns home. If ``b`` would
hold too many replicas of a topic, one of ``S`` is of that topic.

::

    repeat
        of each broker:  the replicas that may leave it, and those that may come to it, by their bytes
        of each r that moved:
            S = the cheapest found that are large enough to make room for it; none where there is room
            T = the cheapest found that are large enough to make up for it; none where it can be spared
        those that save most first, until many in turn are refused: apply r with S and T where every broker then is
            inside its bands
    until a round saves little
    a few times, unless the placement is close to the bound: one such round in which bytes on a broker count by its
        potential too, so that room and spare bytes come to where they are worth most; then rounds as before, which make
        use of them; the best placement is kept

A replica that returns may take the place of any other moved replica of its partition: new copies are alike. In rounds
by potentials it may also take the place of one that had stayed, and any replica may begin a chain by going to the
broker where taking its bytes away is worth least.

Source: ejection chains (M. Yagiura, T. Ibaraki, F. Glover, An Ejection Chain Approach for the Generalized Assignment
Problem, INFORMS J. Computing 16, 2004), here with a few moves at either end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.grouped_array_operations import any_of_row, sorted_distinct
from kafkabal.planner.search.iterated_search import CLOSE
from kafkabal.planner.search.solution import Guidance, Solution

_MOST_ROUNDS = 12
"""A limit: of 90 runs in 72 plans of clusters of 6 to 12 brokers with unequal followers, 65 ended after one round, 22
after at most four, and only three here."""
_LEAST_SAVING = 1e-4
"""Fraction of the bytes moved; a round that saves less is not followed by another."""
_HIGHEST_PRICE = 0.3
"""Highest price per byte copied at which a replica that has not moved is tried: of two plans of 12 brokers by all
scores one is the same without this limit, the other moves 0.04% more."""
_MOST_TURNS = 3
"""Of 12 brokers in four racks (two seeds) and heavy seed 4 with followers that differ by 30%, by all scores: with none
four of six plans move up to 1.4% more and one 0.1% less, in half the time; with 23 they move 0.2% less to 0.3%
more, in up to twice the time."""
_LEAST_GAIN = 1e-3
"""Fraction of a chain's bytes, by the potentials: with 0.05 and 0.2 the same plans move 0.4% less to 0.3% more."""
_MOST_TOGETHER = 10
"""Replicas at one end of a chain: with 6 plans of two heavy clusters by all scores at 2% move 0.5% more, with 16 the
same; with 1 twelve brokers in four racks take 1.012 x the linear program, nearly all of it in eight partitions."""
_RATES_TRIED = 48
"""How many of the cheapest per byte are considered: some are taken, or belong to a partition that moves already."""
_MOST_FAILURES = 500
"""Chains refused in a row that end a round: of 12 plans of six clusters all are within 1.009 x the bound, with 1000 one
is at 1.012; with 200 some are beyond 1.01."""
_NEVER = 2.0**60
"""More bytes than any cluster has."""


class _Replicas:
    """Replicas that may leave a broker, or come to it, by their bytes there; a *row* is one of them."""

    def __init__(self, may: Bools, bytes_: I64, cost: I64 | F64, p: I64, k: I64, target: I64) -> None:
        rows = np.flatnonzero(may)
        rows = rows[np.lexsort((cost[rows], bytes_[rows]))]
        self.bytes, self.cost = bytes_[rows], cost[rows]
        """Bytes of each replica there, and bytes that the plan then moves in addition."""
        least = np.minimum.accumulate(self.cost[::-1])[::-1]
        at = np.flatnonzero(self.cost == least)
        end = len(rows)
        self._cheapest: I64 = np.append(np.append(at, end)[np.searchsorted(at, np.arange(end))], end)
        """For each row, the row of the cheapest replica that is at least as large."""
        each = self.cost / np.maximum(self.bytes, 1)
        self._by_rate: I64 = np.argsort(each, kind="stable")
        self._lowest_rate: F64 = np.append(np.minimum.accumulate(each[::-1])[::-1], _NEVER)
        """For each row, the lowest cost per byte of any replica that is at least as large."""
        self.p, self._k, self._target = p[rows], k[rows], target[rows]
        # single entries are read a hundred times as often as columns are searched
        self._p_list, self._bytes_list, self._cost_list = self.p.tolist(), self.bytes.tolist(), self.cost.tolist()
        self._cheapest_list: list[int] = self._cheapest.tolist()
        self._taken: set[int] = set()

    def costs(self, least: I64) -> F64:
        """A lower bound on the cost of finding this many bytes; prohibitive if there are not that many."""
        one = np.append(self.cost, _NEVER)[self._cheapest[np.searchsorted(self.bytes, least)]]
        several = self._lowest_rate[np.searchsorted(self.bytes, least / _MOST_TOGETHER)] * np.maximum(least, 1)
        return np.asarray(np.minimum(one, several))

    def costs_of_topics(self, topic: I32) -> F64:
        """A lower bound on the cost of finding a replica of each topic."""
        least = np.full(int(topic.max(initial=0)) + 1, _NEVER)
        np.minimum.at(least, topic[self.p], self.cost)
        return least

    def of_topic(self, topic: I32, wanted: int, barred: int) -> int:
        """Row of the cheapest replica of a topic that is not taken yet; -1 if there is none."""
        rows = np.flatnonzero(topic[self.p] == wanted)
        rows = rows[np.argsort(self.cost[rows], kind="stable")].tolist()
        return next((row for row in rows if row not in self._taken and int(self.p[row]) != barred), NONE)

    def find(self, least: int, barred: set[int]) -> list[int]:
        """Rows that together are at least this large, as cheap as can be found; empty if there are none.

        Parameters
        ----------
        barred
            Partitions that move already.
        """
        best: list[int] = []
        chosen: list[int] = []
        lowest, cost, left = float(_NEVER), 0.0, least
        partitions = set(barred)
        rates = self._of_lowest_rate(least, partitions)
        for _ in range(_MOST_TOGETHER):
            last = self._single(left, partitions)
            if last != NONE and cost + self._cost_list[last] < lowest:
                best, lowest = [*chosen, last], cost + self._cost_list[last]
            row = next(rates, NONE) if left > 0 else NONE
            if row == NONE or cost + self._cost_list[row] >= lowest:
                break
            chosen.append(row)
            partitions.add(self._p_list[row])
            cost, left = cost + self._cost_list[row], left - self._bytes_list[row]
            if left <= 0:
                return chosen
        return best

    def _of_lowest_rate(self, least: int, partitions: set[int]) -> Iterator[int]:
        """Rows that are large enough, cheapest per byte first."""
        large = self.bytes[self._by_rate] >= least / _MOST_TOGETHER
        for row in self._by_rate[large][:_RATES_TRIED].tolist():
            if row not in self._taken and self._p_list[row] not in partitions:
                yield row

    def _single(self, least: int, partitions: set[int]) -> int:
        """Row of the cheapest replica that is at least this large and not taken yet; -1 if there is none."""
        row = self._cheapest_list[bisect_left(self._bytes_list, least)]
        while row < len(self._p_list) and (row in self._taken or self._p_list[row] in partitions):
            row = self._cheapest_list[row + 1]
        return row if row < len(self._p_list) else NONE

    def take(self, rows: list[int]) -> None:
        """Do not return these rows again."""
        self._taken.update(rows)

    def moves(self, rows: list[int]) -> list[_Move]:
        """The moves of these rows."""
        return [_Move(int(self.p[row]), int(self._k[row]), int(self._target[row])) for row in rows]


class _Move(NamedTuple):
    """A position and where it goes."""

    p: int
    k: int
    target: int


def return_by_chains(solution: Solution, guidance: Guidance, narrowed: float) -> Solution:
    """A cheaper placement than one inside its bands; it stays inside, except for changes of the total."""
    _save_bytes(solution, guidance, narrowed)
    best, moved = solution.copy(), solution.moved_bytes()
    for _ in range(_MOST_TURNS):
        if moved <= guidance.bound * CLOSE:
            break
        _round(solution, guidance, _worth_of_bytes(solution, guidance))
        _save_bytes(solution, guidance, narrowed)
        if solution.moved_bytes() < moved:
            best, moved = solution.copy(), solution.moved_bytes()
    return best


def _save_bytes(solution: Solution, guidance: Guidance, narrowed: float) -> None:
    """Apply chains that save bytes, until a round saves little."""
    nothing = np.zeros(solution.problem.n_brokers)
    for _ in range(_MOST_ROUNDS):
        solution.refresh_bands(narrowed)
        if _round(solution, guidance, nothing) < solution.moved_bytes() * _LEAST_SAVING:
            break


def _round(solution: Solution, guidance: Guidance, value: F64) -> int:
    """Apply the best chains; returns the bytes that they save.

    Parameters
    ----------
    value
        shape (n_brokers,): value of one byte less on each broker, in addition to the bytes moved.
    """
    problem, bands = solution.problem, solution.bands
    roots = _roots(solution, value)
    p, target, current = roots.p, roots.target, roots.current
    loads, given_up = solution.load(p, roots.k, target), solution.load(p, roots.other, current)
    worth = (solution.moved() | (solution.stays() & (guidance.price <= _HIGHEST_PRICE))) & problem.movable_positions
    room = np.where(solution.count < bands.high_count, bands.high_bytes - solution.used, -1)
    spare = np.where(solution.count > bands.low_count, solution.used - bands.low_bytes, -1)
    arriving = problem.arriving_bytes[p]
    saving = arriving * (problem.previous[p, roots.k] == target) - arriving * (
        problem.previous[p, roots.other] == current
    )
    saving = saving - value[target] * loads + value[current] * given_up
    leaving = {
        b: _leaving(solution, b, problem.movable_positions, room, value) for b in sorted_distinct(target).tolist()
    }
    crowds = ~solution.topics_allow(p, target)
    for b, others in leaving.items():
        rows = np.flatnonzero((target == b) & (crowds | (loads > room[b])))
        needed = others.costs(loads[rows] - bands.high_bytes[b] + solution.used[b])
        by_topic = others.costs_of_topics(problem.topic)[problem.topic[p[rows]]]
        needed = np.where(loads[rows] > room[b], needed, -_NEVER)
        saving[rows] -= np.maximum(needed, np.where(crowds[rows], by_topic, -_NEVER))
    coming = {c: _coming(solution, c, worth, spare, value) for c in sorted_distinct(current[saving > 0]).tolist()}
    for c, others in coming.items():
        rows = np.flatnonzero((current == c) & (given_up > spare[c]))
        saving[rows] -= others.costs(given_up[rows] - solution.used[c] + bands.low_bytes[c])
    order = np.argsort(-saving, kind="stable")
    chains = _Chains(solution, value, leaving, coming)
    for root in order[saving[order] > 0].tolist():
        chains.try_root(*(int(column[root]) for column in roots))
        if chains.failures >= _MOST_FAILURES:
            break
    return chains.saved


class _Roots(NamedTuple):
    """Positions that have moved, and alternative brokers for them, one entry each."""

    p: I64
    k: I64
    target: I64
    other: I64
    """Position that goes to where the first one was; the same position if its broker then holds no copy."""
    current: I64
    """Broker that then holds no copy: the one of the other position."""


def _roots(solution: Solution, value: F64) -> _Roots:
    """Moved replicas that may return, or go where their bytes are worth most.

    Any replica of the partition may be given up for one that returns: another moved one, since new copies are alike, or
    one that was there before and then gets a copy where the other one was.
    """
    problem = solution.problem
    free = solution.moved() & (problem.previous >= 0) & problem.movable_positions & problem.size_known[:, None]
    alike = free & (solution.why < MoveCause.RACK)
    there = solution.stays() & problem.movable_positions & ~problem.lost & problem.size_known[:, None]
    given_up = (alike | there) if value.any() else alike
    own = free[:, :, None] & np.eye(solution.width, dtype=np.bool_)
    p, k, other = np.nonzero(own | (alike[:, :, None] & given_up[:, None, :]))
    back = solution.may_return(p, k, other)
    p, k, other = p[back], k[back], other[back]
    home = problem.previous[p, k].astype(np.int64)
    returns = _Roots(p, k, home, other, solution.placement[p, other].astype(np.int64))
    if not value.any():
        return returns
    return _Roots(*map(np.concatenate, zip(returns, _to_cheapest_broker(solution, free | there, value), strict=True)))


def _to_cheapest_broker(solution: Solution, free: Bools, value: F64) -> _Roots:
    """Replicas that gain from another broker, each with the one where taking its bytes away is worth least."""
    problem = solution.problem
    p, k = np.nonzero(free)
    current = solution.placement[p, k].astype(np.int64)
    size = problem.arriving_bytes[p]
    worth = value[current] * solution.load(p, k, current) - size * (problem.previous[p, k] == current)
    may_gain = size * value.min() < worth
    p, k, current, size, worth = p[may_gain], k[may_gain], current[may_gain], size[may_gain], worth[may_gain]
    may = solution.may_go_anywhere(p, k, crowding=True)
    may[np.arange(len(p)), problem.previous[p, k]] = False
    order = np.argsort(value, kind="stable")
    target = order[may[:, order].argmax(1)]
    gains = may[np.arange(len(p)), target] & (value[target] * size < worth)
    return _Roots(p[gains], k[gains], target[gains], k[gains], current[gains])


class _Chains:
    """Tries roots with replicas left by earlier chains; loads are plain numbers, since nearly all roots are refused."""

    def __init__(
        self, solution: Solution, value: F64, leaving: Mapping[int, _Replicas], coming: Mapping[int, _Replicas]
    ) -> None:
        problem, bands = solution.problem, solution.bands
        self.solution, self.leaving, self.coming = solution, leaving, coming
        self.saved, self.failures = 0, 0
        self.value: list[float] = value.tolist()
        self.least_gain = _LEAST_GAIN if value.any() else 0.0
        self.used, self.count = solution.used.tolist(), solution.count.tolist()
        self.low, self.high = bands.low_bytes.tolist(), bands.high_bytes.tolist()
        self.low_count: list[int] = bands.low_count.tolist()
        self.high_count = np.minimum(bands.high_count, problem.limit_replicas).tolist()
        self.limit, self.counted = problem.limit_bytes.tolist(), problem.counted.tolist()

    def try_root(self, p: int, k: int, target: int, other: int, current: int) -> None:
        """Apply a chain that begins with a root if that gains."""
        solution, problem = self.solution, self.solution.problem
        if solution.placement.item(p, other) != current or solution.placement.item(p, k) == target:
            return
        self.failures += 1
        arriving, previous = problem.arriving_bytes.item(p), problem.previous
        load = problem.held_bytes.item(p, k) if previous.item(p, k) == target else arriving
        given_up = problem.held_bytes.item(p, other) if previous.item(p, other) == current else arriving
        away = self._that_leave(p, target, self.used[target] + load - self.high[target])
        back = self._that_come(p, current, self.low[current] - self.used[current] + given_up)
        if away is None or back is None:
            return
        root = [_Move(p, k, target)]
        if other != k:
            root.append(_Move(p, other, solution.placement.item(p, k)))
        further = [
            (some[b], rows) for some, b, rows in ((self.leaving, target, away), (self.coming, current, back)) if rows
        ]
        if self._apply(root, [move for some, rows in further for move in some.moves(rows)]):
            self.failures = 0
            for some, rows in further:
                some.take(rows)

    def _that_leave(self, p: int, target: int, over: int) -> list[int] | None:
        """Rows of replicas that make room for a replica on its target; None if nothing can."""
        solution, others = self.solution, self.leaving[target]
        topic, rows, left = solution.problem.topic, [], over
        if not solution.topics_allow(np.array([p]), np.array([target]))[0]:
            first = others.of_topic(topic, topic.item(p), p)
            if first == NONE:
                return None
            rows, left = [first], over - int(others.bytes[first])
            if left <= 0:
                return rows
        if left > 0 or (not rows and self.count[target] >= self.high_count[target]):
            more = others.find(left, {p, *others.p[rows].tolist()})
            return [*rows, *more] if more else None
        return rows

    def _that_come(self, p: int, current: int, lack: int) -> list[int] | None:
        """Rows of replicas that replace a replica on the broker that it leaves; None if nothing can."""
        if lack > 0 or self.count[current] <= self.low_count[current]:
            return self.coming[current].find(lack, {p}) or None
        return []

    def _apply(self, root: list[_Move], further: list[_Move]) -> bool:
        """Apply a chain if it gains and keeps all bands and rules; rules are known to allow its root by itself."""
        chain = [*root, *further]
        if len({move.p for move in chain}) < len(further) + 1:
            return False
        change, number, saved, moved = self._changes(chain)
        gain = saved - sum(self.value[b] * more for b, more in change.items())
        if gain <= self.least_gain * moved or not all(self._fits(b, more, number[b]) for b, more in change.items()):
            return False
        p, k, target = np.array(chain, np.int64).T
        if not self._topics_fit(p, self.solution.placement[p, k], target):
            return False
        if not self._rules_allow(p, k, target, len(root)):
            return False
        self.solution.move(p, k, target)
        self.saved += saved
        for b, more in change.items():
            self.used[b] += more
            self.count[b] += number[b]
        return True

    def _rules_allow(self, p: I64, k: I64, target: I64, root: int) -> bool:
        """Whether all rules except those of topics allow a chain that begins with its root."""
        solution = self.solution
        if root > 1:
            # two of a partition at once: the first returns, and the second goes to the broker that the first leaves
            allowed = bool(solution.may_return(p[:1], k[:1], k[1:2])[0])
            return allowed and bool(solution.rules_allow(p[root:], k[root:], target[root:]).all())
        return bool(solution.rules_allow(p, k, target).all())

    def _topics_fit(self, p: I64, current: I32, target: I64) -> bool:
        """Whether no broker then holds too many replicas of a topic."""
        topic = self.solution.problem.topic[p]
        same = topic[:, None] == topic
        leave = (same & (target[:, None] == current)).sum(1)
        arrive = (same & (target[:, None] == target)).sum(1)
        return bool(self.solution.topics_allow(p, target, leave - arrive + 1).all())

    def _changes(self, chain: list[_Move]) -> tuple[dict[int, int], dict[int, int], int, int]:
        """Bytes and replicas that come to each broker, bytes that need no longer move, and bytes of the chain."""
        problem, placement = self.solution.problem, self.solution.placement
        change: dict[int, int] = defaultdict(int)
        number: dict[int, int] = defaultdict(int)
        saved = moved = 0
        for p, k, target in chain:
            current, previous = placement.item(p, k), problem.previous.item(p, k)
            arriving, held = problem.arriving_bytes.item(p), problem.held_bytes.item(p, k)
            change[current] -= held if current == previous else arriving
            change[target] += held if target == previous else arriving
            number[current] -= 1
            number[target] += 1
            saved += arriving * ((previous != current) - (previous != target))
            moved += arriving
        return change, number, saved, moved

    def _fits(self, broker: int, more: int, number: int) -> bool:
        """Whether a broker stays inside its bands and limits."""
        if not self.counted[broker]:
            return True
        used, count = self.used[broker], self.count[broker] + number
        # a broker that is slightly outside by now, because the total has changed, may stay so
        inside = min(self.low[broker], used) <= used + more <= min(max(self.high[broker], used), self.limit[broker])
        return bool(inside and self.low_count[broker] <= count <= self.high_count[broker])


def _worth_of_bytes(solution: Solution, guidance: Guidance) -> F64:
    """float64, shape (n_brokers,): bytes that need not move per byte less on a broker, by the potentials."""
    rows, bands = solution.problem.weighed, solution.bands
    potential = np.where(rows, guidance.potential, 0.0)
    edge = np.where(potential > 0, bands.high_bytes, bands.low_bytes)
    # all edges follow the total, which a copy of another size changes
    return np.where(rows, potential - (potential * edge)[rows].sum() / max(1, int(solution.used[rows].sum())), 0.0)


def _leaving(solution: Solution, b: int, worth: Bools, room: I64, value: F64) -> _Replicas:
    """Replicas on a broker for which another broker has room."""
    problem = solution.problem
    p, k = np.nonzero((solution.placement == b) & worth)
    arriving = problem.arriving_bytes[p]
    cost = np.where(problem.previous[p, k] == b, arriving, 0)
    elsewhere = np.where(np.arange(len(room)) == b, -1, room)
    may = (arriving[:, None] <= elsewhere) & solution.may_go_anywhere(p, k)
    # among equals, the broker with most room
    order = np.lexsort((-elsewhere, value))
    target = order[may[:, order].argmax(1)]
    load = solution.load(p, k, np.full(len(p), b))
    cost = cost - value[b] * load + value[target] * solution.load(p, k, target)
    return _Replicas(any_of_row(may), load, cost, p, k, target)


def _coming(solution: Solution, c: int, worth: Bools, spare: I64, value: F64) -> _Replicas:
    """Replicas that may come to a broker, and that their own can spare."""
    problem = solution.problem
    elsewhere = np.where(np.arange(len(spare)) == c, -1, spare)
    p, k = np.nonzero(worth & (elsewhere > 0)[solution.placement])
    donor = solution.placement[p, k].astype(np.int64)
    fits = solution.load(p, k, donor) <= elsewhere[donor]
    p, k, donor = p[fits], k[fits], donor[fits]
    arriving = problem.arriving_bytes[p]
    cost = np.where(problem.previous[p, k] == donor, arriving, 0) - np.where(problem.previous[p, k] == c, arriving, 0)
    target = np.full(len(p), c)
    cost = cost - value[donor] * solution.load(p, k, donor) + value[c] * solution.load(p, k, target)
    return _Replicas(solution.may_go(p, k, target), solution.load(p, k, target), cost, p, k, target)
