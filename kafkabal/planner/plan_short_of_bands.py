"""If bands are out of reach: continue as long as it helps, and move nothing that does not.

::

    a plan is worth it if it mends a rule, or takes a hundredth out of what is outside, also with all copies of a
        partition as large as its leader's, and is not too dear for that
    give up where it is not
    repeat: search again from the result, as a later run does; go on to where that leads as long as it is worth it, by
        the bands that hold then; where that goes in circles, end at what moves least
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32, ClusterState, is_estimated
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import Problem, build_problem
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import Candidate, search
from kafkabal.planner.shortfall import shortfall

_MOST_REPEATS = 24
"""A limit: each repeat has to help by a hundredth again, so that only a few are made. What cordoned brokers are due
falls with what they hold, so that with several of them nine repeats were seen."""
_LEAST_HELP = 0.01
"""Fraction of what is outside. Less would move data every night for what no table shows, more would leave imbalance
that operators see."""

_LEAST_HELP_A_BYTE = 0.1
"""Per fair share of bytes moved for balance. If followers differ in size, each search finds another hundredth for
several fair shares of bytes, and the sizes that copies have in the end undo it: on such a drawn cluster the 24 repeats
took out 0.02 to 0.05, and a second plan moved 36 % as many bytes as the first. First plans took out 31 to 73 in five
drawn clusters."""


def falls_short(candidate: Candidate, warnings: tuple[str, ...]) -> bool:
    """Whether the search went as far as it could and still left something outside its band, by the warnings."""
    options = candidate.solution.problem.options
    if options.mode is not Mode.FULL:
        return False
    return bool(warnings) or _differs_once_applied(candidate)


def _differs_once_applied(candidate: Candidate) -> bool:
    """Whether a broker is outside its band once the plan is applied, though not by the loads of the search.

    A copy of unknown size counts as large as its leader; another leader may have another size. Brokers that accept
    nothing are due no more than they hold, so that others are due what they lose.
    """
    solution, problem = candidate.solution, candidate.solution.problem
    is_closed = bool((problem.counted & ~problem.takes).any())
    if not is_closed and (solution.sizes_agree() or not is_estimated(problem.state).any()):
        return False
    after = Solution(build_problem(candidate.to_state(), problem.options))
    return shortfall(after, after.problem.leader) > 0


def persist(start: Solution, candidate: Candidate, listener: PlanListener) -> tuple[Candidate, ClusterState]:
    """Continue from the result as long as it helps, so that a later run finds nothing to do.

    A plan that repairs no rule and helps less than :data:`_LEAST_HELP` is not worth a single byte; see
    :func:`is_worth_it`.

    Returns
    -------
    Candidate, ClusterState
        The final placement, and the cluster once it is applied.
    """
    problem = start.problem
    if not is_worth_it(start, candidate):
        # the search also knows which broken replicas found no place: the start does not
        return candidate.adopt(problem.state)._replace(leader=problem.leader), problem.state
    after = candidate.to_state()
    been = {_placed(candidate): (candidate.solution.moved_bytes(), after)}
    for _ in range(_MOST_REPEATS):
        # the same search that a later run begins with, from the sizes that copies have by then
        begin = Solution(build_problem(after, problem.options))
        again = search(begin, listener)
        if not is_worth_it(begin, again) or not may_lead(problem, again.leader):
            break
        candidate = candidate.adopt(again.to_state())
        after = candidate.to_state()
        placed = _placed(candidate)
        if placed in been:
            # a copy that returns to its broker never left it, and is as large as it was: the search goes in circles
            circle = list(been.values())[list(been).index(placed) :]
            candidate = candidate.adopt(min(circle, key=lambda stop: stop[0])[1])
            return candidate, candidate.to_state()
        been[placed] = candidate.solution.moved_bytes(), after
    return candidate, after


def _placed(candidate: Candidate) -> bytes:
    """The placement of all replicas."""
    return np.sort(candidate.solution.placement, axis=1).tobytes()


def may_lead(problem: Problem, leader: I32) -> bool:
    """Whether no more leaders change than allowed, and none to a copy out of sync because it left and came back."""
    changes = leader != problem.leader
    stale = ((problem.previous == leader[:, None]) & ~problem.electable).any(1)
    most, had = problem.options.max_leader_changes, problem.state.partitions.leader >= 0
    return not (changes & stale).any() and (most is None or int((changes & had).sum()) <= most)


def is_worth_it(start: Solution, candidate: Candidate, fraction: float = 1.0) -> bool:
    """Whether a plan that does not reach the bands repairs a rule, or helps enough.

    Parameters
    ----------
    fraction
        Fraction of the bytes of a plan that the candidate moves; it has to help by this fraction only.
    """
    return _mends(candidate) or _helps(start, candidate, fraction)


def _mends(candidate: Candidate) -> bool:
    """Whether something moves because of a rule."""
    return bool((candidate.solution.moved() & (candidate.solution.why >= MoveCause.RACK)).any())


def _helps(start: Solution, candidate: Candidate, fraction: float) -> bool:
    before, left = shortfall(start, start.problem.leader), shortfall(candidate.solution, candidate.leader)
    help_ = before - left
    if help_ <= before * _LEAST_HELP * fraction:
        return False
    if left <= 0:
        # a plan that reaches every band is worth any price: a later run would apply it
        return True
    return help_ >= _price(start, candidate) * _LEAST_HELP_A_BYTE and _helps_copies_alike(start, candidate, fraction)


def _helps_copies_alike(start: Solution, candidate: Candidate, fraction: float) -> bool:
    """Whether the plan would help if all copies of a partition were as large as its leader's.

    A plan that helps only because copies take the size of their leader's takes out nothing that one plan could: a copy
    that returns to its broker is as large as it was. So each plan would be followed by another.
    """
    if start.sizes_agree():
        return True
    before = shortfall(start.with_equal_copies(), start.problem.leader)
    return (
        before - shortfall(candidate.solution.with_equal_copies(), candidate.leader) > before * _LEAST_HELP * fraction
    )


def _price(start: Solution, candidate: Candidate) -> float:
    """Bytes moved for balance alone, in fair shares of a broker."""
    solution, weighed = candidate.solution, start.problem.weighed
    moved = solution.moved() & (solution.why <= MoveCause.BALANCE)
    fair_bytes = start.used[weighed].sum() / max(1, int(weighed.sum()))
    return float((moved.sum(1) * solution.problem.arriving_bytes).sum() / max(1.0, fair_bytes))
