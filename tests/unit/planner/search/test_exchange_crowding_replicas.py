"""Topics leave brokers that hold too many of their replicas by exchanges, where disks have no room for them alone."""

import numpy as np
import pytest

from kafkabal.planner import PlanOptions, make_plan
from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.exchange_crowding_replicas import exchange_crowding_replicas
from kafkabal.planner.search.search_phases import repair
from kafkabal.planner.search.solution import Solution
from kafkabal.testing import SyntheticWorld, make_world
from kafkabal.testing.plan_checker import check_plan

HALF = frozenset({1, 2, 3, 4, 5, 6})


def crowded_topics(solution: Solution) -> int:
    """Pairs of topics and brokers that hold too many replicas of them."""
    assert solution.topic_count is not None
    brokers = np.flatnonzero(solution.problem.counted)
    topics = np.arange(solution.problem.n_topics)[:, None]
    return int((solution.topic_count[:, brokers] > solution.bands.topic_most(topics, brokers)).sum())


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_drain_to_nearly_full_brokers_spreads_topics(seed: int) -> None:
    """Half of twelve brokers take everything up to nearly their limits, and no topic crowds any of them."""
    state = make_world(SyntheticWorld(seed=seed, brokers=12, racks=3))
    plan = make_plan(state, PlanOptions(drain=HALF, log_dir_limit=0.84))
    verdict = check_plan(state, plan, tolerance=0.09, drain=HALF)

    assert plan.warnings == ()
    assert verdict.faults == []
    assert not any(verdict.outside.values())


def test_exchanges_keep_racks_limits_and_numbers() -> None:
    """Fewer topics crowd a broker afterwards; racks, limits and numbers of replicas are as before."""
    state = make_world(SyntheticWorld(seed=1, brokers=12, racks=3))
    solution = Solution(build_problem(state, PlanOptions(drain=HALF, log_dir_limit=0.84)))
    repair(solution, NO_LISTENER)
    crowded, count = crowded_topics(solution), solution.count.copy()
    exchange_crowding_replicas(solution)

    assert crowded > 0
    assert crowded_topics(solution) < crowded
    assert (solution.count == count).all()
    assert (solution.used <= solution.problem.limit_bytes).all()
    assert not solution.narrow().any()
