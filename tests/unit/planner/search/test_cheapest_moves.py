"""With copies of different sizes, a removed replica without a place returns without breaking a rule."""

import pytest

from kafkabal.planner.lower_bound import guidance_of
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.cheapest_moves import move_cheapest
from kafkabal.planner.search.solution import Solution
from kafkabal.testing import SyntheticWorld, make_world


@pytest.mark.parametrize("seed", range(12))
def test_returning_replicas_keep_the_rack_spread(seed: int) -> None:
    """If another replica of its partition has come to the rack that it left, both return, or neither."""
    world = SyntheticWorld(seed=seed, brokers=12, racks=4, topics=60, skew=1.5, follower_jitter=0.3)
    solution = Solution(build_problem(make_world(world), PlanOptions(tolerance=0.02)))
    solution.guidance = guidance_of(solution)
    move_cheapest(solution, 0.0)

    assert solution.moved().any()
    assert not solution.narrow().any()
    assert (solution.placement[solution.is_position] >= 0).all()
