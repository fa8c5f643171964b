"""Chooses the part of a plan that a budget pays for, so that the plan for the rest does not move it again.

A later run knows nothing of earlier ones: to it, a replica that has just arrived is like any other. So the next search
is run ahead of time, and partitions that it would move again wait for it. In a small cluster, where a single replica
matters, several parts are tried, and the one that leaves the fewest bytes to move is kept.

::

    barred = nothing
    repeat
        part = what the budget pays for of the plan, without what is barred
        rest = the plan for the cluster once the part is applied
        again = partitions of the part that the rest would move on; bar them, and after two looks all smaller ones too
    until nothing is moved again, or looking ahead takes too long

The method is our own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64, Bools, ClusterState
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_short_of_bands import is_worth_it
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.keep_within_budget import repairs, trim_to_budget
from kafkabal.planner.search.search_phases import is_outside
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import SMALL, Candidate, finish, search

_PARTS_TRIED = 4
"""At a third of the bytes of four clusters 2 and 8 give the same parts."""
_CLOSE = 0.0005
"""Fraction of the whole plan's bytes: 0.005 and 0.00005 change one part in four, the latter in 1.4 times the time."""
_MOST_LOOKAHEADS = 12
"""4 and 36 give the same parts there; the limit ends searches that would alternate forever."""
_LOOKAHEADS_OUT_OF_REACH = 2
"""If bands are out of reach, the next search only approximates the next plan."""
_MOST_LOOKAHEAD_POSITIONS = 2_000_000
"""Positions times looks ahead; limits planning of a large cluster to a few times the time of one search."""
_FIRST_LOOKAHEADS = 2
"""Looks that bar single partitions before all smaller ones are barred as well: 1 and 6 give the same parts there."""
_SMALLER_THAN_MOST = 0.9
"""A quantile of the partitions that are moved again; 0.7 and 0.99 give the same parts there."""


class _Part(NamedTuple):
    candidate: Candidate
    after: ClusterState
    """The cluster once the part is applied."""
    again: I64
    """Partitions of the part that the plan for the rest moves again, without those that are repaired."""
    broken: int
    """Partitions that still have a replica to repair."""
    rest_bytes: int
    """Bytes that the plan for the rest moves."""

    @property
    def moves(self) -> bool:
        """Whether the part moves anything."""
        return bool(self.candidate.solution.moved().any())

    @property
    def total_bytes(self) -> int:
        """Bytes that the part and the plan for the rest move together."""
        return self.candidate.solution.moved_bytes() + self.rest_bytes


def instalment(start: Solution, full: Candidate, listener: PlanListener) -> tuple[Candidate, ClusterState]:
    """Trim a plan to its budget.

    Returns
    -------
    Candidate, ClusterState
        The part that is affordable, and the cluster once it is applied.
    """
    parts = _Parts(start, full, listener)
    best = parts.lasting_part(0)
    if not is_outside(full.solution):
        best = _better_one(parts, best)
    elif not is_worth_it(
        start, best.candidate, best.candidate.solution.moved_bytes() / max(1, full.solution.moved_bytes())
    ):
        return full._replace(solution=start, leader=start.problem.leader), start.problem.state
    return best.candidate, best.after


def _better_one(parts: _Parts, best: _Part) -> _Part:
    """Try further parts if the first one is empty, or leaves more to move than necessary."""
    full_bytes = parts.full.solution.moved_bytes()
    if not best.moves:
        crowding = parts.affordable(0, parts.none_barred(), crowd=True)
        return crowding if crowding.rest_bytes < full_bytes else best
    if parts.start.placement.size <= SMALL:
        for number in range(1, _PARTS_TRIED):
            if not best.again.size and best.total_bytes <= full_bytes * (1 + _CLOSE):
                break
            best = min(best, parts.lasting_part(number), key=_left_to_do)
    return best


def _left_to_do(part: _Part) -> tuple[int, int, int]:
    return part.broken, len(part.again), part.total_bytes


class _Parts:
    """Parts of a plan that a budget pays for; each number takes large partitions in another order."""

    def __init__(self, start: Solution, full: Candidate, listener: PlanListener) -> None:
        self.start, self.full, self.listener = start, full, listener
        self._looked_ahead: dict[bytes, _Part] = {}
        """By placement: other orders and bars often pay for the same moves, and each search ahead takes seconds."""

    def lasting_part(self, number: int) -> _Part:
        """A part without partitions that the plan for the rest would move again, as far as looking ahead shows."""
        barred = self.none_barred()
        part = self.affordable(number, barred)
        for lookahead in range(self._most_lookaheads()):
            if not part.again.size:
                break
            barred |= _to_wait(
                self.start.problem.arriving_bytes, part.again, also_smaller=lookahead >= _FIRST_LOOKAHEADS
            )
            less = self.affordable(number, barred)
            if not less.moves:
                break
            part = less
        return part

    def _most_lookaheads(self) -> int:
        most = _LOOKAHEADS_OUT_OF_REACH if is_outside(self.full.solution) else _MOST_LOOKAHEADS
        return min(most, max(1, _MOST_LOOKAHEAD_POSITIONS // self.start.placement.size))

    def none_barred(self) -> Bools:
        """Bar no partition."""
        return np.zeros(len(self.full.leader), np.bool_)

    def affordable(self, number: int, barred: Bools, *, crowd: bool = False) -> _Part:
        """As much as the budget pays for, and what is left then; see :func:`trim_to_budget`."""
        solution = self.full.solution.copy()
        trim_to_budget(self.start, solution, barred, self._lot(number), crowd=crowd)
        chosen = b"".join(column.tobytes() for column in (solution.placement, solution.is_position, solution.why))
        if chosen not in self._looked_ahead:
            self._looked_ahead[chosen] = self._look_ahead(solution)
        return self._looked_ahead[chosen]

    def _look_ahead(self, solution: Solution) -> _Part:
        problem = self.start.problem
        candidate = finish(solution, self.full.unplaced, self.listener, room=False)
        after = candidate.to_state()
        rest = search(
            Solution(build_problem(after, problem.options)), self.listener, once=is_outside(self.full.solution)
        ).solution
        again = _moved_again(solution, rest)
        again = again[~repairs(solution)[again]]
        return _Part(candidate, after, again, int(solution.must_leave().any(1).sum()), rest.moved_bytes())

    def _lot(self, number: int) -> F64:
        return np.random.default_rng((self.start.problem.options.seed, number)).random(len(self.full.leader))


def _to_wait(each_bytes: I64, again: I64, *, also_smaller: bool) -> Bools:
    """Partitions to bar since they are moved again; if moved for their number alone, others would take their place."""
    wait = np.zeros(len(each_bytes), np.bool_)
    wait[again] = True
    if also_smaller:
        wait |= each_bytes <= np.quantile(each_bytes[again], _SMALLER_THAN_MOST, method="lower")
    return wait


def _moved_again(first: Solution, then: Solution) -> I64:
    """Partitions with a replica that moves in both of two successive plans."""
    n_brokers = first.problem.n_brokers
    p, k = np.nonzero(first.moved())
    came = p * n_brokers + first.placement[p, k]
    previous = then.problem.previous
    p, k = np.nonzero((previous >= 0) & (then.placement != previous))
    return np.unique(np.intersect1d(came, p * n_brokers + previous[p, k]) // n_brokers)
