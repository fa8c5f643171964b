"""Rounds of handing over leadership."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_leaders import _swap_in
from kafkabal.planner.search.leadership import Leadership
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import brokers, cluster, topic


@pytest.mark.parametrize(("room", "accepted"), [(0, 0), (1, 1), (8, 8), (9, 4), (20, 10), (30, 12)])
def test_a_round_fills_a_little_room_at_once_and_half_of_more(room: int, accepted: int) -> None:
    """Of 30 partitions that broker 1 leads and 12 of which it can spare, broker 2 takes what its room admits."""
    state = cluster(brokers(2), [topic("t", *[(1, 2)] * 30)])
    leadership = Leadership(Solution(build_problem(state, PlanOptions())))
    most, spare = np.array([30, room]), np.array([12, 0])

    took = _swap_in(leadership, np.arange(30), np.ones(30, np.int32), spare, most, np.zeros(2, np.int64))

    assert (took, leadership.count.tolist()) == (accepted, [30 - accepted, accepted])


def test_a_broker_below_its_lower_edge_has_room_up_to_it_only() -> None:
    """A broker that leads too few is not filled to the upper edge by the same round."""
    state = cluster(brokers(2), [topic("t", *[(1, 2)] * 30)])
    leadership = Leadership(Solution(build_problem(state, PlanOptions())))
    most, low, spare = np.array([30, 8]), np.array([0, 3]), np.array([30, 0])

    assert _swap_in(leadership, np.arange(30), np.ones(30, np.int32), spare, most, low) == 3
