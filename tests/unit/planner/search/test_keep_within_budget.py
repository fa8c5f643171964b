"""Which moves of a plan fit a budget."""

import numpy as np
import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.keep_within_budget import exceeds_budget, send_back, trim_to_budget
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import brokers, cluster, partition

MOVED = {0: 1, 1: 2, 2: 2}
"""Partitions and the rows of the brokers that they go to: the first needs the room that the last makes."""


def trimmed(max_bytes: int) -> set[int]:
    """Partitions that still move, of broker 1 (60 and 50 bytes) and of broker 2 (60 bytes), which is full."""
    sizes = [(60, 1), (50, 1), (60, 2), (60, 1), (40, 2), (20, 3)]
    rows = [partition(n, [broker], size) for n, (size, broker) in enumerate(sizes)]
    options = PlanOptions(tolerance=0.1, max_bytes=max_bytes)
    start = Solution(build_problem(cluster(brokers(3), [TopicRow(topic="t", partitions=rows)]), options))
    state = start.copy()
    p = np.array(list(MOVED))
    state.move(p, np.zeros_like(p), np.array(list(MOVED.values())))
    if exceeds_budget(state):
        trim_to_budget(start, state, np.zeros(len(rows), np.bool_), np.arange(len(rows)) / len(rows))
    return set(np.flatnonzero(state.moved().any(1)).tolist())


@pytest.mark.parametrize(
    ("max_bytes", "moved"),
    [(170, {0, 1, 2}), (169, {1, 2}), (60, {1}), (50, {1}), (49, set())],
    ids=["all", "no room is made", "what finds no room leaves its share", "just enough", "too little"],
)
def test_budget_of_moves_without_room_goes_to_others(max_bytes: int, moved: set[int]) -> None:
    """If nothing makes room for the first replica drawn, it is skipped, and the next one gets the budget."""
    assert trimmed(max_bytes) == moved


def test_a_replica_in_the_rack_of_a_returning_one_returns_too() -> None:
    """Of two moved replicas the second came to the first one's rack: both return, as the first alone would share it."""
    rows = [partition(0, [1, 2], 60), partition(1, [3, 4], 60)]
    topics = [TopicRow(topic="t", partitions=rows)]
    options = PlanOptions(tolerance=0.5)
    solution = Solution(build_problem(cluster(brokers(4, racks=3), topics), options))
    # partition 0: from rack a to c, and from b to the other broker in a
    solution.move(np.array([0, 0]), np.array([0, 1]), np.array([2, 3]))
    send_back(solution, np.array([0]), np.array([0]))

    assert not solution.narrow().any()
    assert solution.placement[0].tolist() == [0, 1]
