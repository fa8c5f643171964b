"""Move many replicas at once from brokers above their targets to brokers below, a shrinking part of the need a round.

In each round brokers that give and brokers that take are paired, those that deal in large replicas with each other.
Each pair moves the replica nearest the size that evens both: the bytes in excess over the count in excess.

::

    repeat
        for each broker: size = bytes it still has to give (take) / replicas it still has to give (take)
        pair donors and receivers in the order of size, as many pairs as a fraction of all that is to be moved
        for each pair, all at once: the replica of that size, else one of its neighbours, that the rules let go there
        where few pairs found one: pair others, and look at larger replicas, in the next round
    until several rounds in a row moved next to nothing

Source: first-order diffusion, in which every step moves a fixed fraction of what is uneven (G. Cybenko, Dynamic Load
Balancing for Distributed Memory Multiprocessors, J. Parallel Distrib. Comput. 7, 1989), here with whole replicas.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.cheapest_moves import cheapest_of
from kafkabal.planner.search.grouped_array_operations import is_first, running_count, running_sum, stable_order
from kafkabal.planner.search.load_targets import Targets, make_targets, zones
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search.sort_keys_by_group_and_size import SizeKeys

NO_BULK_MOVES = 0.0
"""A pace with single steps only: if a broker has few replicas, these end in other placements, often cheaper ones."""
USUAL_PACE = 1 / 4
"""Fraction of what is to be moved that moves in one round: with 1/8 and 1/6 the plans of
benchmarks/planner_constants.py move 0.03 to 0.05% less, one of them 0.4% more, in 1.0 to 1.1 times the time; with 1/2
0.1% more in 0.8 of it (2026-11)."""
_LEAST_A_ROUND = 64
"""Moves, or one a broker where there are fewer, up to which a round does not shrink any further: 16 change two of these
plans by 0.01% at most, 256 none."""
_TRIES = ((0,), (1, -1, 2, -2, 3, -3))
"""The replica of the right size, then its neighbours, all at once."""
_STEP = 5
"""How much further up the next turn looks. No value stands out: with 2 the plans of benchmarks/planner_constants.py
move 0.08% less, with 12 0.15% less, each of them 0.04% more to 1.2% less, in the same time."""
_MOST_IDLE_ROUNDS = 6
"""With 2 the plans of benchmarks/planner_constants.py move up to 0.6% more; 18 save 0.08%."""
_LEAST_YIELD = 1 / 4
"""Fraction of the pairs that find a replica, below which others are paired in the next round: 1/16, 1/8 and 1/2 move
0.1 to 0.15% less, nearly all of it in one plan, and up to 0.06% more in others."""
_COPIED_MEANWHILE = 5000
"""Replicas of a broker that are copied in the time that removing a single one takes."""
_WORTH_A_ROUND = 16
"""Moves for which a round costs less than as many single steps: with 4 six of these plans change, by 0.15% less in the
mean and 0.06% more at most, with 64 two, by 0.4% more at most, in the same time."""


class _MovableReplicas:
    """Replicas that donors may give away, sorted by broker and size; what was taken is removed after each round.

    Late rounds take a replica or two out of hundreds of thousands. Then only those of its broker move up, and leave a
    gap behind the last one. An *index* counts without gaps; a *row* is where a replica is stored.
    """

    def __init__(self, solution: Solution, free: Bools) -> None:
        problem = solution.problem
        self.width = solution.width
        cell = np.flatnonzero(free & problem.movable_positions)
        p, k = cell // self.width, cell % self.width
        broker = solution.placement[p, k]
        bytes_ = solution.load(p, k, broker)
        self.keys = SizeKeys(bytes_)
        key = self.keys.of(broker, bytes_)
        order = stable_order(key)
        self.key, self.cell = key[order], cell[order]
        self.n_brokers = problem.n_brokers
        self._index()

    def _index(self) -> None:
        self.first = self.keys.ends(self.key, self.n_brokers)
        """shape (n_brokers + 1,): index of the first replica of each broker, and how many there are."""
        self.gap = np.zeros(self.n_brokers, np.int64)
        """shape (n_brokers,): rows without a replica before those of each broker."""
        self.sum_before = np.concatenate(([0], np.cumsum(self.bytes(slice(None)))))
        """shape (n_rows + 1,): bytes in the rows before each one, but for gaps, which matter to no difference."""

    def __len__(self) -> int:
        return int(self.first[-1])

    @property
    def n_rows(self) -> int:
        """Number of rows, including those without a replica."""
        return len(self.cell)

    def bytes(self, row: I64 | slice) -> I64:
        """Bytes of replicas, rounded down to what a key can tell."""
        return self.keys.bytes_of(self.key[row])

    def positions(self, row: I64) -> tuple[I64, I64]:
        """Partition and position of replicas."""
        return self.cell[row] // self.width, self.cell[row] % self.width

    def fewest_for(self, surplus: I64) -> I64:
        """Fewest replicas of each broker whose bytes add up to its surplus; all of them if even they do not."""
        first, end = self.first[:-1] + self.gap, self.first[1:] + self.gap
        goal = self.sum_before[end] - np.maximum(surplus, 0)
        at = np.searchsorted(self.sum_before, goal, side="right") - 1
        return np.asarray(end - np.maximum(at, first))

    def find(self, broker: I32, size: F64) -> I64:
        """Index of the smallest replica of each broker that is at least this large."""
        row = np.searchsorted(self.key, self.keys.at_least(broker, size))
        return np.asarray(np.minimum(row - self.gap[broker], self.first[broker + 1]))

    def remove(self, taken: Bools) -> None:
        """Forget replicas that were taken.

        Parameters
        ----------
        taken
            shape (n_rows,).
        """
        rows = np.flatnonzero(taken)
        if len(rows) * _COPIED_MEANWHILE <= self.n_rows:
            # from the end, so that no row moves that is still to be removed
            for row in rows[::-1].tolist():
                self._remove(row)
            return
        self.cell[rows] = NONE
        keep = self.cell >= 0
        self.key, self.cell = self.key[keep], self.cell[keep]
        self._index()

    def _remove(self, row: int) -> None:
        broker = int(self.keys.group_of(self.key[row]))
        last = int(self.first[broker + 1] + self.gap[broker]) - 1
        bytes_ = self.bytes(slice(row, row + 1))
        self.key[row:last], self.key[last] = self.key[row + 1 : last + 1], self.keys.last_of(broker)
        self.cell[row:last], self.cell[last] = self.cell[row + 1 : last + 1], NONE
        self.sum_before[row + 1 : last + 1] = self.sum_before[row + 2 : last + 2] - bytes_
        self.first[broker + 1 :] -= 1
        self.gap[broker + 1 :] += 1


def move_in_bulk(
    solution: Solution,
    pace: float = USUAL_PACE,
    *,
    moved: bool = False,
    only_below: bool = False,
    cheapest: float | None = None,
) -> None:
    """Bring brokers near their targets; single moves do the rest.

    Parameters
    ----------
    pace
        Fraction of what remains to be moved that moves in one round.
    moved
        Move replicas that have already left their previous broker, which costs nothing more, instead of those still
        there.
    only_below
        Only those below their targets at the beginning take: who has given a little too much in bytes, for the sake of
        its number, is not filled up again by those that do the same.
    cheapest
        Only the replicas that cost least for what they are worth, so many that they sum up to this multiple of what
        each broker has to give; where the state has guidance.
    """
    zone = zones(solution.problem)
    targets = make_targets(solution, zone)
    donors = (solution.used > targets.bytes) | (solution.count > targets.count)
    receivers = solution.problem.takes
    if only_below:
        receivers = receivers & ((solution.used < targets.bytes) | (solution.count < targets.count))
    if not donors.any():
        return
    free = solution.moved() if moved else solution.stays()
    free = free & donors[solution.placement]
    if cheapest is not None and solution.guidance is not None:
        free = cheapest_of(
            solution, free, solution.guidance.price, cheapest * np.maximum(solution.used - targets.bytes, 0)
        )
    movable = _MovableReplicas(solution, free)
    idle = turn = 0
    while idle < _MOST_IDLE_ROUNDS and len(movable):
        tried, done = _round(solution, movable, targets, receivers, zone, turn, pace)
        is_low_yield = done <= tried * _LEAST_YIELD
        turn += int(is_low_yield)
        idle += int(is_low_yield and done < _WORTH_A_ROUND)


def _round(
    solution: Solution, movable: _MovableReplicas, targets: Targets, receivers: Bools, zone: I32, turn: int, pace: float
) -> tuple[int, int]:
    pairs = _pairs(solution, movable, targets, receivers, zone, turn, pace)
    if pairs is None:
        return 0, 0
    donor, receiver, size = pairs
    tried = len(donor)
    # replicas that may not move stay listed: each turn looks a little further up
    at = _spread(movable.find(donor, size) + turn * _STEP, movable.first[donor + 1])
    taken = np.zeros(movable.n_rows, np.bool_)
    open_ = np.ones(tried, np.bool_)
    for offsets in _TRIES:
        pair, row = _neighbours(movable, np.flatnonzero(open_), at, donor, offsets, taken)
        good = _acceptable(solution, movable, targets, pair, row, donor[pair], receiver[pair])
        pair, row = pair[good], row[good]
        taken[row] = True
        open_[pair] = False
        solution.move(*movable.positions(row), receiver[pair])
    movable.remove(taken)
    return tried, tried - int(open_.sum())


def _neighbours(
    movable: _MovableReplicas, pair: I64, at: I64, donor: I32, offsets: tuple[int, ...], taken: Bools
) -> tuple[I64, I64]:
    """Rows of replicas around the one that a pair aims at, nearest first, with their pairs."""
    near = (at[pair] + np.array(offsets)[:, None]).ravel()
    pair = np.tile(pair, len(offsets))
    broker = donor[pair]
    fits = np.flatnonzero((near >= movable.first[broker]) & (near < movable.first[broker + 1]))
    pair, row = pair[fits], near[fits] + movable.gap[broker[fits]]
    is_left = ~taken[row]
    return pair[is_left], row[is_left]


def _pairs(
    solution: Solution, movable: _MovableReplicas, targets: Targets, receivers: Bools, zone: I32, turn: int, pace: float
) -> tuple[I32, I32, F64] | None:
    """Pairs of a donor and a receiver, with the size of the replica that should go between them."""
    surplus, spare = solution.used - targets.bytes, solution.count - targets.count
    fewest = np.where(surplus > 0, movable.fewest_for(surplus), 0)
    give = np.minimum(np.maximum(fewest, spare), np.diff(movable.first))
    typical = max(1.0, float(np.maximum(surplus, 0)[give > 0].sum()) / max(1, int(np.maximum(give, 0).sum())))
    room = np.maximum(solution.bands.high_count - solution.count, 0)
    take = np.minimum(np.maximum(-spare, np.ceil(-surplus / typical).astype(np.int64)), room)
    take = np.where((give > 0) & (spare >= 0) | ~receivers, 0, take)
    scale_give, scale_take = _scales(give, take, zone, pace)
    donor_size = np.maximum(surplus, 0) / np.maximum(give, 1)
    receiver_size = np.maximum(-surplus, 0) / np.maximum(take, 1)
    donor, receiver = _pair(
        _repeat(give, scale_give, donor_size, zone), _repeat(take, scale_take, receiver_size, zone), zone, turn
    )
    if not donor.size:
        return None
    size = _sizes(donor, donor_size, receiver_size[receiver])
    order = np.lexsort((receiver, size, donor))
    return donor[order].astype(np.int32), receiver[order].astype(np.int32), size[order]


def _scales(give: I64, take: I64, zone: I32, pace: float) -> tuple[F64, F64]:
    """Fraction of what each broker gives or takes in this round, so that both sides of a zone deal equally often."""
    inside = zone >= 0
    giving = np.bincount(zone[inside], np.maximum(give, 0)[inside])
    taking = np.bincount(zone[inside], np.maximum(take, 0)[inside])
    # otherwise the last rounds would shrink to a few replicas each
    pace = max(pace, min(1.0, min(_LEAST_A_ROUND, len(zone)) / max(1.0, float(np.minimum(giving, taking).sum()))))
    scale_give = np.minimum(1.0, taking / np.maximum(giving, 1))[zone]
    scale_take = np.minimum(1.0, giving / np.maximum(taking, 1))[zone]
    return scale_give * pace, scale_take * pace


def _sizes(donor: I64, donor_size: F64, wanted_size: F64) -> F64:
    """Sizes that the receivers want, scaled so that each donor gives what it has to on average."""
    number = np.bincount(donor, minlength=len(donor_size))
    wanted_sum = np.bincount(donor, wanted_size, len(donor_size))
    scale = np.where(wanted_sum > 0, donor_size * number / np.maximum(wanted_sum, 1e-9), 0.0)
    return wanted_size * scale[donor]


def _repeat(need: I64, scale: F64, size: F64, zone: I32) -> I64:
    """Each broker as often as it is paired in this round, by zone, those of large replicas first."""
    times = np.where(need > 0, np.maximum(1, (need * scale).astype(np.int64)), 0)
    order = np.lexsort((-size, zone))
    return np.repeat(order, times[order])


def _pair(donor: I64, receiver: I64, zone: I32, turn: int) -> tuple[I64, I64]:
    """The first donor of a zone with its first receiver, and so on; each turn starts at another receiver."""
    a, b = _rank_in_zone(zone[donor], 0), _rank_in_zone(zone[receiver], turn)
    _, i, j = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return donor[i], receiver[j]


def _rank_in_zone(zone: I32, turn: int) -> I64:
    first = np.searchsorted(zone, zone)
    rank = np.arange(len(zone)) - first
    number = np.searchsorted(zone, zone, side="right") - first
    return (zone.astype(np.int64) << 32) + (rank + turn) % number


def _spread(at: I64, end: I64) -> I64:
    """Make pairs start at different replicas, and before the last one; they are sorted by broker and size."""
    steps = np.arange(len(at))
    latest = np.minimum.accumulate((np.minimum(at, end - 1) - steps)[::-1])[::-1] + steps
    return np.maximum.accumulate(latest - steps) + steps


def _acceptable(
    solution: Solution, movable: _MovableReplicas, targets: Targets, pair: I64, row: I64, b: I32, c: I32
) -> I64:
    """Replicas that may move, overshoot on neither side, and do not conflict with each other."""
    found = np.flatnonzero(_helpful(solution, movable, targets, row, b, c))
    if not found.size:
        return found
    p, k = movable.positions(row[found])
    may = solution.may_go(p, k, c[found])
    found, p = found[may], p[may]
    b, c = b[found], c[found]
    good = is_first(pair[found]) & is_first(p)
    good &= is_first(solution.problem.topic[p].astype(np.int64) * len(targets.bytes) + c)
    found, p, b, c = found[good], p[good], b[good], c[good]
    leaving = movable.bytes(row[found])
    fits = running_sum(c, solution.problem.arriving_bytes[p]) <= _room(solution)[c]
    fits &= running_count(c) < (solution.bands.high_count - solution.count)[c]
    fits &= (running_sum(b, leaving) <= (solution.used - targets.bytes)[b]) | (
        running_count(b) < (solution.count - targets.count)[b]
    )
    return found[fits]


def _helpful(
    solution: Solution, movable: _MovableReplicas, targets: Targets, row: I64, donor: I32, receiver: I32
) -> Bools:
    """Which replicas, each alone, would overshoot on neither side of their pair."""
    leaving, arriving = movable.bytes(row), solution.problem.arriving_bytes[movable.positions(row)[0]]
    surplus, lack = np.maximum(solution.used - targets.bytes, 0), targets.bytes - solution.used
    good = (leaving <= surplus[donor]) | (solution.count > targets.count)[donor]
    good &= (arriving <= lack[receiver]) | (solution.count < targets.count)[receiver]
    good &= (solution.count < solution.bands.high_count)[receiver] & (arriving <= _room(solution)[receiver])
    return np.asarray(good)


def _room(solution: Solution) -> I64:
    return solution.most_bytes() - solution.used
