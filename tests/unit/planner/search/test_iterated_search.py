"""Continuing from a local optimum in a small cluster."""

from dataclasses import replace

import numpy as np
import pytest

from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search import iterated_search
from kafkabal.planner.search.iterated_search import search_iteratively
from kafkabal.planner.search.local_search import search_locally
from kafkabal.planner.search.search_phases import is_outside
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def local_optimum() -> Solution:
    """Eighteen partitions on six brokers, after a local search alone."""
    world = SyntheticWorld(seed=3, brokers=6, racks=3, topics=6, most_partitions=4, skew=1.5)
    state = Solution(build_problem(make_world(world), PlanOptions(tolerance=0.2, scores=load_scores(["disk"]))))
    search_locally(state)
    return state


def test_a_local_optimum_is_improved_and_the_rules_stay_kept() -> None:
    """Fewer bytes move, brokers are inside their bands, partitions in as many racks as before; the same once more."""
    state = local_optimum()
    assert not is_outside(state)
    found = search_iteratively(state, 0)

    assert found.moved_bytes() < state.moved_bytes()
    assert not is_outside(found)
    assert not found.narrow().any()
    assert found.used.sum() == state.used.sum()
    # the seed in the options alone decides what is perturbed
    assert np.array_equal(search_iteratively(local_optimum(), 0).placement, found.placement)


def test_a_solution_near_the_bound_is_not_changed() -> None:
    """A placement that moves no more than required is not searched further."""
    state = local_optimum()
    assert search_iteratively(state, state.moved_bytes()) is state


@pytest.mark.parametrize(("racks", "tries"), [(3, 18), (0, 10)])
def test_joint_moves_are_tried_less_often_where_each_try_takes_longer(racks: int, tries: int) -> None:
    """Of 138 replicas on nine brokers, those that may go to any of them leave more moves to choose from than those that
    are bound to their rack, so that fewer plans are tried."""
    world = SyntheticWorld(brokers=9, racks=3, topics=10, most_partitions=8, skew=1.5)
    problem = build_problem(make_world(world), PlanOptions())
    if not racks:
        problem = replace(problem, rack=np.arange(9, dtype=np.int32), n_racks=9)
    assert iterated_search._joint_tries(Solution(problem)) == tries
