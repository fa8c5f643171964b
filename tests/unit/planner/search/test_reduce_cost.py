"""Moved replicas return if another one, cheaper to move, can take their place."""

import numpy as np
import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.reduce_cost import reduce_cost
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import brokers, cluster, partition, topic

WIDE = 0.6
"""Tolerance at which nothing but the crowded topic matters."""
FILLER = [topic(f"even-{n:02}", (1,), (2,), (3,), size_bytes=1000 + n) for n in range(60)]


def improved(sizes: list[int], gone: dict[int, int]) -> Solution:
    """Broker 1 holds the replicas of one topic; those in the given rows have moved to other brokers."""
    rows = [partition(n, [1], size) for n, size in enumerate(sizes)]
    crowded = TopicRow(topic="crowded", partitions=rows)
    state = Solution(build_problem(cluster(brokers(3), [crowded, *FILLER]), PlanOptions(tolerance=WIDE)))
    p = np.array(list(gone))
    state.move(p, np.zeros_like(p), np.array(list(gone.values())))
    reduce_cost(state)
    return state


@pytest.mark.parametrize(
    ("sizes", "gone", "moved_bytes"),
    [
        ([9000, 8000, 4000, 3000, 2000], {0: 1, 1: 2}, 5000),
        ([2000, 9000, 3000, 8000, 4000], {1: 1, 3: 1}, 5000),
        ([9000, 8000, 4000, 3000, 2000], {4: 1, 3: 2}, 5000),
        ([9000, 8000], {0: 1}, 0),
    ],
    ids=["the largest", "both to one broker", "the smallest", "no need"],
)
def test_smaller_ones_of_the_same_topic_take_the_place(
    sizes: list[int], gone: dict[int, int], moved_bytes: int
) -> None:
    """A broker that may not hold all replicas of a topic gives up its smallest ones, whichever moved first."""
    state = improved(sizes, gone)

    assert state.moved_bytes() == moved_bytes
    assert state.topic_count is not None
    assert (state.topic_count[0] <= state.bands.topic_most(0, np.arange(3))).all()
