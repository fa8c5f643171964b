"""Decisions without a cluster: steps, stages, slots, disks, estimates, rates."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.clusters.protocol import PartitionStatus, Reassignment, ReplicaLog, ReplicaOn
from kafkabal.executor.observe.disk_room import Disks
from kafkabal.executor.observe.duration_estimate import predicted_s
from kafkabal.executor.observe.observation import Observation, Stage
from kafkabal.executor.reassign.batches import Slots, choose
from kafkabal.executor.reassign.partition_task import Task
from kafkabal.executor.reassign.target_placement import next_step, target_at_start, target_by_plan
from kafkabal.executor.run_options import Limits, Throttle
from kafkabal.executor.state.run_record import PlannedPartition
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import Placement
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic

NAME = TopicPartition("t", 0)


def _planned(
    start: tuple[int, ...], target: tuple[int, ...], dirs: tuple[str, ...] | None = None, size: int = GB
) -> PlannedPartition:
    return PlannedPartition(
        topic="t",
        partition=0,
        start=Placement(replicas=start, leader=start[0], log_dirs=("/d0",) * len(start)),
        replicas=target,
        log_dirs=dirs or ("any",) * len(target),
        copy_bytes=size,
    )


def _look(
    replicas: tuple[int, ...] | None,
    running: Reassignment | None = None,
    logs: dict[int, ReplicaLog] | None = None,
) -> Observation:
    status = {NAME: PartitionStatus(leader=replicas[0], replicas=replicas, isr=replicas)} if replicas else {}
    return Observation(
        brokers=frozenset(range(1, 9)),
        reassignments={NAME: running} if running else {},
        status=status,
        logs={ReplicaOn(*NAME, b): log for b, log in (logs or {}).items()},
        silent={},
    )


@pytest.mark.parametrize(
    ("replicas", "running", "expected"),
    [
        ((1, 2, 3), None, Stage.WAITING),
        ((3, 1, 2), None, Stage.WAITING),
        ((4, 2, 3), None, Stage.PLACED),
        ((2, 4, 3), None, Stage.WAITING),
        ((4, 2, 3, 1), ((4,), (1,)), Stage.MOVING),
        ((4, 2, 3, 1), None, Stage.LAGGING),
        ((1, 2, 3, 4), ((1,), (4,)), Stage.ASTRAY),
        ((5, 2, 3, 1), ((5,), (1,)), Stage.FOREIGN),
        ((1, 2, 5), None, Stage.FOREIGN),
        ((1, 2), None, Stage.FOREIGN),
        (None, None, Stage.GONE),
    ],
)
def test_stage(
    replicas: tuple[int, ...] | None, running: tuple[tuple[int, ...], tuple[int, ...]] | None, expected: Stage
) -> None:
    """Every placement on the way from 1,2,3 to 4,2,3 is known as ours, and no other is."""
    wanted = target_by_plan(_planned((1, 2, 3), (4, 2, 3)), by_steps=False)
    going = Reassignment(replicas=replicas or (), adding=running[0], removing=running[1]) if running else None
    assert _look(replicas, going).stage(wanted) is expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (ReplicaLog(log_dir="/d1", size_bytes=1), Stage.PLACED),
        (ReplicaLog(log_dir="/d0", size_bytes=1), Stage.MISPLACED),
        (ReplicaLog(log_dir="/d0", size_bytes=1, future_log_dir="/d1"), Stage.COPYING),
        (ReplicaLog(log_dir="/d1", size_bytes=1, future_log_dir="/d0"), Stage.MISPLACED),
        (ReplicaLog(log_dir="/d0", size_bytes=1, future_log_dir="/d2"), Stage.MISPLACED),
        (None, Stage.UNSEEN),
    ],
)
def test_stage_of_log_dirs(log: ReplicaLog | None, expected: Stage) -> None:
    """A partition is placed only when its replica is seen in the log dir that was asked for."""
    wanted = target_by_plan(_planned((4, 2, 3), (4, 2, 3), ("/d1", "any", "any")), by_steps=False)
    assert _look((4, 2, 3), logs={4: log} if log else {}).stage(wanted) is expected


def test_stage_on_the_way_back() -> None:
    """A rollback sees a reassignment towards the plan as one of its own that goes astray."""
    wanted = target_at_start(_planned((1, 2, 3), (4, 2, 3)), by_steps=False)
    going = Reassignment(replicas=(4, 2, 3, 1), adding=(4,), removing=(1,))
    assert _look((4, 2, 3, 1), going).stage(wanted) is Stage.ASTRAY


_replicas = st.lists(st.integers(1, 8), min_size=1, max_size=5, unique=True).map(tuple)


@given(_replicas, _replicas)
def test_steps_lead_to_the_target(start: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Step by step the target is reached, with at most one replica more than was there at any step."""
    current, steps = start, 0
    while current != target:
        following = next_step(current, target)
        assert len(set(following) - set(current)) <= 1
        assert len(set(following)) == len(following)
        current, steps = following, steps + 1
        assert steps <= len(target) + 1
    assert target_by_plan(_planned(start, target), by_steps=True).resting >= {frozenset(start), frozenset(target)}


@given(_replicas, _replicas, st.randoms(use_true_random=False), st.lists(st.booleans(), max_size=8))
def test_steps_stay_the_runs_own(
    start: tuple[int, ...], target: tuple[int, ...], random: random.Random, turns: list[bool]
) -> None:
    """There, back and there again, by replicas in any order, as cancelled steps leave them: all is known as its own."""
    wanted = target_by_plan(_planned(start, target), by_steps=True)
    current = start
    for is_ahead in turns:
        following = next_step(tuple(random.sample(current, len(current))), target if is_ahead else start)
        assert frozenset(following) in wanted.resting
        assert frozenset(current) | frozenset(following) in wanted.passing
        current = following


def _task(number: int, current: tuple[int, ...], target: tuple[int, ...], size: int = GB) -> Task:
    planned = _planned(current, target, size=size)
    task = Task(target_by_plan(planned, by_steps=False))
    task.take(_look(current), 0.0)
    return task


def _no_limits() -> Disks:
    return Disks(cluster(brokers(0), []), 0.85)


def test_caps_per_broker() -> None:
    """No broker sends or receives more copies than its cap, and the largest go first."""
    tasks = [_task(i, (1, 2), (2 + i % 2 * 1 + 1, 2), size=GB - i) for i in range(8)]
    limits = Limits(moves_in_per_broker=2, moves_out_per_broker=3)
    batch = choose(tasks, Slots(limits, 0.0), _no_limits())
    sizes = [t.target.copy_bytes for t in batch.starting]
    assert sizes == sorted(sizes, reverse=True)
    assert len(batch.starting) == 3
    per_target = [t.adding[0] for t in batch.starting]
    assert max(per_target.count(b) for b in per_target) <= 2


def test_leader_sends_a_copy_to_each() -> None:
    """A partition with two new replicas takes two of its leader's slots."""
    slots = Slots(Limits(moves_out_per_broker=3), 0.0)
    batch = choose([_task(0, (1, 2), (3, 4)), _task(1, (1, 2), (5, 6))], slots, _no_limits())
    assert len(batch.starting) == 1
    assert slots.outbound[1] == 2


def test_small_moves_share_a_slot() -> None:
    """Copies that take a tenth of a look take a tenth of a slot."""
    tasks = [_task(i, (1,), (2,), size=GB // 10) for i in range(100)]
    batch = choose(tasks, Slots(Limits(moves_in_per_broker=2, moves_out_per_broker=2), float(GB)), _no_limits())
    assert len(batch.starting) == 20


def test_orders_need_no_slot() -> None:
    """Changes without a copy start at once, however full the brokers are."""
    slots = Slots(Limits(moves_out_per_broker=1), 0.0)
    batch = choose([_task(0, (1, 2), (3, 2)), _task(1, (1, 2), (2, 1))], slots, _no_limits())
    assert len(batch.starting) == 2


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60)), max_size=20))
def test_disks_are_never_promised_twice(copies: list[tuple[int, int]]) -> None:
    """However copies come, no volume is promised beyond its limit."""
    disks = Disks(cluster(brokers(3, dir_bytes=100), [topic("t", [1, 2, 3], size_bytes=10)]), 0.85)
    promised = dict.fromkeys((1, 2, 3), 0)
    for broker, size in copies:
        if disks.has_room(broker, "/d0", size):
            disks.reserve(broker, "/d0", size)
            promised[broker] += size
    assert all(total <= 85 for total in promised.values())


@pytest.mark.parametrize(
    ("partitions", "expected_s"),
    [
        ([_planned((1, 2), (3, 2))], 100.0),
        ([_planned((1, 2), (3, 4))], 200.0),
        ([_planned((1, 2), (3, 2)), _planned((2, 1), (3, 1))], 200.0),
        ([_planned((1, 2), (3, 2)), _planned((2, 1), (4, 1))], 100.0),
        ([_planned((1, 2), (1, 2), ("/d1", "any"))], 50.0),
        ([_planned((1, 2), (2, 1))], 0.0),
    ],
)
def test_predicted_time(partitions: list[PlannedPartition], expected_s: float) -> None:
    """The busiest sender, receiver or disk sets the time; a leader sends one copy per new replica."""
    throttle = Throttle(bytes_per_s=10_000_000, log_dir_bytes_per_s=20_000_000)
    assert predicted_s(partitions, throttle) == pytest.approx(expected_s * 1.12)


def test_no_prediction_without_a_throttle() -> None:
    """Without a throttle nobody knows."""
    assert predicted_s([_planned((1, 2), (3, 2))], Throttle()) is None
