"""Plans and their bounds against exhaustive search on clusters of a few partitions."""

from itertools import combinations
from statistics import median

import numpy as np
import pytest

from kafkabal.planner.lower_bound import bound_bytes
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

SCORES = load_scores(["disk", "replicas", "leaders", "topic-spread"])


class Exhaustive:
    """Tries every placement of every partition; keeps the cheapest one inside all bands."""

    def __init__(self, state: Solution) -> None:
        self.state = state
        self.best: int | None = None
        self.used = np.zeros(state.problem.n_brokers, np.int64)
        self.count = np.zeros(state.problem.n_brokers, np.int64)
        self.chosen: list[tuple[int, ...]] = []
        self.choices = [self._choices(p) for p in range(len(state.placement))]

    def _choices(self, p: int) -> list[tuple[int, tuple[int, ...]]]:
        problem = self.state.problem
        previous = {int(b) for b in problem.previous[p] if b >= 0}
        found = []
        for brokers in combinations(range(problem.n_brokers), len(previous)):
            if len({int(problem.rack[b]) for b in brokers}) >= self.state.required_racks[p]:
                found.append((int(problem.arriving_bytes[p]) * len(set(brokers) - previous), brokers))
        return sorted(found)

    def least_bytes(self) -> int | None:
        """Bytes of the cheapest placement, None if none is inside all bands."""
        self._place(0, 0)
        return self.best

    def _place(self, p: int, cost: int) -> None:
        if self.best is not None and cost >= self.best:
            return
        if p == len(self.choices):
            if self._is_inside():
                self.best = cost
            return
        size = int(self.state.problem.arriving_bytes[p])
        for more, brokers in self.choices[p]:
            rows = list(brokers)
            self.used[rows] += size
            self.count[rows] += 1
            if (self.used[rows] <= self.state.bands.high_bytes[rows]).all():
                self.chosen.append(brokers)
                self._place(p + 1, cost + more)
                self.chosen.pop()
            self.used[rows] -= size
            self.count[rows] -= 1

    def _is_inside(self) -> bool:
        bands = self.state.bands
        if (self.used < bands.low_bytes).any() or (self.used > bands.high_bytes).any():
            return False
        if (self.count < bands.low_count).any() or (self.count > bands.high_count).any():
            return False
        on = np.zeros((self.state.problem.n_topics, len(self.used)))
        for p, brokers in enumerate(self.chosen):
            on[self.state.problem.topic[p], list(brokers)] += 1
        topics, everyone = np.arange(len(on))[:, None], np.arange(len(self.used))
        return bool((on <= bands.topic_most(topics, everyone)).all())


def _compare(seed: int) -> tuple[int, int, int] | None:
    """Bound, optimum and planned bytes of a tiny cluster; None if the bands are unreachable."""
    rf = 1 + seed % 2
    brokers, racks = 3 + seed % 2, 1 + seed % 3
    world = SyntheticWorld(
        seed=seed, brokers=brokers, racks=max(racks, rf), topics=3, most_partitions=2, replication_factor=rf, skew=2.0
    )
    options = PlanOptions(tolerance=(0.1, 0.2, 0.3, 0.5)[seed % 4], scores=SCORES)
    cluster = make_world(world)
    start = Solution(build_problem(cluster, options))
    optimum = Exhaustive(start).least_bytes()
    if optimum is None:
        return None
    plan = make_plan(cluster, options)
    return bound_bytes(start, plan.moved_bytes), optimum, plan.moved_bytes


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(120, id="short"),
        pytest.param(4000, id="long", marks=(pytest.mark.sweep, pytest.mark.timeout(3600))),
    ],
)
def test_certificate_and_plan_against_the_optimum(count: int) -> None:
    """The bound never exceeds the optimum, its median is at least 0.9 of it, and the median plan is optimal."""
    found = [f for f in map(_compare, range(count)) if f is not None]
    unequal = [f for f in found if f[1] > 0]

    assert all(bound <= optimum for bound, optimum, _ in found)
    assert median(bound / optimum for bound, optimum, _ in unequal) >= 0.9
    assert median(moved / optimum for _, optimum, moved in unequal) <= 1.0
