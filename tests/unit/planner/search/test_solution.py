"""Loads that a solution keeps up to date."""

import numpy as np

from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def test_a_broker_can_hold_every_partition_of_a_topic() -> None:
    """When 299 of 300 brokers are drained, the last one holds 300 replicas, not the 44 that fit 8 bits."""
    state = cluster(brokers(300), [topic("t", *[(b,) for b in range(1, 301)])])
    solution = Solution(build_problem(state, PlanOptions(drain=frozenset(range(2, 301)))))
    p = np.arange(1, 300)
    solution.move(p, np.zeros_like(p), np.zeros_like(p))

    assert solution.topic_count is not None
    assert solution.topic_count[0].tolist() == [300] + [0] * 299
