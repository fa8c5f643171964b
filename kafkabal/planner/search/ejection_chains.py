"""Where copies of a partition differ in size: send replicas back for which others make room, on any brokers.

A replica ``r`` that moved from ``b`` to ``c`` can return if ``b`` has room and ``c`` can spare it. Where they do not,
a replica ``s`` makes room on ``b`` and goes to any broker that has some, and a replica ``t`` comes to ``c`` from any
broker that can spare it. Either costs nothing where it has moved already, and less than nothing where it comes home.

::

    repeat
        of each broker:  the replicas that may leave it, and those that may come to it, by their bytes
        of each r that moved:
            s = the cheapest that is large enough to make room for it; none where there is room
            t = the cheapest that is large enough to make up for it; none where it can be spared
        those that save most first: apply r with s and t where every broker then is inside its bands
    until a round saves little
    a few times: one such round in which bytes on a broker count by its potential too, so that room and spare bytes come
        to where they are worth most; then rounds as before, which make use of them; the best placement is kept

Source: ejection chains (M. Yagiura, T. Ibaraki, F. Glover, An Ejection Chain Approach for the Generalized Assignment
Problem, INFORMS J. Computing 16, 2004), here with a return as the root and one move at either end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.grouped_array_operations import any_of_row, sorted_distinct
from kafkabal.planner.search.solution import Guidance, Solution

_MOST_ROUNDS = 12
"""An end: of 90 runs in 72 plans of clusters of 6 to 12 brokers with unequal followers 65 ended after one round, 22
after at most four, and three only here."""
_LEAST_SAVING = 1e-4
"""Of the bytes moved, below which another round is not worth its time."""
_DEAREST = 0.3
"""Price, for each byte copied, up to which a replica that has not moved is tried: of two plans of 12 brokers by all
scores one is the same without this limit, the other moves 0.04 % more."""
_MOST_TURNS = 3
"""Of 12 brokers in four racks (two seeds) and heavy seed 4 with followers that differ by 30 %, by all scores: with none
four of six plans move up to 1.4 % more and one 0.1 % less, in half the time; with 23 they move 0.2 % less to 0.3 %
more, in up to twice the time."""
_LEAST_GAIN = 1e-3
"""Of the bytes of a chain, by the potentials: with 0.05 and 0.2 the same plans move 0.4 % less to 0.3 % more."""
_NEVER = 2.0**60
"""More bytes than any cluster has."""


class _Replicas:
    """Replicas that may leave a broker, or come to it, by their bytes there; a *row* is one of them."""

    def __init__(self, may: Bools, bytes_: I64, cost: I64, p: I64, k: I64, target: I64) -> None:
        rows = np.flatnonzero(may)
        rows = rows[np.lexsort((cost[rows], bytes_[rows]))]
        self.bytes, self.cost = bytes_[rows], cost[rows]
        """What each holds there, and what the plan then moves more."""
        least = np.minimum.accumulate(self.cost[::-1])[::-1]
        at = np.flatnonzero(self.cost == least)
        end = len(rows)
        self._cheapest: I64 = np.append(np.append(at, end)[np.searchsorted(at, np.arange(end))], end)
        """Of each and all larger ones the row of the cheapest."""
        self._moves = p[rows], k[rows], target[rows]
        self._taken: set[int] = set()

    def costs(self, least: I64) -> I64:
        """Cost of the cheapest that is at least so large; more than any where there is none."""
        return np.append(self.cost, _NEVER)[self._cheapest[np.searchsorted(self.bytes, least)]]

    def find(self, least: int) -> int:
        """Row of the cheapest that is at least so large and not taken yet; -1 where there is none."""
        row = int(self._cheapest[np.searchsorted(self.bytes, least)])
        while row in self._taken:
            row = int(self._cheapest[row + 1])
        return row if row < len(self.bytes) else NONE

    def take(self, row: int) -> None:
        """Do not find a row again."""
        self._taken.add(row)

    def move(self, row: int) -> _Move:
        """What a row does."""
        p, k, target = self._moves
        return _Move(int(p[row]), int(k[row]), int(target[row]))


class _Move(NamedTuple):
    """A position and where it goes."""

    p: int
    k: int
    target: int


def return_by_chains(solution: Solution, guidance: Guidance, narrowed: float) -> Solution:
    """A cheaper placement than one that is inside its bands; it stays so but for what the total changes."""
    _save_bytes(solution, guidance, narrowed)
    best, moved = solution.copy(), solution.moved_bytes()
    for _ in range(_MOST_TURNS):
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
        shape (n_brokers,): what a byte less on each broker counts beside those that are moved.
    """
    problem, bands = solution.problem, solution.bands
    p, k = _may_return(solution)
    home, away = problem.previous[p, k].astype(np.int64), solution.placement[p, k].astype(np.int64)
    cost, held = problem.arriving_bytes[p], problem.held_bytes[p, k]
    worth = (solution.moved() | (solution.stays() & (guidance.price <= _DEAREST))) & problem.loose
    room = np.where(solution.count < bands.high_count, bands.high_bytes - solution.used, -1)
    spare = np.where(solution.count > bands.low_count, solution.used - bands.low_bytes, -1)
    saving = cost - value[home] * held + value[away] * cost
    leaving = {b: _leaving(solution, b, worth, room, value) for b in sorted_distinct(home).tolist()}
    for b, others in leaving.items():
        rows = np.flatnonzero((home == b) & (held > room[b]))
        saving[rows] -= others.costs(held[rows] - bands.high_bytes[b] + solution.used[b])
    coming = {c: _coming(solution, c, worth, spare, value) for c in sorted_distinct(away[saving > 0]).tolist()}
    for c, others in coming.items():
        rows = np.flatnonzero((away == c) & (cost > spare[c]))
        saving[rows] -= others.costs(cost[rows] - solution.used[c] + bands.low_bytes[c])
    order = np.argsort(-saving, kind="stable")
    best = order[saving[order] > 0].tolist()
    return sum(
        _return(solution, int(p[i]), int(k[i]), leaving[int(home[i])], coming[int(away[i])], value) for i in best
    )


def _may_return(solution: Solution) -> tuple[I64, I64]:
    """Positions that have moved, and that the rules let go back."""
    problem = solution.problem
    p, k = np.nonzero(solution.moved() & (problem.previous >= 0) & problem.loose & problem.size_known[:, None])
    previous = problem.previous[p, k]
    may = ~problem.leaves[previous] & solution.may_go(p, k, previous)
    return p[may], k[may]


def _return(solution: Solution, p: int, k: int, leaving: _Replicas, coming: _Replicas, value: F64) -> int:
    """Send a replica back, with those that this takes by now; returns the bytes saved, 0 where it cannot be."""
    problem, bands = solution.problem, solution.bands
    home, away = int(problem.previous[p, k]), int(solution.placement[p, k])
    over = int(solution.used[home] + problem.held_bytes[p, k] - bands.high_bytes[home])
    lack = int(bands.low_bytes[away] - solution.used[away] + problem.arriving_bytes[p])
    further = []
    if over > 0 or solution.count[home] >= bands.high_count[home]:
        further.append((leaving, leaving.find(over)))
    if lack > 0 or solution.count[away] <= bands.low_count[away]:
        further.append((coming, coming.find(lack)))
    if any(row == NONE for _, row in further):
        return 0
    saved = _try(solution, [_Move(p, k, home), *(others.move(row) for others, row in further)], value)
    if saved is not None:
        for others, row in further:
            others.take(row)
    return saved or 0


def _worth_of_bytes(solution: Solution, guidance: Guidance) -> F64:
    """float64, shape (n_brokers,): bytes that need not move if a broker holds a byte less, by the potentials."""
    rows, bands = solution.problem.weighed, solution.bands
    potential = np.where(rows, guidance.potential, 0.0)
    edge = np.where(potential > 0, bands.high_bytes, bands.low_bytes)
    # all edges follow the total, which a copy of another size changes
    return np.where(rows, potential - (potential * edge)[rows].sum() / max(1, int(solution.used[rows].sum())), 0.0)


def _try(solution: Solution, chain: list[_Move], value: F64) -> int | None:
    """Apply a chain if it gains and keeps all bands and rules; returns the bytes saved, None if it is not applied."""
    if len({move.p for move in chain}) < len(chain):
        return None
    problem, bands = solution.problem, solution.bands
    p, k, target = np.array(chain, np.int64).T
    current = solution.placement[p, k].astype(np.int64)
    previous, arriving = problem.previous[p, k], problem.arriving_bytes[p]
    saved = int((arriving * (previous != current)).sum() - (arriving * (previous != target)).sum())
    if (current == target).any():
        return None
    used, count = solution.used.copy(), solution.count.copy()
    np.subtract.at(used, current, solution.load(p, k, current))
    np.add.at(used, target, solution.load(p, k, target))
    np.subtract.at(count, current, 1)
    np.add.at(count, target, 1)
    gain = saved - float((value * (used - solution.used)).sum())
    if gain <= (_LEAST_GAIN * float(arriving.sum()) if value.any() else 0.0):
        return None
    rows = np.unique(np.concatenate((current, target)))
    rows = rows[problem.counted[rows]]
    # who is a little outside by now, since the total has changed, may stay so
    fits = (used <= np.maximum(bands.high_bytes, solution.used)) & (used >= np.minimum(bands.low_bytes, solution.used))
    fits &= (count <= bands.high_count) & (count >= bands.low_count)
    fits &= (used <= problem.limit_bytes) & (count <= problem.limit_replicas)
    pair = problem.topic[p].astype(np.int64) * problem.n_brokers + target
    if not fits[rows].all() or len(set(pair.tolist())) < len(pair) or not solution.may_go(p, k, target).all():
        return None
    solution.move(p, k, target)
    return saved


def _leaving(solution: Solution, b: int, worth: Bools, room: I64, value: F64) -> _Replicas:
    """Replicas on a broker that another one has room for."""
    problem = solution.problem
    p, k = np.nonzero((solution.placement == b) & worth)
    arriving = problem.arriving_bytes[p]
    cost = np.where(problem.previous[p, k] == b, arriving, 0)
    elsewhere = np.where(np.arange(len(room)) == b, -1, room)
    may = (arriving[:, None] <= elsewhere) & solution.may_go_anywhere(p, k)
    # of equals the one that has most room
    order = np.lexsort((-elsewhere, value))
    target = order[may[:, order].argmax(1)]
    load = solution.load(p, k, np.full(len(p), b))
    cost = cost - value[b] * load + value[target] * solution.load(p, k, target)
    return _Replicas(any_of_row(may), load, cost, p, k, target)


def _coming(solution: Solution, c: int, worth: Bools, spare: I64, value: F64) -> _Replicas:
    """Replicas that may come to a broker, and that theirs can spare."""
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
