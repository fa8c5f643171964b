"""Progress of copies: bytes by broker, the rate over half a minute, and the time left."""

from __future__ import annotations

import pytest

from kafkabal.clusters import Reassignment, ReplicaLog
from kafkabal.executor.observe.copy_progress import CopyProgress
from kafkabal.executor.observe.observation import Observation, Stage
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.run_events import RunProgress
from kafkabal.executor.state.run_states import Goal
from tests.unit.executor.conftest import observation_of, planned_partition

_TWO_COPIES = planned_partition((1, 2, 3), (4, 5, 3), size=100)
_SAME_BROKERS = planned_partition((1, 2), (1, 2), ("/d1", "/d0"), number=1, size=50)


def _task(planned: object, current: tuple[int, ...], **state: object) -> PartitionTask:
    target = target_of(planned, Goal.APPLY, by_steps=False)  # type: ignore[arg-type]
    return PartitionTask(target, current=current, **state)  # type: ignore[arg-type]


def _moving(stage: Stage = Stage.MOVING) -> PartitionTask:
    return _task(_TWO_COPIES, (1, 2, 3), stage=stage)


def _seen(**arrived: int) -> Observation:
    """Both copies are on their way; so many bytes have arrived at brokers 4 and 5."""
    going = Reassignment(replicas=(4, 5, 3, 1, 2), adding=(4, 5), removing=(1, 2))
    logs = {int(b[1:]): ReplicaLog(log_dir="/d0", size_bytes=n) for b, n in arrived.items()}
    return observation_of((4, 5, 3, 1, 2), going, logs)


def test_bytes_to_copy() -> None:
    """Each missing copy and each one in the wrong log dir; what is over counts as a partition, not as bytes."""
    misplaced = _task(_SAME_BROKERS, (1, 2), stage=Stage.MISPLACED, misplaced={1: "/d1"})
    over = _task(planned_partition((1,), (2,), number=2, size=7), (1,), is_given_up=True)
    progress = CopyProgress([_moving(), misplaced, over], {})
    assert (progress.total_bytes, progress.partial_bytes, progress.done_bytes) == (250, {}, 0)
    assert progress.finish(misplaced) == 50
    assert progress.finish(misplaced) == 0
    assert progress.finish(over) == 0
    assert progress.done_bytes == 50
    measured = progress.measure([], [], _seen(), 0.0)
    assert (measured.done_partitions, measured.total_partitions) == (2, 3)
    assert measured.arriving_bytes == {1: 50}


def test_what_has_arrived() -> None:
    """A copy counts up to the planned size, by broker, until it is finished and counts whole."""
    task = _moving()
    progress = CopyProgress([task], {})
    first = progress.measure([task], [task], _seen(b4=40, b5=130), 0.0)
    assert (first.done_bytes, first.total_bytes, first.arriving_bytes) == (140, 200, {4: 40, 5: 100})
    assert (first.bytes_per_s, first.left_s) == (0.0, None)
    progress.finish(task)
    done = progress.measure([], [], _seen(), 10.0)
    assert (done.done_bytes, done.arriving_bytes, done.left_s) == (200, {4: 100, 5: 100}, 0.0)


def test_what_had_arrived_before() -> None:
    """It counts neither as copied nor as to be copied, until the copy is lost and starts again."""
    task = _moving()
    progress = CopyProgress([task], {task.name: 120})
    assert (progress.done_bytes, progress.total_bytes) == (0, 80)
    first = progress.measure([task], [task], _seen(b4=60, b5=60), 0.0)
    assert (first.done_bytes, first.total_bytes) == (0, 80)
    second = progress.measure([task], [task], _seen(b4=70, b5=80), 10.0)
    assert (second.done_bytes, second.bytes_per_s, second.left_s) == (30, 3.0, pytest.approx(50 / 3))
    assert progress.partial_bytes == {task.name: 150}
    again = progress.measure([task], [task], _seen(b4=5, b5=0), 20.0)
    assert (again.done_bytes, again.total_bytes) == (0, 195)
    progress.finish(task)
    done = progress.measure([], [], _seen(), 30.0)
    assert (done.done_bytes, done.total_bytes) == (195, 195)


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    """And never negative, as when a destination lost its copy; the time left follows it."""
    task = _moving()
    progress = CopyProgress([task], {})

    def at(now_s: float, arrived: int) -> RunProgress:
        return progress.measure([task], [task], _seen(b4=arrived), now_s)

    at(100.0, 0)
    assert at(110.0, 20).bytes_per_s == 2.0
    assert at(130.0, 30).bytes_per_s == 1.0
    # the sample of 100 s is out of the window, that of 110 s is in
    later = at(140.0, 80)
    assert (later.bytes_per_s, later.left_s) == (2.0, 60.0)
    lost = at(141.0, 10)
    assert (lost.bytes_per_s, lost.left_s) == (0.0, None)


def test_tasks_in_flight_and_waiting() -> None:
    """A task that waits with a reason is postponed; one in flight is not, whatever its problem was."""
    running = _moving()
    running.problem = "before"
    waiting, *postponed = (_task(_SAME_BROKERS, (1, 2)) for _ in range(3))
    for task in postponed:
        task.problem = "broker 1 is dead"
    tasks = [running, waiting, *postponed]
    measured = CopyProgress(tasks, {}).measure(tasks, [running], _seen(), 0.0)
    assert (measured.in_flight, measured.waiting, measured.postponed) == (1, 1, 2)


def test_copies_to_one_broker_add_up() -> None:
    """The bytes that arrive at a broker are the sum over all partitions copied to it."""
    tasks = [_moving(), _moving()]
    measured = CopyProgress(tasks, {}).measure(tasks, tasks, _seen(b4=40), 0.0)
    assert (measured.done_bytes, measured.arriving_bytes) == (80, {4: 80})


def test_seconds_without_a_byte() -> None:
    """They restart with every byte, and on request."""
    task = _moving()
    progress = CopyProgress([task], {})
    progress.restart_stall(100.0)
    progress.measure([task], [task], _seen(), 105.0)
    assert progress.seconds_without_a_byte(110.0) == 10.0
    progress.measure([task], [task], _seen(b4=1), 120.0)
    assert progress.seconds_without_a_byte(130.0) == 10.0
    progress.measure([task], [task], _seen(b4=1), 140.0)
    assert progress.seconds_without_a_byte(150.0) == 30.0
    progress.restart_stall(150.0)
    assert progress.seconds_without_a_byte(151.0) == 1.0
