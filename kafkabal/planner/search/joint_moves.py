"""In a small cluster: make a plan cheaper by a few moves at once that only together stay inside all bands.

With a few replicas a broker, sending one back alone overfills its previous broker, and no exchange fits; but further
moves elsewhere may pay for it. All pairs are tried, and chains that begin with the pairs that leave least outside::

    repeat
        for each replica that has moved, the most expensive first:
            send it back (or anywhere where it costs less, or where another replica of its partition was, which then
            counts as the one that stayed)
            look for one further move after which every broker is inside its bands
            else go on from each of those that leave least outside, always with the move that leaves least then
        apply what saves most
    until nothing saves

Source: ejection chains, in which each move repairs what the one before broke (M. Yagiura, T. Ibaraki, F. Glover, An
Ejection Chain Approach for the Generalized Assignment Problem, INFORMS J. Computing 16, 2004).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import fair_shares

MOST_CELLS = 1200
"""Positions up to which all pairs are tried, in some tens of milliseconds; 300 and 4,800 give the same small plans of
benchmarks/planner_constants.py."""
_MOST_STEPS = 60
"""A limit that is never reached: 15 give the same plans of clusters with 6 and 8 brokers."""
_SAVERS = 24
"""How many of the moves that save most are tried as the first: on such clusters 8 do as well in half the time and 72 in
1.7 times; 24 keep what the drawn clusters below need."""
_MANY_CELLS, _FEWER_SAVERS = 240, 12
"""Positions beyond which fewer are tried: of five plans of 260 to 600 positions without copies three move 0.01 to
0.02% more, the others the same, in half the time; with 8 up to 0.2% more."""
_SECOND = 12
"""How many of the moves after the first are followed by others: with 12 plans are within 2.3% of the optimum of 22
drawn clusters, with 24 too, in twice the time."""
_LONGEST = 7
"""Moves of one step: with 3 the small plans of benchmarks/planner_constants.py move 0.02% more, 0.2% at most, in half
the time; with 5 the same in the mean, 0.03% more at most; 10 give the same plans (2026-11)."""
_LEAST_SAVING = 1e-5
"""Fraction of a broker's fair bytes; steps that save less are not worth their time: with 1e-6 the small plans move 0.01
% less, 0.09% at best, in 1.1 times the time; with 1e-4 0.01% more, 0.2% at most (2026-11)."""


class _End(NamedTuple):
    """The source or target broker of each move, one entry each."""

    broker: I64
    change_bytes: I64
    change_number: int
    edges: _Edges


class _Moves(NamedTuple):
    """Every move of one replica that the rules allow, one entry each, those that save most first."""

    p: I64
    k: I64
    returning: I64
    """The position that returns to the target while this one takes its place elsewhere; -1 if this one goes there."""
    rank: I64
    """Order by partition, position and target: decides between moves that are equally good."""
    price: I64
    """Additional bytes to copy (if negative, bytes saved)."""
    topic: I64
    current: _End
    target: _End

    def up_to(self, price: int) -> int:
        """Number of moves that cost no more than this: the first ones."""
        return int(np.searchsorted(self.price, price, side="right"))


class _Loads(NamedTuple):
    """Bytes and replicas of every broker after some moves, and how far they are outside its bands."""

    used: I64
    number: I64
    outside: F64


def move_jointly(solution: Solution, *, third: int = 1) -> None:
    """Apply sets of moves that save bytes; only for placements inside all bands.

    Parameters
    ----------
    third
        How many moves are tried after the first two; later ones always use the move that leaves least outside.
    """
    rows = solution.problem.counted
    fair = float(solution.used[rows].mean()) if rows.any() else 0.0
    least = max(1, int(fair * _LEAST_SAVING))
    savers = _SAVERS if solution.placement.size <= _MANY_CELLS else _FEWER_SAVERS
    for _ in range(_MOST_STEPS):
        edges = _Edges(solution)
        moves = _all_moves(solution, edges)
        step = _Step(edges, moves, savers, third).best(edges.loads(solution.used, solution.count), least)
        if step is None:
            return
        _apply(solution, moves, step)


class _Edges:
    """Bands, and how far loads are outside them: bytes in fair shares, and whole replicas."""

    def __init__(self, solution: Solution) -> None:
        bands, problem = solution.bands, solution.problem
        self.low, self.high = bands.low_bytes, solution.most_bytes()
        self.low_count, self.high_count = bands.low_count, np.minimum(bands.high_count, problem.limit_replicas)
        # a broker that exceeds its limits already must not block a step
        self.high, self.high_count = np.maximum(self.high, self.low), np.maximum(self.high_count, self.low_count)
        self.per_replica: F64 = problem.counted.astype(np.float64)
        """0 on brokers that do not count."""
        self.per_byte = fair_shares(self.per_replica, max(1.0, float(solution.used[problem.counted].mean())))
        self.every = self.end(np.arange(len(self.low)), np.zeros_like(solution.used), 0)

    def end(self, broker: I64, change_bytes: I64, change_number: int) -> _End:
        """The source or the target brokers of moves."""
        return _End(broker, change_bytes, change_number, self)

    def loads(self, used: I64, number: I64) -> _Loads:
        """Loads, with what is outside the bands of every broker."""
        return _Loads(used, number, _outside_after(used, number, self.every, len(used)))


def _outside_after(used: I64, number: I64, end: _End, first: int) -> F64:
    """How far the brokers at one end of the first moves would be outside after each of them."""
    edges, change, broker = end.edges, end.change_bytes[:first], end.broker[:first]
    number = number + end.change_number
    extra = np.maximum(np.maximum(number - edges.high_count, edges.low_count - number), 0) * edges.per_replica
    # brokers are few: their values are computed once and looked up
    over = change - (edges.high - used).take(broker)
    np.maximum(over, (edges.low - used).take(broker) - change, out=over)
    np.maximum(over, 0, out=over)
    return np.asarray(over * edges.per_byte.take(broker) + extra.take(broker))


def _apply(solution: Solution, moves: _Moves, step: I64) -> None:
    """Make moves of different partitions."""
    p, k, returning, target = moves.p[step], moves.k[step], moves.returning[step], moves.target.broker[step]
    goes = returning < 0
    solution.move(p[goes], k[goes], target[goes])
    for row in np.flatnonzero(~goes).tolist():
        one, position, home = p[[row]], k[[row]], returning[[row]]
        place, why = solution.placement[one, home], MoveCause(int(solution.why[one, home][0]))
        solution.move(one, home, target[[row]])
        solution.lift(one, position, why)
        solution.put(one, position, place)


def _all_moves(solution: Solution, edges: _Edges) -> _Moves:
    problem = solution.problem
    p, k = np.nonzero((solution.placement >= 0) & problem.movable_positions)
    cell, target = np.nonzero(solution.may_go_anywhere(p, k))
    other = target != solution.placement[p[cell], k[cell]]
    cell, target = cell[other], target[other]
    taken = _positions_to_take(solution, p, k)
    p, k, returning = (
        np.concatenate(pair)
        for pair in zip((p[cell], k[cell], np.full(len(cell), -1)), (taken.p, taken.k, taken.home), strict=True)
    )
    target = np.concatenate((target, problem.previous[taken.p, taken.home])).astype(np.int64)
    current = solution.placement[p, k].astype(np.int64)
    cost, previous = problem.arriving_bytes[p], problem.previous[p, k]
    price = np.where((target == previous) | (returning >= 0), 0, cost) - np.where(current == previous, 0, cost)
    order = np.argsort(price, kind="stable")
    p, k, returning, current, target = p[order], k[order], returning[order], current[order], target[order]
    return _Moves(
        p=p,
        k=k,
        returning=returning,
        rank=order,
        price=price[order],
        topic=problem.topic[p].astype(np.int64),
        current=edges.end(current, -solution.load(p, k, current), -1),
        target=edges.end(target, solution.load(p, k, target), 1),
    )


class _Taken(NamedTuple):
    """Positions that may take the place of another one of their partition, which then returns home."""

    p: I64
    k: I64
    home: I64
    """The position that returns."""


def _positions_to_take(solution: Solution, p: I64, k: I64) -> _Taken:
    """Of a partition whose replica has moved from a to c, any other replica could have moved to c instead of it."""
    away = solution.moved() & (solution.problem.previous >= 0)
    row, home = np.nonzero(away[p])
    p, k = p[row], k[row]
    other = k != home
    p, k, home = p[other], k[other], home[other]
    target = solution.problem.previous[p, home]
    allowed = solution.may_return(p, home, k) & solution.topics_allow(p, target)
    return _Taken(p[allowed], k[allowed], home[allowed])


class _Step:
    """Looks for the moves that together save most."""

    def __init__(self, edges: _Edges, moves: _Moves, savers: int, third: int) -> None:
        self.edges, self.moves, self.savers, self.third = edges, moves, savers, third
        self.best_price = 0
        self.found: I64 | None = None

    def best(self, start: _Loads, least: int) -> I64 | None:
        """Rows of those moves; None if none saves enough.

        Parameters
        ----------
        least
            Least number of bytes to save.
        """
        self.best_price = -least
        for first in range(min(self.moves.up_to(-least), self.savers)):
            self._begin(start, first)
        return self.found

    def _begin(self, start: _Loads, first: int) -> None:
        loads, fits = self._after(start, first), self._compatible(first)
        if not loads.outside.any() and self.moves.price[first] < self.best_price:
            self._keep([first])
        n = self.moves.up_to(self.best_price - int(self.moves.price[first]))
        left = self._left_outside(loads, n)
        within = np.flatnonzero(fits[:n] & (left <= 0))
        if within.size and self.moves.price[[first, within[0]]].sum() < self.best_price:
            self._keep([first, int(within[0])])
            n = self.moves.up_to(self.best_price - int(self.moves.price[first]))
        useful = np.flatnonzero(fits[:n] & (left[:n] > 0))
        for second in self._nearest(useful, left, _SECOND):
            self._follow(self._after(loads, second), [first, second], fits & self._compatible(second), self.third)

    def _follow(self, loads: _Loads, chosen: list[int], fits: Bools, branches: int) -> None:
        """Continue with the moves that leave least outside until one ends inside all bands, or none comes nearer."""
        n = self.moves.up_to(self.best_price - int(self.moves.price[chosen].sum()) - 1)
        left = self._left_outside(loads, n)
        within = np.flatnonzero(fits[:n] & (left <= 0))
        if within.size:
            self._keep([*chosen, int(within[0])])
        elif len(chosen) + 1 < _LONGEST:
            nearer = np.flatnonzero(fits[:n] & (left < loads.outside.sum()))
            for row in self._nearest(nearer, left, branches):
                self._follow(self._after(loads, row), [*chosen, row], fits & self._compatible(row), 1)

    def _keep(self, chosen: list[int]) -> None:
        self.best_price, self.found = int(self.moves.price[chosen].sum()), np.array(chosen)

    def _nearest(self, rows: I64, left: F64, number: int) -> list[int]:
        """The moves after which least is left outside."""
        order = np.lexsort((self.moves.rank[rows], left[rows]))
        return list(map(int, rows[order[:number]]))

    def _compatible(self, row: int) -> Bools:
        """Moves of other partitions that share no topic with one on its target: each was allowed by itself."""
        moves = self.moves
        target = moves.target.broker
        same_end = (target == target[row]) & (moves.topic == moves.topic[row])
        return np.asarray((moves.p != moves.p[row]) & ~same_end)

    def _after(self, loads: _Loads, row: int) -> _Loads:
        used, number = loads.used.copy(), loads.number.copy()
        for end in (self.moves.current, self.moves.target):
            used[end.broker[row]] += end.change_bytes[row]
            number[end.broker[row]] += end.change_number
        return self.edges.loads(used, number)

    def _left_outside(self, loads: _Loads, first: int) -> F64:
        """What each of the first moves would leave outside, over all brokers, if it came next."""
        current, target = self.moves.current, self.moves.target
        left = float(loads.outside.sum()) - loads.outside[current.broker[:first]]
        left -= loads.outside[target.broker[:first]]
        left += _outside_after(loads.used, loads.number, current, first)
        left += _outside_after(loads.used, loads.number, target, first)
        # sums of the same floats in another order differ by rounding
        return np.where(left < 1e-12, 0.0, left)
