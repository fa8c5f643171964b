"""What counts against the concurrency caps, and what is skipped without delaying the rest."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkabal.clusters.cluster_protocol import PartitionStatus, Reassignment
from kafkabal.executor.observe.disk_room import DiskRoom
from kafkabal.executor.observe.observation import Observation, Stage
from kafkabal.executor.reassign.choose_next_moves import ConcurrentMoves, choose_batch
from kafkabal.executor.reassign.partition_task import LONGEST_LAG_S, PartitionTask
from kafkabal.executor.reassign.target_placement import next_step, target_of
from kafkabal.executor.run_options import RunLimits
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal
from kafkabal.plan.plan import ANY_DIR
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
from tests.unit.executor.conftest import planned_partition


def _planned(number: int, start: tuple[int, ...], target: tuple[int, ...], dirs: dict[int, str]) -> RunPartition:
    return planned_partition(start, target, tuple(dirs.get(b, ANY_DIR) for b in target), number=number)


def _waiting(
    number: int, start: tuple[int, ...], target: tuple[int, ...], dirs: dict[int, str] | None = None
) -> PartitionTask:
    """A task that has not started."""
    task = PartitionTask(target_of(_planned(number, start, target, dirs or {}), Goal.APPLY, by_steps=False))
    task.current, task.leader = start, start[0]
    task.to_add = tuple(b for b in target if b not in start)
    return task


def _misplaced(number: int, broker: int) -> PartitionTask:
    task = _waiting(number, (broker,), (broker,), {broker: "/d1"})
    task.stage, task.misplaced = Stage.MISPLACED, {broker: "/d1"}
    return task


def _running(number: int, start: tuple[int, ...], target: tuple[int, ...], arriving: tuple[int, ...]) -> PartitionTask:
    """A task with some copies in flight, whose next step would add none."""
    task = _waiting(number, start, target)
    task.stage, task.arriving, task.to_add = Stage.MOVING, arriving, ()
    return task


def _roomy() -> DiskRoom:
    return DiskRoom(cluster(brokers(0), []), 0.85)


def test_every_copy_counts() -> None:
    """Copies in flight are summed by broker and direction, by log dir and in total."""
    concurrent = ConcurrentMoves(RunLimits(), 0.0)
    for task in (_running(0, (1,), (2,), (2,)), _running(1, (1,), (2,), (2,)), _misplaced(2, 3), _misplaced(3, 3)):
        concurrent.take(task)
    assert (concurrent.inbound[2], concurrent.outbound[1], concurrent.copying[3, "/d1"], concurrent.in_all) == (
        2.0,
        2.0,
        2.0,
        2.0,
    )


def test_cap_of_the_cluster() -> None:
    """No more than this many start in total, including those in flight."""
    concurrent = ConcurrentMoves(RunLimits(moves_per_cluster=3), 0.0)
    concurrent.take(_running(0, (1,), (2,), (2,)))
    tasks = [_waiting(n, (n + 3,), (n + 30,)) for n in range(1, 8)]
    assert len(choose_batch(tasks, concurrent, _roomy()).starting) == 2


def test_cap_of_a_log_dir() -> None:
    """At most two copies at a time go to a log dir; those to another one start."""
    batch = choose_batch(
        [_misplaced(0, 1), _misplaced(1, 1), _misplaced(2, 1), _misplaced(3, 2)],
        ConcurrentMoves(RunLimits(), 0.0),
        _roomy(),
    )
    assert [t.name.partition for t in batch.starting] == [0, 1, 3]


def test_full_sender_holds_up_only_its_own() -> None:
    """Once a leader's cap is reached, others still start, and so do its reorderings, which copy nothing."""
    concurrent = ConcurrentMoves(RunLimits(moves_out_per_broker=1), 0.0)
    batch = choose_batch(
        [_waiting(0, (1,), (2,)), _waiting(1, (1,), (3,)), _waiting(2, (4,), (5,)), _waiting(3, (1, 4), (4, 1))],
        concurrent,
        _roomy(),
    )
    assert [t.name.partition for t in batch.starting] == [0, 2, 3]
    assert concurrent.full_leaders == {1, 4}


def test_copy_longer_than_a_poll_counts_as_one_move() -> None:
    """However large, a copy counts as one move."""
    concurrent = ConcurrentMoves(RunLimits(), float(GB // 10))
    concurrent.take(_waiting(0, (1,), (2,)))
    assert concurrent.inbound[2] == 1.0


@pytest.mark.parametrize(("path", "is_held_up"), [("/d0", True), ("/d1", False)])
def test_full_log_dir_holds_up_its_copies(path: str, is_held_up: bool) -> None:
    """A copy waits for room in its exact target dir on its broker, and is named with the reason."""
    first, second = brokers(2, dirs=2, dir_bytes=10 * GB)
    full = [replace(second.log_dirs[0], usable_bytes=2 * GB), *second.log_dirs[1:]]
    disks = DiskRoom(cluster([first, replace(second, log_dirs=full)], [topic("full", [2], size_bytes=8 * GB)]), 0.85)
    task = _waiting(0, (1,), (2,), {2: path})
    batch = choose_batch([task], ConcurrentMoves(RunLimits(), 0.0), disks)
    assert (task in batch.held_up) is is_held_up
    assert (task in batch.starting) is not is_held_up


def test_steps_of_a_rollback_lead_to_the_start() -> None:
    """The target of a rollback is the previous placement, including log dirs."""
    target = target_of(_planned(0, (1, 2), (3, 2), {}), Goal.ROLL_BACK, by_steps=True)
    assert (target.replicas, dict(target.log_dirs), target.by_steps) == ((1, 2), {1: "/d0", 2: "/d0"}, True)
    assert target.next_step((3, 2), (3, 2)) == (1, 2)


def test_step_by_step_or_at_once() -> None:
    """One replica at a time only on request."""
    planned = _planned(0, (1, 2), (3, 4), {})
    assert target_of(planned, Goal.APPLY, by_steps=False).next_step((1, 2), (1, 2)) == (3, 4)
    assert target_of(planned, Goal.APPLY, by_steps=True).next_step((1, 2), (1, 2)) == (3, 2)


def test_task_waits_for_brokers_and_for_its_time() -> None:
    """A task is ready when every broker that it waits for is alive, and its time has come."""
    task = _waiting(0, (1,), (2,))
    task.postpone("broker 2 is dead", frozenset({2}), until_s=5.0)
    assert not task.is_ready(frozenset({1}), 5.0)
    assert not task.is_ready(frozenset({1, 2}), 4.9)
    assert task.is_ready(frozenset({1, 2}), 5.0)


def test_task_that_is_released_waits_for_nothing() -> None:
    """Once it starts, its reason, brokers and time to wait for are cleared."""
    task = _waiting(0, (1,), (2,))
    task.postpone("broker 2 is dead", frozenset({2}), until_s=5.0)
    task.release()
    assert task.problem == ""
    assert task.is_ready(frozenset({1}), 0.0)


def test_obstacle_is_named_and_blocks_nothing_else() -> None:
    """A copy without room waits with its reason; smaller ones behind it start."""
    rows = brokers(3, dir_bytes=10 * GB)
    full = replace(rows[1], log_dirs=[replace(rows[1].log_dirs[0], usable_bytes=GB)])
    disks = DiskRoom(cluster([rows[0], full, rows[2]], []), 0.85)
    blocked, free = _waiting(0, (1,), (2,)), _waiting(1, (1,), (3,))
    batch = choose_batch([blocked, free], ConcurrentMoves(RunLimits(), 0.0), disks)
    assert batch.held_up == {blocked: "its destination log dir would exceed the disk limit"}
    assert batch.starting == [free]


def test_copy_larger_than_a_cap_starts_alone() -> None:
    """A move beyond a leader's cap starts only if nothing else is in flight, and alone."""
    concurrent = ConcurrentMoves(RunLimits(moves_out_per_broker=1), 0.0)
    batch = choose_batch([_waiting(0, (1,), (2, 3)), _waiting(1, (1,), (4,))], concurrent, _roomy())
    assert [t.name.partition for t in batch.starting] == [0]


def test_limits_are_used_to_the_last() -> None:
    """As many start as the cap allows."""
    batch = choose_batch(
        [_waiting(n, (1,), (n + 2,)) for n in range(4)],
        ConcurrentMoves(RunLimits(moves_out_per_broker=2), 0.0),
        _roomy(),
    )
    assert len(batch.starting) == 2


def test_task_follows_the_observation() -> None:
    """Replicas being added by a reassignment are in flight; those that the next step would add are counted
    separately."""
    task = PartitionTask(target_of(_planned(0, (1, 2), (3, 2), {}), Goal.APPLY, by_steps=False))
    name = task.name
    at_rest = {name: PartitionStatus(leader=1, replicas=(1, 2), isr=(1, 2))}
    task.take(Observation(frozenset((1, 2, 3)), {}, at_rest, {}, {}), 0.0)
    assert (task.stage, task.to_add, task.arriving) == (Stage.WAITING, (3,), ())
    moving = {name: PartitionStatus(leader=1, replicas=(3, 2, 1), isr=(1, 2))}
    going = {name: Reassignment(replicas=(3, 2, 1), adding=(3,), removing=(1,))}
    task.take(Observation(frozenset((1, 2, 3)), going, moving, {}, {}), 0.0)
    assert (task.stage, task.to_add, task.arriving) == (Stage.MOVING, (), (3,))


def test_metadata_may_lag_for_a_while() -> None:
    """Replicas of a completed reassignment are waited for; later they count as another tool's change."""
    task = PartitionTask(target_of(_planned(0, (1, 2), (3, 2), {}), Goal.APPLY, by_steps=False))
    status = {task.name: PartitionStatus(leader=1, replicas=(3, 2, 1), isr=(1, 2, 3))}
    seen = Observation(frozenset((1, 2, 3)), {}, status, {}, {})
    stages = []
    for now_s in (100.0, 99.9 + LONGEST_LAG_S, 100.0 + LONGEST_LAG_S):
        task.take(seen, now_s)
        stages.append(task.stage)
    assert stages == [Stage.LAGGING, Stage.LAGGING, Stage.FOREIGN]
    at_rest = {task.name: PartitionStatus(leader=1, replicas=(1, 2), isr=(1, 2))}
    task.take(Observation(frozenset((1, 2, 3)), {}, at_rest, {}, {}), 111.0)
    assert (task.stage, task.lagging_since_s) == (Stage.WAITING, None)


@pytest.mark.parametrize(
    ("current", "target", "expected"),
    [
        ((1, 2, 3), (4, 5, 3), (4, 3, 2)),
        ((3, 2, 1), (4, 5, 3), (4, 3, 2)),
        ((1, 2, 3), (4, 2, 3), (4, 2, 3)),
        ((1, 2), (3, 4, 5), (3, 2)),
    ],
)
def test_next_step(current: tuple[int, ...], target: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """One more of the new replicas replaces the first that leaves, in any order; the last step is the target."""
    assert next_step(current, target, current) == expected


@pytest.mark.parametrize(
    ("current", "in_sync", "target", "expected"),
    [
        ((1, 2, 3), (1, 3), (4, 5, 3), (4, 3, 1)),
        ((1, 2, 3), (3,), (4, 5, 3), (4, 5, 3)),
        ((1, 2, 3), (1,), (4, 5, 6), (4, 5, 1)),
        ((1, 2, 3), (1, 2), (4, 5, 3), (4, 3, 2)),
        ((1, 2), (1,), (3, 4, 5), (3, 1)),
    ],
)
def test_next_step_keeps_nothing_out_of_sync(
    current: tuple[int, ...], in_sync: tuple[int, ...], target: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    """Leaving replicas that are out of sync leave first and at once: Kafka completes no step that keeps one."""
    assert next_step(current, target, in_sync) == expected
