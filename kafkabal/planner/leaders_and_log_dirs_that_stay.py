"""Chooses leaders and log dirs as the next plan would, where it will know more than the search did."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32, ClusterState, is_estimated
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import Problem, build_problem
from kafkabal.planner.search.assign_leaders import assign_leaders
from kafkabal.planner.search.assign_log_dirs import choose_log_dirs
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import Candidate
from kafkabal.planner.solution_to_state import solution_to_state


def with_leaders_and_log_dirs_that_stay(
    candidate: Candidate, after: ClusterState, listener: PlanListener
) -> tuple[Candidate, ClusterState]:
    """The candidate with these leaders and log dirs, and the cluster once all is applied.

    Parameters
    ----------
    after
        The cluster once the candidate is applied.
    """
    candidate, after = _with_leaders(candidate, after, listener)
    return _with_log_dirs(candidate, after, listener)


def moves_what_is_only_repaired(candidate: Candidate) -> bool:
    """Whether partitions move that may not move for balance, such as those of internal topics on a drained broker.

    Bands count their replicas and leaders on top of a broker's fair share, so they are known only once these arrived.
    """
    problem = candidate.solution.problem
    return bool((candidate.solution.moved().any(1) & problem.movable & ~problem.rules.movable).any())


def _with_leaders(candidate: Candidate, after: ClusterState, listener: PlanListener) -> tuple[Candidate, ClusterState]:
    """Choose leaders as the next plan would; returns the result, and the cluster once all is applied.

    A partition that moves only because it is broken, such as one of an internal topic on a drained broker, goes to a
    broker that is unknown when the fair number of leaders is calculated. The next plan knows it, and would hand
    leadership on.
    """
    problem = candidate.solution.problem
    if problem.options.mode is not Mode.FULL or not moves_what_is_only_repaired(candidate):
        return candidate, after
    listener.step("leaders again")
    leader = assign_leaders(Solution(build_problem(after, problem.options)))
    if not may_lead(problem, leader):
        return candidate, after
    candidate = candidate._replace(leader=leader)
    return candidate, candidate.to_state()


def _with_log_dirs(candidate: Candidate, after: ClusterState, listener: PlanListener) -> tuple[Candidate, ClusterState]:
    """Choose log dirs as the next plan would; returns the result, and the cluster once all is applied.

    A copy of unknown size counts as large as its leader's, and the plan may change the leader.
    """
    options = candidate.solution.problem.options
    several = bool((np.diff(after.log_dirs.first) > 1).any())
    if options.mode is not Mode.FULL or not several or not is_estimated(after).any():
        return candidate, after
    listener.step("log dirs again")
    later = Solution(build_problem(after, options))
    log_dir, _ = choose_log_dirs(later)
    candidate = candidate.adopt(solution_to_state(later, later.problem.leader, log_dir))
    return candidate, candidate.to_state()


def may_lead(problem: Problem, leader: I32) -> bool:
    """Whether no more leaders change than allowed, and none to a copy out of sync because it left and came back."""
    changes = leader != problem.leader
    stale = ((problem.previous == leader[:, None]) & ~problem.electable).any(1)
    most, had = problem.options.max_leader_changes, problem.state.partitions.leader >= 0
    return not (changes & stale).any() and (most is None or int((changes & had).sum()) <= most)
