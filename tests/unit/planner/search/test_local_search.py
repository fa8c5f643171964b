"""Steps of the local search."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search import local_search
from kafkabal.planner.search.band_violation import Violation
from kafkabal.planner.search.local_search import SearchStep, search_locally
from kafkabal.planner.search.replica_index import ReplicaIndex
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
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


@pytest.mark.parametrize(("used", "need"), [(0, 5), (4, 1), (5, 0), (7, 0), (10, 0), (11, -1), (30, -20)])
def test_a_broker_needs_what_brings_it_to_the_nearest_edge_of_its_band(used: int, need: int) -> None:
    """Bytes up to the lower edge, or off down to the upper one; nothing inside a band of 5 to 10, or on its edges."""
    bands = SimpleNamespace(low_bytes=np.array([5]), high_bytes=np.array([10]))
    solution: Any = SimpleNamespace(used=np.array([used]), bands=bands)
    assert local_search._need(solution, 0) == need


@pytest.mark.parametrize(("room_bytes", "is_taken"), [(GB - 1, False), (GB, True), (GB + 1, True)])
def test_a_broker_takes_a_replica_that_just_fits(room_bytes: int, is_taken: bool) -> None:
    """A replica of 1 GB goes to an empty broker whose disks have exactly as much room, and not one byte less."""
    state = cluster(brokers(3), [topic(f"t{i}", (1 + i % 2,)) for i in range(6)])
    limit_bytes = np.array([100 * GB, 100 * GB, room_bytes])
    solution = Solution(replace(build_problem(state, PlanOptions()), limit_bytes=limit_bytes))
    step = local_search._take(solution, Violation(solution), ReplicaIndex(solution), 2, local_search._NARROW)

    assert (step is not None) is is_taken


def test_a_step_that_gains_nothing_is_not_taken() -> None:
    """Beside a giant partition two brokers lack bytes, and what one took from the other would leave as much outside."""
    giant = topic("giant", (1,), size_bytes=100 * GB)
    small = [topic(f"s{i}", (2 + i % 2,), size_bytes=GB) for i in range(9)]
    solution = Solution(build_problem(cluster(brokers(3), [giant, *small]), PlanOptions(scores=load_scores(["disk"]))))
    before = solution.placement.copy()
    search_locally(solution)

    np.testing.assert_array_equal(solution.placement, before)
    assert (Violation(solution).now() > 0).all()
