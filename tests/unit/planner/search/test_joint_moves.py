"""Moves that save bytes only together."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.planner import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.joint_moves import move_jointly
from kafkabal.planner.search.search_phases import is_outside
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition

_HELD = [((3, 4, 2), 4), ((4, 3, 1), 1), ((1, 4), 2), ((3, 1), 8), ((1, 3), 13), ((2, 4), 13)]
"""Brokers and GB of each partition. The fourth and the fifth have both replicas in the rack of brokers 1 to 3."""


def test_another_replica_of_the_partition_moves_instead() -> None:
    """Both replicas of the fourth partition have left: one returns to broker 3, and the other takes its place in the
    rack of broker 4, so that only one is copied."""
    rows = [replace(row, rack="b" if row.broker == 4 else "a") for row in brokers(4)]
    parts = [partition(n, held, gb * GB) for n, (held, gb) in enumerate(_HELD)]
    options = PlanOptions(tolerance=0.5, scores=load_scores(["disk"]))
    solution = Solution(build_problem(cluster(rows, [TopicRow(topic="t", partitions=parts)]), options))
    for p, k, broker in ((3, 0, 4), (3, 1, 2), (4, 1, 4), (5, 0, 3)):
        solution.move(np.array([p]), np.array([k]), np.array([broker - 1]))
    assert not is_outside(solution)
    assert solution.moved_bytes() == (8 + 8 + 13 + 13) * GB
    move_jointly(solution)

    assert solution.moved_bytes() == (8 + 13) * GB
    assert sorted(solution.placement[3, :2] + 1) == [3, 4]
    assert not is_outside(solution)
    assert not solution.narrow().any()
    loads = np.bincount(solution.placement[solution.is_position], minlength=4)
    assert solution.count.tolist() == loads.tolist()
