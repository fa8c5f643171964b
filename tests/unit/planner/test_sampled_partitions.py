"""Partitions that represent all of a large cluster, and the bound that they lead to."""

import math

import numpy as np
import pytest

from kafkabal.planner import lower_bound
from kafkabal.planner.dual_ascent import ascend
from kafkabal.planner.lower_bound import guidance_of
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.relaxation import Relaxation
from kafkabal.planner.sampled_partitions import sampled_partitions
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def test_a_sample_has_the_bytes_of_all() -> None:
    """Weighted bytes of a sample add up to those of all partitions but for one step; larger ones count once."""
    bytes_ = np.random.default_rng(1).exponential(1e9, 5000) ** 1.5
    found = sampled_partitions(bytes_, 400)
    represented = bytes_[found.partition] * found.weight
    step = represented.max(where=found.weight > 1, initial=0.0)

    assert abs(len(found.partition) - 400) <= 1
    assert abs(represented.sum() - bytes_.sum()) <= step
    assert found.weight[bytes_[found.partition] >= step].tolist() == [1.0] * int((bytes_ >= step).sum())


@pytest.mark.parametrize("number", [3, 100])
def test_few_partitions_are_all_drawn(number: int) -> None:
    """Partitions with bytes are all drawn, each counting once, if there are no more than wanted."""
    found = sampled_partitions(np.array([5.0, 0.0, 1.0, 9e12]), number)

    assert found.partition.tolist() == [0, 2, 3]
    assert found.weight.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("dead", [0, 1])
def test_a_sample_finds_the_bound_of_all_replicas(monkeypatch: pytest.MonkeyPatch, dead: int) -> None:
    """An eighth of the replicas lead to within 0.3% of the bound that all of them give, and never above the plan."""
    world = SyntheticWorld(
        seed=1, brokers=24, racks=6, topics=220, most_partitions=11, skew=1.5, follower_jitter=0.3, dead=dead
    )
    state = make_world(world)
    start = Solution(build_problem(state, PlanOptions()))
    relaxation = Relaxation(start)
    corner, highest = (ascend(relaxation, steps, math.inf).value for steps in (0, 120))
    monkeypatch.setattr(lower_bound, "_SAMPLE_ABOVE", 0)
    monkeypatch.setattr(lower_bound, "_FEWEST_SAMPLED", relaxation.n_cells // 8)
    monkeypatch.setattr(lower_bound, "_SAMPLED_A_BROKER", 0)
    guidance = guidance_of(start)

    assert highest > 1.005 * corner
    assert 0.997 * highest <= guidance.bound <= make_plan(state).moved_bytes
    assert guidance.bound == relaxation.evaluate(guidance.potential).value
