"""Make a plan: repair what breaks a rule, bring every score inside its band, with as few bytes moved as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.plan.difference import make_changes
from kafkabal.plan.plan import Plan, ScoreChange
from kafkabal.planner.bound import bound_bytes
from kafkabal.planner.listener import SILENT
from kafkabal.planner.options import PlanOptions
from kafkabal.planner.outcome import make_outcome
from kafkabal.planner.problem import build_problem
from kafkabal.planner.reasons import Reasons
from kafkabal.planner.search.balance import balance
from kafkabal.planner.search.dirs import choose_log_dirs
from kafkabal.planner.search.leaders import choose_leaders
from kafkabal.planner.search.state import State
from kafkabal.scoring.evaluation import Evaluation, evaluate

if TYPE_CHECKING:
    from kafkabal.model.state import ClusterState
    from kafkabal.planner.listener import PlanListener
    from kafkabal.planner.problem import Problem


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
    problem = build_problem(cluster, options or PlanOptions())
    state = State(problem)
    bands, used, count = state.bands, state.used.copy(), state.count.copy()
    bound = bound_bytes(state)
    balance(state, listener)
    listener.step("log dirs")
    log_dir, _ = choose_log_dirs(state)
    listener.step("leaders")
    leader = choose_leaders(state)
    listener.step("changes")
    after = make_outcome(state, leader, log_dir)
    leads = np.bincount(problem.leader[problem.leader >= 0], minlength=problem.n_brokers)
    reasons = Reasons(state, bands, used, count, leads, leader)
    return Plan(
        partitions=make_changes(cluster, after, reasons),
        cluster_id=cluster.cluster_id,
        taken_at=cluster.taken_at,
        options=problem.options.as_json(),
        seed=problem.options.seed,
        bound_bytes=bound,
        scores=_scores(problem, after),
    )


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
