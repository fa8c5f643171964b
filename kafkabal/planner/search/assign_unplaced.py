"""Assign unplaced positions to brokers, the largest first, each where it helps most.

::

    targets = the load that each broker is to have once everything is placed
    for each block of positions, in falling order of bytes, no two of one partition
        misfit[position, broker] = the larger of (bytes, replicas) beyond the target in fair shares; more beyond a band
        for each position: the allowed broker of least misfit; add what came to the misfit of the positions after it

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
"""Positions of one block are placed by the loads before it: with 96 the plans of benchmarks/planner_constants.py move
0.3 % more, 2.2 % at most; 6 save 0.05 %, and take more blocks on a large cluster."""


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
    misfit = _misfit(solution, bytes_, targets)
    topic = solution.problem.topic[p]
    if crowding and solution.topic_count is not None:
        everyone = np.arange(solution.problem.n_brokers)
        crowd = solution.topic_count[topic] + 1 - solution.bands.topic_most(topic[:, None], everyone)
        misfit += 1e6 * np.maximum(crowd, 0)
    misfit[~allowed] = np.inf
    chosen = np.full(len(p), -1, np.int64)
    step = _step(solution, bytes_, targets)
    comes_again = ~is_first(topic[::-1])[::-1]
    for i in range(len(p)):
        best = int(misfit[i].argmin())
        if misfit[i, best] < np.inf:
            chosen[i] = best
            misfit[i + 1 :, best] += step[i, best]
            if comes_again[i]:
                same_topic = np.flatnonzero(topic[i + 1 :] == topic[i]) + i + 1
                misfit[same_topic, best] = np.inf
            if may_fill_up[best]:
                room[best] -= bytes_[i]
                places[best] -= 1
                misfit[(bytes_ > room[best]) | (places[best] < 1), best] = np.inf
    found = chosen >= 0
    solution.put(p[found], k[found], chosen[found])
    kept.release(p[found], k[found])
    return found, np.asarray(~allowed.any(1))


def _misfit(solution: Solution, bytes_: I64, targets: Targets) -> F64:
    """How full each broker would be with each position: against its targets, and far more so beyond its bands."""
    bands = solution.bands
    fair_bytes, fair_count = _fair_loads(solution, targets)
    over = fair_shares(np.maximum(solution.used + bytes_[:, None] - bands.high_bytes, 0), fair_bytes)
    over_count = fair_shares(np.maximum(solution.count + 1 - bands.high_count, 0), fair_count)
    need = fair_shares(solution.used - targets.bytes + bytes_[:, None], fair_bytes)
    need_count = fair_shares(solution.count - targets.count + 1, fair_count)
    return np.asarray(np.maximum(need, need_count) + 1000 * (over + over_count))


def _step(solution: Solution, bytes_: I64, targets: Targets) -> F64:
    fair_bytes, fair_count = _fair_loads(solution, targets)
    return np.maximum(fair_shares(bytes_[:, None], fair_bytes), fair_shares(1, fair_count))


def _fair_loads(solution: Solution, targets: Targets) -> tuple[F64, F64]:
    """Fair bytes of each broker, and fair replicas."""
    problem = solution.problem
    mean = solution.due.mean_bytes(targets.bytes, problem.weighed)
    fair_count = targets.count[problem.counted].mean() if problem.counted.any() else 1.0
    return np.maximum(mean * solution.due.byte_weight, 1.0), max(float(fair_count), 1.0) * solution.due.count_weight
