"""How positions that share a block are divided among brokers."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_unplaced import assign_unplaced
from kafkabal.planner.search.evict import lift_leaving
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        # each goes where least has come so far
        ([5, 5, 5], [5, 5, 5]),
        ([6, 6, 6, 6, 6, 6], [12, 12, 12]),
        ([8, 8, 8, 1, 1, 1], [9, 9, 9]),
        # what came lifts a broker beyond its band
        ([9, 5, 4, 3, 3], [9, 8, 7]),
    ],
)
def test_what_came_to_a_broker_counts_for_all_positions_after_it(sizes: list[int], expected: list[int]) -> None:
    """Replicas of a drained broker spread over empty ones, the largest first, within one block too."""
    state = cluster(brokers(4), [topic(f"t{i}", (4,), size_bytes=size * GB) for i, size in enumerate(sizes)])
    solution = Solution(build_problem(state, PlanOptions(drain=frozenset({4}))))
    lift_leaving(solution)

    assert not assign_unplaced(solution).size
    assert sorted((solution.used[:3] // GB).tolist(), reverse=True) == expected
    assert not np.any(solution.placement == 3)
