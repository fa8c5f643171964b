"""Adds to a plan without its waiting moves what the next plan would move, as far as one run can start it all.

Where moves that wait for each other are left out, replicas stay where the search did not expect them, so that the next
plan, for the cluster as this one leaves it, finds something else to do::

    repeat
        next = the plan for the cluster once this one is applied
        both = the placement after the next plan, reached directly
        take both, unless moves of it wait for each other too: then it takes two runs
    until the next plan changes nothing
"""

from __future__ import annotations

from kafkabal.planner.leaders_and_log_dirs_that_stay import may_lead
from kafkabal.planner.moves_without_room import startable_part, stuck_partitions
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_short_of_bands import FoundPlacement, is_unchanged, lasting_placement, returns_what_was_lost
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.keep_within_budget import exceeds_budget
from kafkabal.planner.search.solution import Solution

_MOST_PLANS = 12
"""A limit: each further plan has to help by a hundredth, so that one or two are added."""


def with_next_plans(start: Solution, found: FoundPlacement, listener: PlanListener) -> FoundPlacement:
    """The placement that the next plans lead to, as far as one run can reach it; no move of it waits forever."""
    problem = start.problem
    for _ in range(_MOST_PLANS):
        begin = Solution(build_problem(found.after, problem.options))
        then = startable_part(begin, lasting_placement(begin, listener))
        if is_unchanged(begin, then.after) or returns_what_was_lost(found.candidate.solution, then.after):
            break
        both = found.candidate._replace(solution=found.candidate.solution.copy()).adopt(then.after)
        if stuck_partitions(both).size or exceeds_budget(both.solution) or not may_lead(problem, both.leader):
            break
        found = then._replace(candidate=both, after=both.to_state())
    return found
