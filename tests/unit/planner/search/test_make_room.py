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
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.leave_unrepaired import leave_unrepaired
from kafkabal.planner.search.local_search import has_room
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic


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


@pytest.mark.parametrize(
    ("leaves_gb", "arrives_gb", "stays"),
    [
        pytest.param(12, 5, True, id="83 of 100 GB in the end"),
        pytest.param(7, 5, False, id="88 GB, which is less than the 90 GB before"),
        pytest.param(7, 0, True, id="an empty replica needs no room"),
    ],
)
def test_nothing_arrives_on_a_volume_that_stays_beyond_its_limit(leaves_gb: int, arrives_gb: int, stays: bool) -> None:
    """A run starts a copy only below 85% of its volume: what leaves has to make room for it first."""
    one = brokers(3, dirs=1)
    rows = [_sized(one[0], 1000, (arrives_gb,)), _sized(one[1], 100, (90,)), _sized(one[2], 1000, (0,))]
    sizes = [(1, arrives_gb), (2, leaves_gb), (2, 90 - leaves_gb)]
    parts = [partition(n, [b], gb * GB) for n, (b, gb) in enumerate(sizes)]
    solution = Solution(build_problem(cluster(rows, [TopicRow(topic="t", partitions=parts)]), PlanOptions()))
    solution.move(np.array([0, 1]), np.array([0, 0]), np.array([1, 2]))
    leave_unrepaired(solution)
    assert solution.moved()[:2, 0].tolist() == [stays, True]


def test_a_log_dir_beyond_the_limit_takes_nothing_before_it_is_below() -> None:
    """Of two log dirs with 90 of 100 GB, 7 GB leave one and 20 GB the other: only the latter takes 10 GB."""
    rows = [_sized(row, 100, used) for row, used in zip(brokers(2, dirs=2), [(90, 90), (10, 0)], strict=True)]
    sizes = [(1, 0, 7), (1, 0, 83), (1, 1, 20), (1, 1, 70), (2, 0, 10)]
    parts = [partition(n, [b], gb * GB, log_dirs=[d]) for n, (b, d, gb) in enumerate(sizes)]
    solution = Solution(build_problem(cluster(rows, [TopicRow(topic="t", partitions=parts)]), PlanOptions()))
    solution.move(np.array([0, 2]), np.array([0, 0]), np.array([1, 1]))
    assignment = LogDirAssignment(solution)
    assert (assignment.room // GB)[:2].tolist() == [2, 15]
    assert (assignment.most_room() // GB).tolist() == [15, 85]
    rows[0] = _sized(rows[0], 100, (99, 99))
    solution = Solution(build_problem(cluster(rows, [TopicRow(topic="t", partitions=parts)]), PlanOptions()))
    assert (LogDirAssignment(solution).room // GB)[:2].tolist() == [-14, -14]
    assert LogDirAssignment(solution).most_room()[0] == 0


def test_no_exchange_on_a_broker_beyond_its_limit() -> None:
    """Broker 2 may only give, also where an exchange against a larger replica would bring it nearer to its band."""
    one = brokers(2, dirs=1)
    rows = [_sized(one[0], 100, (60,)), _sized(one[1], 100, (90,))]
    solution = Solution(build_problem(cluster(rows, [topic("t", [1], [2])]), PlanOptions()))
    assert has_room(solution, np.array([0, 0, 1, 1]), np.array([-GB, 30 * GB, -GB, -9 * GB])).tolist() == [
        True,
        False,
        False,
        True,
    ]


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
