"""The phases of the search, one after another."""

import numpy as np
import pytest

from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search import search_phases
from kafkabal.planner.search.bulk_moves import USUAL_PACE
from kafkabal.planner.search.search_phases import balance, is_outside
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def test_a_round_that_changes_nothing_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """If followers differ in size and bands are out of reach, an idle round of local search is not repeated."""
    world = SyntheticWorld(seed=1, brokers=12, racks=3, topics=5, most_partitions=3, follower_jitter=0.1)
    solution = Solution(build_problem(make_world(world), PlanOptions(tolerance=0.02)))
    search_locally, changed = search_phases.search_locally, list[bool]()

    def watched(state: Solution, convexity: float = 0.0, *, compare: bool = False) -> None:
        before = state.placement.copy()
        search_locally(state, convexity, compare=compare)
        if not convexity:
            changed.append(not np.array_equal(state.placement, before))

    monkeypatch.setattr(search_phases, "search_locally", watched)
    balance(solution, NO_LISTENER, USUAL_PACE)

    assert is_outside(solution)
    assert changed[-1] is False
    assert changed.count(False) == 1
