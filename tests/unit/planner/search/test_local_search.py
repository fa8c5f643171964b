"""Steps of the local search."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search import local_search
from kafkabal.planner.search.band_violation import Violation
from kafkabal.planner.search.local_search import SearchStep, search_locally
from kafkabal.planner.search.replica_index import ReplicaIndex
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def test_a_stuck_broker_is_tried_again_only_if_something_has_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands are out of reach, and no broker is searched twice for an exchange in the same placement."""
    world = SyntheticWorld(seed=3, brokers=6, racks=3, topics=6, most_partitions=3, skew=2.0)
    solution = Solution(build_problem(make_world(world), PlanOptions(tolerance=0.0)))
    tried: list[tuple[int, bytes]] = []
    exchange = local_search._best_exchange

    def counted(solution: Solution, violation: Violation, index: ReplicaIndex, broker: int) -> SearchStep | None:
        tried.append((broker, solution.placement.tobytes()))
        return exchange(solution, violation, index, broker)

    monkeypatch.setattr(local_search, "_best_exchange", counted)
    search_locally(solution)

    assert len(set(tried)) == len(tried) > 0
    assert np.any(Violation(solution).now() > 0)
