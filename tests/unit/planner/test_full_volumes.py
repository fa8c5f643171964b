"""Volumes that other programs fill: a broker that can never make room accepts nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.clusters.snapshot import read_snapshot
from kafkabal.model import ClusterState, TopicPartition, volume_headroom_bytes
from kafkabal.model.cluster_rows import BrokerRow, TopicRow
from kafkabal.plan import Plan, apply_plan
from kafkabal.planner import PlanOptions, check_drain, make_plan, why_not
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.moves_without_room import stuck_partitions, without_stuck
from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import finish
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


@pytest.mark.parametrize(("usable_gb", "arrives"), [(5, False), (60, True)])
def test_volumes_filled_by_other_programs_receive_nothing(usable_gb: int, arrives: bool) -> None:
    """Others occupy 94 of 100 GB: no replica is planned to arrive, however many are planned to leave."""
    rows = brokers(3, dirs=1)
    tight = replace(rows[1].log_dirs[0], total_bytes=100 * GB, usable_bytes=usable_gb * GB)
    rows = [
        replace(row, log_dirs=[replace(row.log_dirs[0], total_bytes=100 * GB, usable_bytes=60 * GB)]) for row in rows
    ]
    rows[1] = replace(rows[1], log_dirs=[tight])
    sizes = [GB // 4, GB // 2, GB // 4, *[GB] * 9]
    replicas = [[2], [2], [2], *[[1]] * 9]
    topics = [TopicRow(topic="t", partitions=[partition(n, r, sizes[n]) for n, r in enumerate(replicas)])]
    plan = make_plan(cluster(rows, topics), PlanOptions())
    assert plan.partitions
    assert any(2 in change.to_add for change in plan.partitions) is arrives


def _half_cordoned(count: int) -> list[BrokerRow]:
    """Brokers whose two log dirs share a volume of 1 TB, the first dir cordoned."""
    states = ("cordoned", "online")
    return [
        replace(row, log_dirs=[replace(d, volume="v", state=s) for d, s in zip(row.log_dirs, states, strict=True)])
        for row in brokers(count, dirs=2, dir_bytes=1000 * GB)
    ]


def test_a_volume_has_room_where_only_its_first_log_dir_is_cordoned() -> None:
    """Brokers are balanced and drained through the other log dir, and the volume is counted once."""
    parts = [partition(n, [1], GB, log_dirs=[1]) for n in range(9)]
    state = cluster(_half_cordoned(3), [TopicRow(topic="t", partitions=parts)])
    plan = make_plan(state, PlanOptions())
    assert {b for change in plan.partitions for b in change.to_add} == {2, 3}
    found = check_drain(state, [1], throttle_bytes_per_s=GB)
    assert found.can_drain
    assert found.missing_bytes == 0
    # two volumes of 1 TB, filled up to 85%
    much = [partition(n, [1], 100 * GB, log_dirs=[1]) for n in range(20)]
    state = cluster(_half_cordoned(3), [TopicRow(topic="t", partitions=much)])
    assert check_drain(state, [1], throttle_bytes_per_s=GB).missing_bytes == (2000 - 1700) * GB


def test_an_exchange_fills_no_broker_beyond_its_limit() -> None:
    """If bands are unreachable, no large replica is exchanged for a small one on a disk without room for it."""
    parts = [partition(n, [b], gb * GB) for n, (b, gb) in enumerate([(1, 13), (2, 5), (1, 3), (1, 13), (3, 10)])]
    # other programs occupy 76 GB of the second broker's 100, so that below 85% there is room for 9 GB of replicas
    usable_gb = {1: 71, 2: 19, 3: 90}
    rows = [
        replace(
            row,
            log_dirs=[replace(row.log_dirs[0], total_bytes=100 * GB, usable_bytes=usable_gb[row.broker] * GB)],
        )
        for row in brokers(3, dirs=1)
    ]
    state = cluster(rows, [TopicRow(topic="t", partitions=parts)])
    after = apply_plan(state, make_plan(state, PlanOptions()))
    held = np.bincount(after.replicas.broker, after.replicas.size_bytes, minlength=3)
    assert held[1] <= 9 * GB


def _on_small_disks(*held: tuple[int, ...]) -> ClusterState:
    """Disks of 100 GB, each with replicas of so many GB, and partitions numbered in that order."""
    placed = [(broker, gb) for broker, sizes in enumerate(held, 1) for gb in sizes]
    topics = [TopicRow(topic="t", partitions=[partition(n, [b], gb * GB) for n, (b, gb) in enumerate(placed)])]
    rows = [
        replace(row, log_dirs=[replace(row.log_dirs[0], usable_bytes=(100 - sum(sizes)) * GB)])
        for row, sizes in zip(brokers(len(held), dir_bytes=100 * GB), held, strict=True)
    ]
    return cluster(rows, topics)


def test_moves_that_wait_for_each_other_are_left_out_and_named() -> None:
    """Each of two replicas fits only where the other one leaves: a run would give up both, again and again."""
    plan = make_plan(_on_small_disks((45, 35), (40, 30)), PlanOptions(scores=load_scores(["disk"]), tolerance=0.02))
    assert plan.partitions == ()
    assert plan.warnings[0] == (
        "partitions t-1, t-3 cannot move: each would need the space on a nearly full disk that another one frees"
    )
    assert any("broker 1 remains" in line for line in plan.warnings[1:])


def test_nothing_arrives_beyond_the_limit_not_even_an_empty_replica() -> None:
    """Broker 1 cannot give up its 90 GB: the empty replicas are shared by the others, and no move waits for space."""
    state = _on_small_disks((90,), (0,) * 9, ())
    plan = make_plan(state, PlanOptions(scores=load_scores(["replicas"])))
    assert {broker for change in plan.partitions for broker in change.to_add} == {3}
    assert not any("cannot move" in line for line in plan.warnings)
    assert plan.warnings[0] == (
        "broker 1 remains at 1 replica; its band allows at least 3: its log dirs are more than 85% full"
    )
    rules = why_not(state, TopicPartition("t", 1), 1, PlanOptions(scores=load_scores(["replicas"]))).rules
    assert rules == ("broker 1 holds 4.66 GiB more than it may: nothing may arrive there",)


def test_what_fits_once_another_move_is_complete_is_planned() -> None:
    """A chain onto an empty disk has a move that can start: nothing is left out; in a circle, all is."""
    problem = build_problem(_on_small_disks((60,), (60, 20), ()), PlanOptions(tolerance=0.5))
    solution = Solution(problem)
    for p, target in ((1, 2), (0, 1)):
        solution.move(np.array([p]), np.array([0]), np.array([target]))
    candidate = finish(solution, np.empty(0, np.int64), NO_LISTENER)
    assert stuck_partitions(candidate).tolist() == []
    solution.move(np.array([1]), np.array([0]), np.array([0]))
    assert stuck_partitions(finish(solution, np.empty(0, np.int64), NO_LISTENER)).tolist() == [0, 1]


def test_a_repair_that_waits_for_another_move_is_reported_as_not_done() -> None:
    """A replica on a dead broker that fits only where one for balance cannot leave, is among what stays broken."""
    state = _on_small_disks((45, 35), (40, 30), (44,))
    solution = Solution(build_problem(state, PlanOptions(drain=frozenset({3}))))
    for p, target in ((4, 0), (0, 1)):
        solution.lift(np.array([p]), np.array([0]), MoveCause.LEAVES if p == 4 else MoveCause.BALANCE)
        solution.put(np.array([p]), np.array([0]), np.array([target]))
    full = finish(solution.copy(), np.empty(0, np.int64), NO_LISTENER)
    stuck = np.array([0, 4])
    part, after, warnings = without_stuck(solution, full, stuck)
    assert part.unplaced.tolist() == [4]
    assert after.replicas.broker.tolist() == state.replicas.broker.tolist()
    assert warnings[0].startswith("partitions t-0, t-4 cannot move")


def test_a_part_of_a_plan_gives_a_partition_all_of_its_new_replicas_or_none() -> None:
    """The replica that was to make room stays, so one of two new ones does not fit: the other one alone would leave a
    replication factor between the old and the requested one."""
    solution = Solution(build_problem(_on_small_disks((30,), (), (60,)), PlanOptions(replication_factor=3)))
    solution.why[:, 1:] = MoveCause.NEW
    solution.is_position[1, 1:] = False
    solution.put(np.array([0, 0]), np.array([1, 2]), np.array([1, 2]))

    candidate = finish(solution, np.empty(0, np.int64), NO_LISTENER, room=False)

    assert candidate.to_state().replicas.broker.tolist() == [0, 2]
    assert candidate.unplaced.tolist() == [1, 2, 4, 5]


def test_a_plan_contains_what_would_follow_the_moves_that_wait() -> None:
    """On nearly full disks three partitions cannot move; a second plan, which moved half as many bytes, is empty."""
    state = read_snapshot(Path(__file__).with_name("waiting_moves.jsonl"))
    options = PlanOptions(tolerance=0.02)
    plan = make_plan(state, options)
    assert plan.moved_bytes < 6 * GB
    assert stuck_in(state, plan) == []
    assert make_plan(apply_plan(state, plan), options).partitions == ()


def stuck_in(state: ClusterState, plan: Plan) -> list[TopicPartition]:
    """Partitions of a plan for brokers of one log dir whose moves never start, the largest tried first."""
    rows = state.brokers.index_of
    room = volume_headroom_bytes(state, PlanOptions().log_dir_limit)
    waiting = sorted((c for c in plan.partitions if c.bytes), key=lambda c: -c.bytes)
    while startable := [c for c in waiting if all(room[rows(b)] >= c.bytes // len(c.to_add) for b in c.to_add)]:
        change = startable[0]
        for brokers_, sign in ((change.to_add, -1), (change.to_remove, 1)):
            room[[rows(b) for b in brokers_]] += sign * (change.bytes // len(change.to_add))
        waiting.remove(change)
    return [change.name for change in waiting]
