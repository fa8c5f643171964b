"""Replicas that must leave their broker find a place where others can make room, whatever the tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.model import BrokerRow, ClusterState, offline_replicas
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.plan import apply_plan
from kafkabal.planner import PlanOptions, make_plan
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.leave_unrepaired import leave_unrepaired
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def _sized(row: BrokerRow, each_gb: int, used_gb: tuple[int, ...]) -> BrokerRow:
    """A broker whose log dirs have this size and hold this much."""
    dirs = [
        replace(d, total_bytes=each_gb * GB, usable_bytes=(each_gb - used) * GB)
        for d, used in zip(row.log_dirs, used_gb, strict=True)
    ]
    return replace(row, log_dirs=dirs)


def _dead(row: BrokerRow) -> BrokerRow:
    return replace(row, state="dead", log_dirs=[])


def _left_broken(state: ClusterState, options: PlanOptions) -> int:
    return int(offline_replicas(apply_plan(state, make_plan(state, options))).sum())


def _on_dead(number: int, live: int, dead: int, size_gb: int) -> object:
    row = partition(number, [live, dead], size_gb * GB)
    return replace(row, isr=[live], sizes=[size_gb * GB, None], log_dirs=[0, None])


@pytest.mark.parametrize("tolerance", [0.02, 0.09, 0.15, 0.3])
def test_a_replica_too_large_for_the_log_dirs_of_one_broker_goes_to_another(tolerance: float) -> None:
    """The emptiest broker has room for it only in two log dirs together."""
    one, two = brokers(4, dirs=1), brokers(4, dirs=2)
    rows = [
        _sized(one[0], 400, (90,)),
        _dead(one[1]),
        _sized(two[2], 100, (0, 0)),
        _sized(one[3], 150, (20,)),
    ]
    parts = [_on_dead(0, 1, 2, 90), partition(1, [4], 20 * GB)]
    state = cluster(rows, [TopicRow(topic="t", partitions=parts)])
    assert _left_broken(state, PlanOptions(tolerance=tolerance)) == 0


def _crowded(mode: Mode) -> int:
    """60 GB have to leave a dead broker: the others have room for 55 and 45, or for 85 and 10 after one move."""
    one = brokers(4, dirs=1)
    rows = [_sized(one[0], 130, (60,)), _dead(one[1]), _sized(one[2], 100, (30,)), _sized(one[3], 100, (40,))]
    parts = [_on_dead(0, 1, 2, 60), partition(1, [3], 30 * GB), partition(2, [4], 40 * GB)]
    state = cluster(rows, [TopicRow(topic="t", partitions=parts)])
    return _left_broken(state, PlanOptions(tolerance=0.6, mode=mode))


def test_another_replica_makes_room() -> None:
    """A replica that could stay moves on where that is what a repair takes."""
    assert _crowded(Mode.FULL) == 0


def test_nothing_but_repairs_moves_where_only_repairs_are_asked_for() -> None:
    """With repairs alone, a replica that could stay does stay."""
    assert _crowded(Mode.REPAIR_ONLY) == 1


def test_what_stays_broken_pushes_arrivals_off_its_broker() -> None:
    """A partition that returns because it stays broken leaves no broker above its limit: the arrival there returns."""
    one = brokers(4, dirs=1)
    rows = [_sized(one[0], 1000, (150,)), _dead(one[1]), _sized(one[2], 100, (70,)), _sized(one[3], 1000, (0,))]
    broken = partition(0, [1, 2, 3], 70 * GB)
    broken = replace(broken, isr=[1, 3], sizes=[70 * GB, None, 70 * GB], log_dirs=[0, None, 0])
    state = cluster(rows, [TopicRow(topic="t", partitions=[broken, partition(1, [1], 80 * GB)])])
    solution = Solution(build_problem(state, PlanOptions()))
    solution.move(np.array([0]), np.array([2]), np.array([3]))
    solution.move(np.array([1]), np.array([0]), np.array([2]))
    leave_unrepaired(solution)
    assert not solution.moved().any()


def test_an_arrival_beyond_the_limit_of_its_broker_returns() -> None:
    """What moved in place of a replica that stays after all leaves no broker above its limit."""
    one = brokers(2, dirs=1)
    rows = [_sized(one[0], 1000, (50,)), _sized(one[1], 100, (80,))]
    parts = [partition(0, [1], 50 * GB), partition(1, [2], 80 * GB)]
    solution = Solution(
        build_problem(cluster(rows, [TopicRow(topic="t", partitions=parts)]), PlanOptions(drain=frozenset({1})))
    )
    solution.move(np.array([0]), np.array([0]), np.array([1]))
    leave_unrepaired(solution)
    assert not solution.moved().any()
