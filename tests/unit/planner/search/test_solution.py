"""Loads that a solution keeps up to date."""

import numpy as np

from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def test_of_dropped_replicas_another_may_return() -> None:
    """A later plan that moves a replica to the broker of a dropped one keeps that one, and copies nothing."""
    before = cluster(brokers(3), [topic("t", (1, 2, 3))])
    solution = Solution(build_problem(before, PlanOptions(replication_factor=2)))
    solution.drop(np.array([0]), np.array([2]))
    solution.adopt(cluster(brokers(3), [topic("t", (3, 2))]))

    assert sorted(solution.placement[0].tolist()) == [-1, 1, 2]
    assert solution.is_position.tolist() == solution.stays().tolist() == [[False, True, True]]
    assert solution.dropped().tolist() == [[True, False, False]]
    assert solution.moved_bytes() == 0


def test_a_broker_can_hold_every_partition_of_a_topic() -> None:
    """When 299 of 300 brokers are drained, the last one holds 300 replicas, not the 44 that fit 8 bits."""
    state = cluster(brokers(300), [topic("t", *[(b,) for b in range(1, 301)])])
    solution = Solution(build_problem(state, PlanOptions(drain=frozenset(range(2, 301)))))
    p = np.arange(1, 300)
    solution.move(p, np.zeros_like(p), np.zeros_like(p))

    assert solution.topic_count is not None
    assert solution.topic_count[0].tolist() == [300] + [0] * 299
