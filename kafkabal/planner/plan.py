"""Make a plan: repair what breaks a rule, bring every score inside its band, with as few bytes moved as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkabal.plan.difference import make_changes
from kafkabal.plan.plan import Plan, ScoreChange
from kafkabal.planner.bound import bound_bytes
from kafkabal.planner.listener import SILENT
from kafkabal.planner.options import Mode, PlanOptions
from kafkabal.planner.outcome import make_outcome
from kafkabal.planner.problem import build_problem
from kafkabal.planner.reasons import Before, Reasons
from kafkabal.planner.search.balance import balance, is_outside, repair
from kafkabal.planner.search.budget import has_budget, send_home
from kafkabal.planner.search.dirs import choose_log_dirs
from kafkabal.planner.search.further import even_placement
from kafkabal.planner.search.further_loads import FurtherLoads, further_scores
from kafkabal.planner.search.leaders import choose_leaders
from kafkabal.planner.search.push import USUAL_PACE
from kafkabal.planner.search.state import State
from kafkabal.planner.shortfall import refuse_if_infeasible, shortfall, warnings_of
from kafkabal.planner.why import Why
from kafkabal.scoring.evaluation import Evaluation, evaluate

if TYPE_CHECKING:
    from kafkabal.model.state import I32, I64, ClusterState
    from kafkabal.planner.listener import PlanListener
    from kafkabal.planner.problem import Problem

_MOST_REPEATS = 8
_LEAST_HELP = 0.01
_SMALL = 20_000
"""Slots up to which a search takes a fraction of a second, so that several are tried."""
_OTHER_PACES = (1 / 12, 1 / 2)
_CLOSE = 0.001


def make_plan(cluster: ClusterState, options: PlanOptions | None = None, listener: PlanListener = SILENT) -> Plan:
    """Make a plan.

    Raises
    ------
    UsageError
        If an option does not fit the cluster, or a score lacks what it needs.
    ConfigError
        If the capacity of only some brokers is known.
    InfeasibleError
        If a hard rule that was asked for cannot be met.
    """
    options = options or PlanOptions()
    problem = build_problem(cluster, options)
    start = State(problem)
    before = Before.of(start)
    draft = _search(start, listener)
    after = make_outcome(draft.state, draft.leader, draft.log_dir)
    if _falls_short(draft):
        draft, after = _persist(start, draft, after, listener)
    state, leader = draft.state, _leaders_of(draft, after)
    listener.step("bound")
    bound = _bound(start, state)
    listener.step("changes")
    return Plan(
        partitions=make_changes(cluster, after, Reasons(state, before, leader)),
        cluster_id=cluster.cluster_id,
        taken_at=cluster.taken_at,
        options=options.as_json(),
        seed=options.seed,
        bound_bytes=bound,
        scores=_scores(problem, after),
        warnings=warnings_of(state, leader, draft.homeless),
    )


class _Draft(NamedTuple):
    state: State
    leader: I32
    log_dir: I32
    homeless: I64


def _search(start: State, listener: PlanListener) -> _Draft:
    """The best of some searches; of one where the cluster is large or the first is close to the bound."""
    problem, repaired = start.problem, start.copy()
    homeless = repair(repaired, listener)
    if problem.home.size > _SMALL or problem.options.mode is not Mode.FULL or has_budget(repaired):
        return _attempt(start, repaired, homeless, listener, USUAL_PACE)
    best = _attempt(start, repaired.copy(), homeless, listener, USUAL_PACE)
    bound = bound_bytes(start, best.state.moved_bytes())
    for pace in _OTHER_PACES:
        if best.state.moved_bytes() <= bound * (1 + _CLOSE) and not is_outside(best.state):
            break
        best = min(best, _attempt(start, repaired.copy(), homeless, listener, pace), key=_merit)
    return best


def _attempt(start: State, state: State, homeless: I64, listener: PlanListener, pace: float) -> _Draft:
    balance(start, state, listener, pace)
    if _may_exchange_for_further(state):
        listener.step("further scores")
        even_placement(state, FurtherLoads(state, choose_leaders(state)))
    listener.step("log dirs")
    log_dir, left = _log_dirs(state)
    homeless = np.concatenate((homeless, left))
    refuse_if_infeasible(state, homeless)
    listener.step("leaders")
    return _Draft(state, choose_leaders(state), log_dir, homeless)


def _may_exchange_for_further(state: State) -> bool:
    """Whether replicas may be exchanged for the sake of further scores; a budget leaves these to leadership."""
    problem = state.problem
    return problem.options.mode is Mode.FULL and bool(further_scores(problem)) and not has_budget(state)


def _merit(draft: _Draft) -> tuple[float, int, int]:
    """What lies outside, then bytes, then moves: the less the better."""
    return shortfall(draft.state, draft.leader), draft.state.moved_bytes(), int(draft.state.moved().sum())


def _falls_short(draft: _Draft) -> bool:
    """Whether the search went as far as it could and still left something outside its band."""
    options = draft.state.problem.options
    if options.mode is not Mode.FULL or has_budget(draft.state) or options.replication_factor is not None:
        return False
    return bool(warnings_of(draft.state, draft.leader, draft.homeless))


def _persist(start: State, draft: _Draft, after: ClusterState, listener: PlanListener) -> tuple[_Draft, ClusterState]:
    """Where bands are out of reach, go on from the result as long as it helps, so that a later run finds nothing.

    What mends no rule and helps less than :data:`_LEAST_HELP` is not worth a single byte.
    """
    problem = start.problem
    left = shortfall(start, problem.leader)
    if not _mends(draft) and not _helps(draft, left):
        return _Draft(start, problem.leader, draft.log_dir, draft.homeless), problem.cluster
    for _ in range(_MOST_REPEATS):
        left = shortfall(draft.state, _leaders_of(draft, after))
        again = _search(State(build_problem(after, problem.options)), listener)
        if not _helps(again, left):
            break
        after = make_outcome(again.state, again.leader, again.log_dir)
        draft.state.adopt(after)
    return draft, after


def _mends(draft: _Draft) -> bool:
    """Whether something moves for the sake of a rule."""
    return bool((draft.state.moved() & (draft.state.why >= Why.RACK)).any())


def _helps(draft: _Draft, before: float) -> bool:
    return shortfall(draft.state, draft.leader) < before * (1 - _LEAST_HELP)


def _leaders_of(draft: _Draft, after: ClusterState) -> I32:
    """Who is to lead, where the plan lists the partition; who leads else."""
    led = after.partitions.leader
    return np.where(led >= 0, led, draft.leader).astype(np.int32)


def _log_dirs(state: State) -> tuple[I32, I64]:
    """Log dirs of all slots, and cells that should have left home but for which no dir has room."""
    homeless = [np.empty(0, np.int64)]
    log_dir, left = choose_log_dirs(state)
    while left.size:
        p, k = left // state.width, left % state.width
        homeless.append(left[state.why[p, k] >= Why.RACK])
        send_home(state, p, k)
        log_dir, left = choose_log_dirs(state)
    return log_dir, np.concatenate(homeless)


def _bound(start: State, state: State) -> int | None:
    """The bound, where the plan was to reach the bands with as few bytes as possible, and does."""
    options = start.problem.options
    asks_more = options.below is not None or options.replication_factor is not None
    if options.mode is not Mode.FULL or asks_more or is_outside(state):
        return None
    return bound_bytes(start, state.moved_bytes())


def _scores(problem: Problem, after: ClusterState) -> dict[str, ScoreChange]:
    tolerance, drained = problem.options.tolerance, problem.leaves
    changes = {}
    for weighted in problem.scores:
        score = weighted.score
        pair = [_figures(evaluate(score, c, tolerance=tolerance, drained=drained)) for c in (problem.cluster, after)]
        changes[score.name] = ScoreChange(before=pair[0], after=pair[1])
    return changes


def _figures(found: Evaluation) -> dict[str, float]:
    return {
        "max": round(found.max_share, 6),
        "min": round(found.min_share, 6),
        "skew": round(found.skew, 6),
        "outside": int(found.outside.sum()),
    }
