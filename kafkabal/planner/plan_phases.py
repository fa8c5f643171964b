"""Make a plan: repair what breaks a rule, bring every score inside its band, with as few bytes moved as possible."""

from __future__ import annotations

from kafkabal.model import ClusterState
from kafkabal.plan import Plan, ScoreChange, cross_rack_bytes, make_changes, topic_ids
from kafkabal.planner.budgeted_part import instalment
from kafkabal.planner.continue_plan import with_next_plans
from kafkabal.planner.drain_leftovers import remains_of
from kafkabal.planner.lower_bound import bound_bytes
from kafkabal.planner.move_reasons import LoadsBefore, MoveReasons
from kafkabal.planner.moves_without_room import startable_part, stuck_partitions
from kafkabal.planner.plan_listener import NO_LISTENER, PlanListener
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_short_of_bands import FoundPlacement, lasting_placement
from kafkabal.planner.problem import Problem, build_problem
from kafkabal.planner.search.assign_log_dirs import without_refused_log_dirs
from kafkabal.planner.search.keep_within_budget import exceeds_budget
from kafkabal.planner.search.search_phases import is_reached
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.shortfall import left_over, unrepaired_of
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
    found = lasting_placement(start, listener)
    unrepaired = unrepaired_of(found.candidate.solution, found.candidate.unplaced)
    is_whole = not exceeds_budget(found.candidate.solution)
    if not is_whole:
        listener.step("budget")
        found = _affordable(start, found, listener)
    if stuck_partitions(found.candidate).size:
        found = startable_part(start, found)
        if is_whole:
            found = with_next_plans(start, found, listener)
        unrepaired = unrepaired_of(found.candidate.solution, found.candidate.unplaced)
    candidate, after = found.candidate, found.after
    warnings = found.warnings + remains_of(problem, after)
    listener.step("bound")
    bound = _bound(start, candidate.solution)
    listener.step("changes")
    reasons = MoveReasons(candidate.solution, before, candidate.leader)
    changes = make_changes(state, without_refused_log_dirs(after), reasons)
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


def _affordable(start: Solution, found: FoundPlacement, listener: PlanListener) -> FoundPlacement:
    """The part of a placement that the budget covers."""
    candidate, after = instalment(start, found.candidate, listener)
    whole = (f"even without a budget: {line}" for line in found.warnings)
    left = left_over(found.candidate.solution, candidate.solution)
    return found._replace(candidate=candidate, after=after, warnings=(*whole, *left))


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
