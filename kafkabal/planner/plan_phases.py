"""Make a plan: repair what breaks a rule, bring every score inside its band, with as few bytes moved as possible."""

from __future__ import annotations

import numpy as np

from kafkabal.model import ClusterState, is_estimated
from kafkabal.plan import Plan, ScoreChange, cross_rack_bytes, make_changes, topic_ids
from kafkabal.planner.budgeted_part import instalment
from kafkabal.planner.drain_leftovers import remains_of
from kafkabal.planner.lower_bound import bound_bytes
from kafkabal.planner.move_reasons import LoadsBefore, MoveReasons
from kafkabal.planner.plan_listener import NO_LISTENER, PlanListener
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_short_of_bands import falls_short, may_lead, persist
from kafkabal.planner.problem import Problem, build_problem
from kafkabal.planner.search.assign_leaders import assign_leaders
from kafkabal.planner.search.assign_log_dirs import choose_log_dirs
from kafkabal.planner.search.keep_within_budget import exceeds_budget
from kafkabal.planner.search.search_phases import is_reached
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import Candidate, search
from kafkabal.planner.shortfall import left_over, unrepaired_of, warnings_of
from kafkabal.planner.solution_to_state import solution_to_state
from kafkabal.scoring import Evaluation, evaluate


def make_plan(state: ClusterState, options: PlanOptions | None = None, listener: PlanListener = NO_LISTENER) -> Plan:
    """Make a plan.

    Raises
    ------
    UsageError
        If an option does not fit the cluster, or a score lacks what it needs.
    ConfigError
        If the capacity of only some brokers is known.
    InfeasibleError
        If a requested hard rule cannot be met.
    """
    options = options or PlanOptions()
    problem = build_problem(state, options)
    start = Solution(problem)
    before = LoadsBefore.of(start)
    candidate = search(start, listener)
    found, warnings = candidate, _warnings(candidate)
    if falls_short(candidate, warnings):
        candidate, after = persist(start, candidate, listener)
    else:
        after = candidate.to_state()
    candidate, after = _with_leaders_that_stay(candidate, after, listener)
    candidate, after = _with_log_dirs_that_stay(candidate, after, listener)
    if candidate is not found:
        warnings = _warnings(candidate)
    if options.mode in {Mode.FULL, Mode.ONLY_TO_NEW} and _moves_what_is_only_repaired(candidate):
        warnings = _warnings(candidate, judged=Solution(build_problem(after, options)))
    unrepaired = unrepaired_of(candidate.solution, candidate.unplaced)
    if exceeds_budget(candidate.solution):
        listener.step("budget")
        full = candidate.solution
        candidate, after = instalment(start, candidate, listener)
        warnings = (*(f"even without a budget: {line}" for line in warnings), *left_over(full, candidate.solution))
    warnings += remains_of(problem, after)
    listener.step("bound")
    bound = _bound(start, candidate.solution)
    listener.step("changes")
    changes = make_changes(state, after, MoveReasons(candidate.solution, before, candidate.leader))
    return Plan(
        partitions=changes,
        cluster_id=state.cluster_id,
        taken_at=state.taken_at,
        options=options.as_json(),
        seed=options.seed,
        bound_bytes=bound,
        cross_rack_bytes=cross_rack_bytes(state, changes),
        scores=_scores(problem, after),
        warnings=warnings,
        unrepaired=unrepaired,
        topic_ids=topic_ids(state, (change.topic for change in changes)),
    )


def _warnings(candidate: Candidate, judged: Solution | None = None) -> tuple[str, ...]:
    return warnings_of(candidate.solution, candidate.leader, candidate.unplaced, judged or candidate.solution)


def _moves_what_is_only_repaired(candidate: Candidate) -> bool:
    """Whether partitions move that may not move for balance, such as those of internal topics on a drained broker.

    Bands count their replicas and leaders on top of a broker's fair share, so they are known only once these arrived.
    """
    problem = candidate.solution.problem
    return bool((candidate.solution.moved().any(1) & problem.movable & ~problem.rules.movable).any())


def _with_leaders_that_stay(
    candidate: Candidate, after: ClusterState, listener: PlanListener
) -> tuple[Candidate, ClusterState]:
    """Choose leaders as the next plan would; returns the result, and the cluster once all is applied.

    A partition that moves only because it is broken, such as one of an internal topic on a drained broker, goes to a
    broker that is unknown when the fair number of leaders is calculated. The next plan knows it, and would hand
    leadership on.
    """
    problem = candidate.solution.problem
    if problem.options.mode is not Mode.FULL or not _moves_what_is_only_repaired(candidate):
        return candidate, after
    listener.step("leaders again")
    leader = assign_leaders(Solution(build_problem(after, problem.options)))
    if not may_lead(problem, leader):
        return candidate, after
    candidate = candidate._replace(leader=leader)
    return candidate, candidate.to_state()


def _with_log_dirs_that_stay(
    candidate: Candidate, after: ClusterState, listener: PlanListener
) -> tuple[Candidate, ClusterState]:
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


def _bound(start: Solution, solution: Solution) -> int | None:
    """The lower bound, if the plan was meant to reach the bands with the fewest bytes, and reaches them."""
    options = start.problem.options
    asks_more = options.below is not None or options.replication_factor is not None
    if options.mode is not Mode.FULL or asks_more or start.problem.lost.any() or not is_reached(solution):
        return None
    moved = solution.moved_bytes()
    # bands forgive brokers that are barely outside, the bound does not
    return min(bound_bytes(start, moved), moved)


def _scores(problem: Problem, after: ClusterState) -> dict[str, ScoreChange]:
    tolerance, drained = problem.options.tolerance, problem.leaves
    changes = {}
    for weighted in problem.scores:
        score = weighted.score
        pair = [
            _figures(evaluate(score, c, tolerance=tolerance, drained=drained, rules=problem.rules))
            for c in (problem.state, after)
        ]
        changes[score.name] = ScoreChange(before=pair[0], after=pair[1])
    return changes


def _figures(found: Evaluation) -> dict[str, float]:
    return {
        "max": round(found.max_share, 6),
        "min": round(found.min_share, 6),
        "skew": round(found.skew, 6),
        "outside": int(found.outside.sum()),
    }
