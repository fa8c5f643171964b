"""Assign unplaced positions to brokers, the largest first, each where it helps most.

::

    targets = the load that each broker is to have once everything is placed
    for each block of positions, in falling order of bytes, no two of one partition
        for each position: the allowed broker of least misfit with it and what came before
    misfit = the larger of (bytes, replicas) beyond the target in fair shares; far more beyond a band

Source: largest processing time first (R. L. Graham, Bounds on Multiprocessing Timing Anomalies, SIAM J. Appl. Math. 17,
1969), with targets and rules of eligibility, and in blocks so that numpy does the work.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.grouped_array_operations import is_first
from kafkabal.planner.search.load_targets import Targets, make_targets, zones
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import fair_shares

_CELLS_AT_ONCE = 2**17
"""A table of this many float64 takes 1 MB: what a block works on stays in the cache with 1,000 brokers."""
_MOST_AT_ONCE = 256
"""Limit with few brokers: 32 and 1,024 give the same plans."""
_LEAST_AT_ONCE = 24
"""Positions of one block are allowed by the loads before it: with 96 the plans of benchmarks/planner_constants.py move
0.3% more, 2.2% at most; 6 save 0.05%, and take more blocks on a large cluster."""

_BEYOND_A_BAND = 1000
"""Weight of a share beyond a band: any allowed broker inside its bands comes first."""


def assign_unplaced(solution: Solution) -> I64:
    """Put every unplaced position onto a broker that the rules allow.

    A replica that has to leave its broker goes to a broker that is crowded by its topic rather than nowhere, and to a
    broker with an offline log dir only if no other can take it, see :attr:`Problem.takes`.

    Returns
    -------
    int64, shape (n,)
        Cells that no broker can take; they remain unplaced.
    """
    avoided = solution.problem.takes_unplaced & ~solution.problem.takes
    left = _assign(solution, avoided=avoided)
    if _is_urgent(solution, left) and solution.topic_count is not None:
        left = _assign(solution, avoided=avoided, crowding=True)
    if _is_urgent(solution, left) and avoided.any():
        left = _assign(solution, avoided=np.zeros_like(avoided), crowding=solution.topic_count is not None)
    return left


def _is_urgent(solution: Solution, cells: I64) -> bool:
    """Whether one of the positions has to leave its broker or to be added."""
    return bool((solution.why.reshape(-1)[cells] > MoveCause.TOPIC).any())


def _assign(solution: Solution, *, avoided: Bools, crowding: bool = False) -> I64:
    problem = solution.problem
    p, k = np.nonzero(solution.is_position & (solution.placement < 0))
    if not p.size:
        return np.empty(0, np.int64)
    order = np.lexsort((p, -problem.arriving_bytes[p]))
    p, k = p[order], k[order]
    bytes_ = problem.arriving_bytes[p]
    zone = zones(problem)
    waiting = (0, 0) if zone.any() else (int(bytes_.sum()), len(p))
    targets = make_targets(solution, zone, *waiting)
    step = max(
        1, min(_MOST_AT_ONCE, _CELLS_AT_ONCE // problem.n_brokers, max(_LEAST_AT_ONCE, int(problem.takes.sum())))
    )
    kept = _Kept(solution, p, k)
    left: list[I64] = []
    while p.size:
        now, again = _first_of_each(p[:step])
        placed, stuck = _assign_block(solution, p[now], k[now], targets, kept, avoided=avoided, crowding=crowding)
        left.append(p[now][stuck] * solution.width + k[now][stuck])
        again = np.sort(np.concatenate((again, now[~(placed | stuck)])))
        p, k = np.concatenate((p[again], p[step:])), np.concatenate((k[again], k[step:]))
    return np.concatenate(left)


def _first_of_each(p: I64) -> tuple[I64, I64]:
    """Indexes of the first position of each partition, and of the others, which wait for the next block."""
    first = is_first(p)
    return np.flatnonzero(first), np.flatnonzero(~first)


class _Kept:
    """Room that is kept on brokers for what was lifted there for its topic's sake, and may have to come back."""

    def __init__(self, solution: Solution, p: I64, k: I64) -> None:
        self.solution = solution
        n = solution.problem.n_brokers
        self.bytes: I64 = np.zeros(n, np.int64)
        self.count: I64 = np.zeros(n, np.int64)
        self._add(p, k, 1)

    def _add(self, p: I64, k: I64, sign: int) -> None:
        problem = self.solution.problem
        returns = self.solution.why[p, k] == MoveCause.TOPIC
        p, k = p[returns], k[returns]
        np.add.at(self.bytes, problem.previous[p, k], sign * problem.held_bytes[p, k])
        np.add.at(self.count, problem.previous[p, k], sign)

    def release(self, p: I64, k: I64) -> None:
        """Keep no room any longer for positions that found a place."""
        self._add(p, k, -1)


def _assign_block(
    solution: Solution, p: I64, k: I64, targets: Targets, kept: _Kept, *, avoided: Bools, crowding: bool
) -> tuple[Bools, Bools]:
    """Put each position onto its best broker, one after the other; returns which were put, and which never can be."""
    allowed = solution.may_go_anywhere(p, k, unplaced=True)
    urgent = solution.why[p, k] > MoveCause.TOPIC
    if crowding:
        allowed[urgent] = solution.may_go_anywhere(p[urgent], k[urgent], unplaced=True, crowding=True)
    returns = ~urgent[:, None] & (solution.problem.previous[p, k][:, None] == np.arange(solution.problem.n_brokers))
    allowed &= returns | ~avoided
    bytes_ = solution.problem.arriving_bytes[p]
    room = solution.room_bytes()
    room = np.maximum(room - kept.bytes, np.minimum(room, 0))
    places = solution.problem.limit_replicas - solution.count - kept.count
    allowed &= (bytes_[:, None] <= room) & (places > 0)
    may_fill_up = (room < bytes_.sum()) | (places < len(p))
    topic = solution.problem.topic[p]
    penalty = np.where(allowed, 0.0, np.inf)
    if crowding and solution.topic_count is not None:
        everyone = np.arange(solution.problem.n_brokers)
        crowd = solution.topic_count[topic] + 1 - solution.bands.topic_most(topic[:, None], everyone)
        penalty += 1e6 * np.maximum(crowd, 0)
    loads = _Loads(solution, targets)
    chosen = np.full(len(p), -1, np.int64)
    comes_again = ~is_first(topic[::-1])[::-1]
    for i, size in enumerate(bytes_.tolist()):
        misfit = loads.misfit(size) + penalty[i]
        best = int(misfit.argmin())
        if misfit[best] < np.inf:
            chosen[i] = best
            loads.add(best, size)
            if comes_again[i]:
                penalty[np.flatnonzero(topic[i + 1 :] == topic[i]) + i + 1, best] = np.inf
            if may_fill_up[best]:
                room[best] -= size
                places[best] -= 1
                penalty[(bytes_ > room[best]) | (places[best] < 1), best] = np.inf
    found = chosen >= 0
    solution.put(p[found], k[found], chosen[found])
    kept.release(p[found], k[found])
    return found, np.asarray(~allowed.any(1))


class _Loads:
    """How full brokers are, in fair shares: against their targets, and against the upper edges of their bands.

    Counts include the next position.
    """

    def __init__(self, solution: Solution, targets: Targets) -> None:
        fair_bytes, fair_count = _fair_loads(solution, targets)
        used, count, bands = solution.used, solution.count, solution.bands
        self.per_byte: F64 = fair_shares(1.0, fair_bytes)
        self.per_replica: F64 = fair_shares(1.0, fair_count)
        self.need: F64 = fair_shares(used - targets.bytes, fair_bytes)
        self.need_count: F64 = fair_shares(count - targets.count + 1, fair_count)
        self.over: F64 = fair_shares(used - bands.high_bytes, fair_bytes)
        self.over_count: F64 = fair_shares(count - bands.high_count + 1, fair_count)

    def misfit(self, bytes_: int) -> F64:
        """float64, shape (n_brokers,): how full each would be with one more position, and far more so beyond a band."""
        more = self.per_byte * bytes_
        over = np.maximum(self.over + more, 0.0) + np.maximum(self.over_count, 0.0)
        return np.asarray(np.maximum(self.need + more, self.need_count) + _BEYOND_A_BAND * over)

    def add(self, broker: int, bytes_: int) -> None:
        """Count a position that comes to a broker."""
        more = self.per_byte[broker] * bytes_
        self.need[broker] += more
        self.over[broker] += more
        self.need_count[broker] += self.per_replica[broker]
        self.over_count[broker] += self.per_replica[broker]


def _fair_loads(solution: Solution, targets: Targets) -> tuple[F64, F64]:
    """Fair bytes of each broker, and fair replicas."""
    problem = solution.problem
    mean = solution.due.mean_bytes(targets.bytes, problem.weighed)
    fair_count = targets.count[problem.counted].mean() if problem.counted.any() else 1.0
    return np.maximum(mean * solution.due.byte_weight, 1.0), max(float(fair_count), 1.0) * solution.due.count_weight
