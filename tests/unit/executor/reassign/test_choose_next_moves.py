"""Which moves may start next, within the limits of brokers, log dirs and the cluster."""

from __future__ import annotations

from kafkabal.executor.observe.disk_room import DiskRoom
from kafkabal.executor.reassign.choose_next_moves import ConcurrentMoves, choose_batch
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.run_options import RunLimits
from kafkabal.executor.state.run_states import Goal
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import GB, brokers, cluster
from tests.unit.executor.conftest import observation_of, planned_partition

NAME = TopicPartition("t", 0)


def _task(number: int, current: tuple[int, ...], target: tuple[int, ...], size: int = GB) -> PartitionTask:
    planned = planned_partition(current, target, size=size)
    task = PartitionTask(target_of(planned, Goal.APPLY, by_steps=False))
    task.take(observation_of(current), 0.0)
    return task


def _no_limits() -> DiskRoom:
    return DiskRoom(cluster(brokers(0), []), 0.85)


def test_caps_per_broker() -> None:
    """No broker sends or receives more copies than its cap, and the largest go first."""
    tasks = [_task(i, (1, 2), (2 + i % 2 * 1 + 1, 2), size=GB - i) for i in range(8)]
    limits = RunLimits(moves_in_per_broker=2, moves_out_per_broker=3)
    batch = choose_batch(tasks, ConcurrentMoves(limits, 0.0), _no_limits())
    sizes = [t.target.copy_bytes for t in batch.starting]
    assert sizes == sorted(sizes, reverse=True)
    assert len(batch.starting) == 3
    per_target = [t.to_add[0] for t in batch.starting]
    assert max(per_target.count(b) for b in per_target) <= 2


def test_a_full_destination_holds_back_only_its_own() -> None:
    """Tasks for a broker that receives all that it may are left out; those for other brokers start."""
    tasks = [_task(i, (10 + i,), (9 if i < 6 else 8,)) for i in range(8)]
    concurrent = ConcurrentMoves(RunLimits(moves_in_per_broker=2), 0.0)
    batch = choose_batch(tasks, concurrent, _no_limits())
    assert [t.to_add for t in batch.starting] == [(9,), (9,), (8,), (8,)]
    assert concurrent.full_destinations == {8, 9}


def test_leader_sends_a_copy_to_each() -> None:
    """A partition with two new replicas takes two of its leader's slots."""
    concurrent = ConcurrentMoves(RunLimits(moves_out_per_broker=3), 0.0)
    batch = choose_batch([_task(0, (1, 2), (3, 4)), _task(1, (1, 2), (5, 6))], concurrent, _no_limits())
    assert len(batch.starting) == 1
    assert concurrent.outbound[1] == 2


def test_small_moves_count_as_one() -> None:
    """Copies that take a tenth of the time between observations count as a tenth of a move."""
    tasks = [_task(i, (1,), (2,), size=GB // 10) for i in range(100)]
    batch = choose_batch(
        tasks, ConcurrentMoves(RunLimits(moves_in_per_broker=2, moves_out_per_broker=2), float(GB)), _no_limits()
    )
    assert len(batch.starting) == 20


def test_orders_count_as_no_move() -> None:
    """Changes without a copy start at once, however full the brokers are."""
    concurrent = ConcurrentMoves(RunLimits(moves_out_per_broker=1), 0.0)
    batch = choose_batch([_task(0, (1, 2), (3, 2)), _task(1, (1, 2), (2, 1))], concurrent, _no_limits())
    assert len(batch.starting) == 2


def test_copies_that_start_together_fit_on_the_disk_together() -> None:
    """A log dir with room for one copy gets one; the other waits, and the reason is given."""
    tasks = [_task(i, (1, 2), (3, 2), size=500) for i in range(2)]
    disks = DiskRoom(cluster(brokers(3, dir_bytes=1000), []), 0.85)
    batch = choose_batch(tasks, ConcurrentMoves(RunLimits(), 0.0), disks)
    assert batch.starting == tasks[:1]
    assert batch.held_up == {tasks[1]: "its destination log dir would exceed the disk limit"}
