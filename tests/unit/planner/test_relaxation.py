"""The relaxation behind the bound, evaluated for classes of replicas and for single ones."""

import math

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.planner import make_plan
from kafkabal.planner.dual_ascent import ascend
from kafkabal.planner.lower_bound import bound_bytes
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.relaxation import Relaxation
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


@pytest.mark.parametrize("dead", [1, 6])
def test_racks_count_whichever_broker_is_dead(dead: int) -> None:
    """Two partitions share a rack, so that 2 GB have to move, beside longer ones and whatever number is dead."""
    rows = [replace(row, state="dead") if row.broker == dead else row for row in brokers(6, racks=2)]
    state = cluster(rows, [topic("t", (2, 4), (3, 5), (2, 3, 4))])
    start = Solution(build_problem(state, PlanOptions(tolerance=0.9, scores=load_scores(["replicas"]))))

    assert bound_bytes(start, 2 * GB) == 2 * GB


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
    """Values equal at corners, values and gradients at random potentials, from a tenth of the numbers or fewer."""
    start = Solution(build_problem(make_world(world), PlanOptions(tolerance=0.02)))
    assert start.sizes_agree()
    merged, single = Relaxation(start), Relaxation(start, single=True)
    random = np.random.default_rng(1)
    drawn = [np.where(merged.rows, random.normal(0, scale, len(merged.rows)), 0) for scale in (0.1, 0.5, 1.0, 2.0)]

    for potential in merged.corners():
        # at a corner prices are 0, and moves without cost have any gradient
        assert merged.evaluate(potential).value == pytest.approx(single.evaluate(potential).value, rel=1e-9, abs=1e-3)
    for potential in drawn:
        found, wanted = merged.evaluate(potential), single.evaluate(potential)
        assert found.value == pytest.approx(wanted.value, rel=1e-9, abs=1e-3)
        np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=1e-9, atol=1.0)
    single_ones = len(merged.rack_groups.rows)
    assert merged.n_cells - single_ones <= (single.n_cells - single_ones) / 10


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_bound_holds_whichever_replicas_of_crowded_topics_compete_for_racks(seed: int) -> None:
    """In four racks, at any potentials and in either direction, the bound is not above what a plan moves."""
    world = SyntheticWorld(seed=seed, brokers=12, racks=4, topics=60, skew=2.0, follower_jitter=0.3)
    state = make_world(world)
    plan = make_plan(state, PlanOptions(tolerance=0.02))
    assert not plan.warnings
    relaxation = Relaxation(Solution(build_problem(state, PlanOptions(tolerance=0.02))))
    assert relaxation.reach is not None
    assert relaxation.topic_groups.rows.size
    random = np.random.default_rng(seed)
    drawn = [np.where(relaxation.rows, random.normal(0, scale, len(relaxation.rows)), 0) for scale in (0.1, 0.5, 1.0)]

    for relaxation.all_crowded_move in (False, True):
        for potential in (*relaxation.corners(), ascend(relaxation, 60, math.inf).potential, *drawn):
            assert relaxation.evaluate(potential).value <= plan.moved_bytes


def test_an_ascent_climbs_a_concave_bound_where_all_of_a_crowded_topic_compete() -> None:
    """The value between two points is never below the chord, and no point is above the plane of a gradient."""
    world = SyntheticWorld(seed=1, brokers=12, racks=4, topics=60, skew=2.0, follower_jitter=0.3)
    relaxation = Relaxation(Solution(build_problem(make_world(world), PlanOptions(tolerance=0.02))))
    relaxation.all_crowded_move = True
    random = np.random.default_rng(1)
    points = [np.where(relaxation.rows, random.normal(0, 0.5, len(relaxation.rows)), 0) for _ in range(8)]
    found = [relaxation.evaluate(x) for x in points]

    for x, at_x in zip(points, found, strict=True):
        for y, at_y in zip(points, found, strict=True):
            plane = at_x.value + float((at_x.gradient * (y - x)).sum())
            assert at_y.value <= plane + 1e-6 * abs(plane)


def test_replicas_that_move_at_any_price_are_charged_a_finite_one_where_racks_take_nothing() -> None:
    """With four racks, two of which accept nothing, no invalid operation occurs and no broker of these is chosen."""
    world = SyntheticWorld(seed=1, brokers=12, racks=4, topics=20, follower_jitter=0.3)
    relaxation = Relaxation(Solution(build_problem(make_world(world), PlanOptions())))
    assert relaxation.reach is not None
    closed = relaxation.problem.rack < 2
    with np.errstate(invalid="raise"):
        reached = relaxation.reach.lowest(np.where(closed, np.inf, 0.0), np.full(relaxation.n_cells, np.inf))

    assert np.isfinite(reached.potential).all()
    assert not closed[reached.broker].any()
