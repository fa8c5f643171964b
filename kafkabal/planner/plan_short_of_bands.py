"""If bands are out of reach: continue as long as it helps, and move nothing that does not.

::

    a plan is worth it if it repairs a rule, or removes a hundredth of what is beyond limits of the user, or of the
        excess, also with all copies of a partition as large as its leader's, at a fair price in bytes
    give up if it is not
    repeat: search again from the result, as a later run does, leaders and log dirs included, by the bands that hold
        then, until that changes nothing; if plans lead in a circle, end where this and the next plan move least
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import ClusterState, is_estimated
from kafkabal.planner.leaders_and_log_dirs_that_stay import (
    may_lead,
    moves_what_is_only_repaired,
    with_leaders_and_log_dirs_that_stay,
)
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.band_violation import beyond_limits
from kafkabal.planner.search.relieve_log_dirs import bytes_beyond_limits
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import Candidate, search
from kafkabal.planner.shortfall import shortfall, warnings_of

_MOST_REPEATS = 24
"""A limit: each repeat has to help by a hundredth again, so that only a few are made. What cordoned brokers are due
falls with what they hold, so that with several of them nine repeats were seen."""
_LEAST_HELP = 0.01
"""Fraction of what is outside. Less would move data every night for what no table shows, more would leave imbalance
that operators see."""

_LEAST_HELP_A_BYTE = 0.1
"""Per fair share of bytes moved for balance. If followers differ in size, each search finds another hundredth for
several fair shares of bytes, and the sizes that copies have in the end undo it: on such a drawn cluster the 24 repeats
took out 0.02 to 0.05, and a second plan moved 36% as many bytes as the first. First plans took out 31 to 73 in five
drawn clusters."""


class FoundPlacement(NamedTuple):
    """A placement to take."""

    candidate: Candidate
    after: ClusterState
    """The cluster once it is applied."""
    warnings: tuple[str, ...]
    falls_short: bool
    """Whether the search went as far as it could and still left something outside its band."""


def lasting_placement(start: Solution, listener: PlanListener) -> FoundPlacement:
    """Search for a placement; if it falls short of a band, continue until a later run would find nothing to do."""
    problem = start.problem
    first = _place(start, listener)
    if not first.falls_short or is_unchanged(start, first.after):
        return first
    candidate, after = first.candidate, first.after
    visited: dict[bytes, tuple[int, ClusterState]] = {}
    for _ in range(_MOST_REPEATS):
        # the same steps that a later run takes, from the sizes that copies have by then
        begin = Solution(build_problem(after, problem.options))
        again = _place(begin, listener)
        if is_unchanged(begin, again.after) or not may_lead(problem, again.candidate.leader):
            break
        if returns_what_was_lost(candidate.solution, again.after):
            break
        bytes_ = candidate.solution.moved_bytes() + again.candidate.solution.moved_bytes()
        visited[_placed(candidate)] = bytes_, after
        candidate = candidate.adopt(again.after)
        after = candidate.to_state()
        placed = _placed(candidate)
        if placed in visited:
            # a copy that returns to its broker never left it, and is as large as it was: the search goes in circles
            circle = list(visited.values())[list(visited).index(placed) :]
            candidate = candidate.adopt(min(circle, key=lambda stop: stop[0])[1])
            after = candidate.to_state()
            break
    return FoundPlacement(candidate, after, _warnings(candidate, after), falls_short=True)


def _place(start: Solution, listener: PlanListener) -> FoundPlacement:
    """One search, with the leaders and log dirs that stay; nothing moves if that is not worth it.

    A plan that repairs no rule and helps less than :data:`_LEAST_HELP` is not worth a single byte; see
    :func:`is_worth_it`.
    """
    found = search(start, listener)
    warnings = _warnings_by(found.solution, found)
    is_full = start.problem.options.mode is Mode.FULL
    is_short = is_full and bool(warnings)
    candidate, after = with_leaders_and_log_dirs_that_stay(found, found.to_state(), listener)
    if candidate is not found or moves_what_is_only_repaired(candidate):
        warnings = _warnings(candidate, after)
    is_short = is_short or (is_full and (bool(warnings) or _differs_once_applied(candidate, after)))
    if is_short and not is_worth_it(start, candidate):
        # the search also knows which broken replicas found no place: the start does not
        after = start.problem.state
        unmoved = candidate.adopt(after)._replace(leader=start.problem.leader)
        candidate, after = with_leaders_and_log_dirs_that_stay(unmoved, after, listener)
        warnings = _warnings(candidate, after)
    return FoundPlacement(candidate, after, warnings, is_short)


def _warnings(candidate: Candidate, after: ClusterState) -> tuple[str, ...]:
    """Warnings by the bands that hold once the placement is applied."""
    options = candidate.solution.problem.options
    if options.mode in {Mode.FULL, Mode.ONLY_TO_NEW} and moves_what_is_only_repaired(candidate):
        return _warnings_by(Solution(build_problem(after, options)), candidate)
    return _warnings_by(candidate.solution, candidate)


def _warnings_by(judged: Solution, candidate: Candidate) -> tuple[str, ...]:
    return warnings_of(candidate.solution, candidate.leader, candidate.unplaced, judged)


def _differs_once_applied(candidate: Candidate, after: ClusterState) -> bool:
    """Whether a broker is outside its band once the plan is applied, though not by the loads of the search.

    A copy of unknown size counts as large as its leader; another leader may have another size. Brokers that accept
    nothing are due no more than they hold, so that others are due what they lose.
    """
    solution, problem = candidate.solution, candidate.solution.problem
    is_closed = bool((problem.counted & ~problem.takes).any())
    if not is_closed and (solution.sizes_agree() or not is_estimated(problem.state).any()):
        return False
    later = Solution(build_problem(after, problem.options))
    return shortfall(later, later.problem.leader) > 0


def is_unchanged(start: Solution, after: ClusterState) -> bool:
    """Whether a plan that leads to this cluster changes nothing."""
    before = start.problem.state
    return all(
        np.array_equal(*columns)
        for columns in (
            (before.partitions.first, after.partitions.first),
            (before.partitions.leader, after.partitions.leader),
            (before.replicas.broker, after.replicas.broker),
            (before.replicas.log_dir, after.replicas.log_dir),
        )
    )


def returns_what_was_lost(solution: Solution, after: ClusterState) -> bool:
    """Whether a broker that a replica left because of its offline log dir holds the partition again.

    A later plan could copy it to another log dir of that broker. In one plan it would never have left, and Kafka
    completes no reassignment that keeps an offline replica.
    """
    problem, r = solution.problem, after.replicas
    p, k = np.nonzero(problem.lost & ~solution.stays())
    held = r.partition.astype(np.int64) * problem.n_brokers + r.broker
    return bool(np.isin(p * problem.n_brokers + problem.previous[p, k], held).any())


def _placed(candidate: Candidate) -> bytes:
    """The placement of all replicas, with their leaders and log dirs."""
    columns = np.sort(candidate.solution.placement, axis=1), candidate.leader, np.sort(candidate.log_dir, axis=1)
    return b"".join(column.tobytes() for column in columns)


def is_worth_it(start: Solution, candidate: Candidate, fraction: float = 1.0) -> bool:
    """Whether a plan that does not reach the bands repairs a rule, changes the replication factor, brings a broker
    closer to a limit of the user or a log dir closer to that of its volume, or helps enough.

    Parameters
    ----------
    fraction
        Fraction of the bytes of a plan that the candidate moves; it has to help by this fraction only.
    """
    return (
        _mends(candidate)
        or _obeys(start, candidate, fraction)
        or _relieves(start, candidate, fraction)
        or _helps(start, candidate, fraction)
    )


def _mends(candidate: Candidate) -> bool:
    """Whether something moves because of a rule, or the replication factor falls as requested."""
    solution = candidate.solution
    return bool((solution.moved() & (solution.why >= MoveCause.RACK)).any() or solution.dropped().any())


def _obeys(start: Solution, candidate: Candidate, fraction: float) -> bool:
    """Whether brokers end less far beyond the limits of the user, whatever that does to bands."""
    before = beyond_limits(start)
    return before - beyond_limits(candidate.solution) > before * _LEAST_HELP * fraction


def _relieves(start: Solution, candidate: Candidate, fraction: float) -> bool:
    """Whether volumes end less far beyond their limits, whatever that does to bands."""
    before = int(bytes_beyond_limits(start, LogDirAssignment(start).previous).sum())
    left = int(bytes_beyond_limits(candidate.solution, candidate.log_dir).sum())
    return before - left > before * _LEAST_HELP * fraction


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
