"""The relaxation behind the bound, evaluated for whole classes of replicas and for single ones."""

import numpy as np
import pytest

from kafkabal.model import Bools
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.relaxation import Relaxation
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


class Single(Relaxation):
    """Looks at every replica at all potentials."""

    def _merge(self, by_topic: Bools, by_count: Bools) -> None:
        pass


@pytest.mark.parametrize(
    "world",
    [
        SyntheticWorld(seed=1, brokers=9, racks=3, topics=80, skew=1.5),
        SyntheticWorld(seed=2, brokers=9, racks=3, topics=80, skew=1.5, rack_blind=True),
        SyntheticWorld(seed=3, brokers=9, racks=3, topics=80, skew=1.5, dead=1, rack_blind=True),
        SyntheticWorld(seed=4, brokers=10, racks=4, topics=80, skew=1.5, unknown=0.1, half_sized=True),
    ],
    ids=["racks", "rack-blind", "dead", "unknown sizes"],
)
def test_merged_replicas_give_the_bound_of_single_ones(world: SyntheticWorld) -> None:
    """The same value at corners, value and gradient at random potentials, from a tenth of the numbers or fewer."""
    start = Solution(build_problem(make_world(world), PlanOptions(tolerance=0.02)))
    assert start.sizes_agree()
    merged, single = Relaxation(start), Single(start)
    random = np.random.default_rng(1)
    drawn = [np.where(merged.rows, random.normal(0, scale, len(merged.rows)), 0) for scale in (0.1, 0.5, 1.0, 2.0)]

    for potential in merged.corners():
        # at a corner prices are 0, and moves that cost nothing have any gradient
        assert merged.evaluate(potential).value == pytest.approx(single.evaluate(potential).value, rel=1e-9, abs=1e-3)
    for potential in drawn:
        found, wanted = merged.evaluate(potential), single.evaluate(potential)
        assert found.value == pytest.approx(wanted.value, rel=1e-9, abs=1e-3)
        np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=1e-9, atol=1.0)
    single_ones = len(merged.rack_groups.rows)
    assert merged.n_cells - single_ones <= (single.n_cells - single_ones) / 10
