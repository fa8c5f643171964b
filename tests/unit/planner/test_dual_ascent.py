"""The ascent of the lower bound, and the use of its potentials if copies of a partition differ in size."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, vstack

from kafkabal.planner.dual_ascent import ascend
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.relaxation import Relaxation
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

DIFFERENT = SyntheticWorld(seed=3, brokers=8, racks=4, topics=60, skew=1.5, follower_jitter=0.3)


def least_by_linear_program(relaxation: Relaxation) -> float:
    """Bytes of the cheapest part-moves after which every broker is inside its band, and no rack holds two replicas."""
    n, m, problem = len(relaxation.used), relaxation.n_cells, relaxation.problem
    unit = float(relaxation.cost.mean())
    # every part of a replica that may move to a broker
    there = problem.previous[relaxation.p]
    cell, target = np.nonzero(problem.takes & ~(there[:, :, None] == np.arange(n)).any(1))
    held, cost = relaxation.held[cell] / unit, relaxation.cost[cell] / unit
    width = len(cell)
    every = np.arange(width)
    leaving = coo_array((held, (relaxation.broker[cell], every)), shape=(n, width)).tocsr()
    arriving = coo_array((cost, (target, every)), shape=(n, width)).tocsr()
    growth = csr_array((cost - held)[None, :])
    above = arriving - leaving - csr_array(relaxation.high[:, None]) @ growth
    below = leaving - arriving + csr_array(relaxation.low[:, None]) @ growth
    total, used = relaxation.total / unit, relaxation.used / unit
    moved = coo_array((np.ones(width), (cell, every)), shape=(m, width)).tocsr()
    n_racks = int(problem.rack.max()) + 1
    own = relaxation.p * n_racks + problem.rack[relaxation.broker]
    shape = len(problem.previous) * n_racks, width
    in_rack = coo_array((np.ones(width), (relaxation.p[cell] * n_racks + problem.rack[target], every)), shape=shape)
    from_rack = coo_array((np.ones(width), (own[cell], every)), shape=shape)
    found = linprog(
        cost,
        A_ub=vstack((above, below, moved, in_rack - from_rack)).tocsr(),
        b_ub=np.concatenate(
            (
                relaxation.high * total - used,
                used - relaxation.low * total,
                np.ones(m),
                1.0 - np.bincount(own, minlength=shape[0]),
            )
        ),
        bounds=(0, 1),
        method="highs",
    )
    return float(found.fun) * unit


@pytest.mark.parametrize(
    "world",
    [
        DIFFERENT,
        SyntheticWorld(seed=4, brokers=7, racks=4, topics=40, skew=2.0, follower_jitter=0.3),
        SyntheticWorld(seed=5, brokers=8, racks=3, topics=40, skew=1.5, follower_jitter=0.3, replication_factor=2),
        # the brokers of a rack have to move together: 1% below if each potential only moves for itself
        SyntheticWorld(seed=2, brokers=9, racks=4, topics=30, skew=2.0, follower_jitter=0.3),
        SyntheticWorld(seed=6, brokers=10, racks=5, topics=40, skew=1.5, follower_jitter=0.3, half_sized=True),
    ],
    ids=["four racks", "four unequal racks", "two replicas", "rack by rack", "five racks"],
)
def test_the_ascent_reaches_the_linear_program(world: SyntheticWorld) -> None:
    """The ascent comes within 0.3% of the linear program whose dual it is, and never exceeds it."""
    state = Solution(build_problem(make_world(world), PlanOptions(scores=load_scores(["disk"]))))
    relaxation = Relaxation(state)
    assert not relaxation.pinned
    found = ascend(relaxation, 120, math.inf)

    least = least_by_linear_program(relaxation)
    assert 0.997 * least <= found.value <= least * (1 + 1e-6)


def test_an_ascent_stops_where_it_is_good_enough() -> None:
    """An ascent stops once it reaches the required value."""
    relaxation = Relaxation(Solution(build_problem(make_world(DIFFERENT), PlanOptions(scores=load_scores(["disk"])))))
    evaluated = 0
    evaluate = relaxation.evaluate

    class Counting:
        """The relaxation, with a count of its evaluations."""

        def __getattr__(self, name: str) -> object:
            return getattr(relaxation, name)

        def evaluate(self, potential: np.ndarray) -> object:
            nonlocal evaluated
            evaluated += 1
            return evaluate(potential)

    ascend(Counting(), 120, 1.0)  # type: ignore[arg-type]
    assert evaluated == len(relaxation.corners())


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("scores", [("disk",), ("disk", "replicas", "leaders", "topic-spread")], ids=["disk", "all"])
def test_plans_are_near_the_bound_where_followers_differ_in_size(seed: int, scores: tuple[str, ...]) -> None:
    """Plans are within 1% with followers that differ by up to 30%, over three racks of four."""
    world = SyntheticWorld(seed=seed, brokers=12, racks=3, topics=300, skew=1.5, follower_jitter=0.3)
    plan = make_plan(make_world(world), PlanOptions(scores=load_scores(list(scores))))

    assert plan.warnings == ()
    assert plan.bound_bytes is not None
    assert plan.moved_bytes <= 1.01 * plan.bound_bytes


def test_a_replica_of_a_dead_broker_comes_to_the_rack_that_its_partition_lacks() -> None:
    """If only one rack may take a dead broker's replica the bound knows it, and is within 1% of the plan."""
    world = SyntheticWorld(seed=1, brokers=9, racks=3, topics=300, skew=1.5, follower_jitter=0.3, dead=1)
    plan = make_plan(make_world(world), PlanOptions(scores=load_scores(["disk"])))

    assert plan.bound_bytes is not None
    assert plan.moved_bytes <= 1.01 * plan.bound_bytes
