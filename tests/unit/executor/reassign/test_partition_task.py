"""A partition on its way to its target: what is done about it, what it waits for, and when it is given up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkabal.clusters import Fault, Reassignment, ReplicaLog
from kafkabal.executor.observe.observation import Observation, Stage
from kafkabal.executor.reassign.partition_task import FINAL_FAULTS, LONGEST_LAG_S, PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.state.run_states import Goal
from tests.unit.executor.conftest import observation_of, planned_partition

_PLANNED = planned_partition((1, 2, 3), (4, 5, 3), ("/d1", "any", "any"))
_MOVING = Reassignment(replicas=(4, 5, 3, 1, 2), adding=(4, 5), removing=(1, 2))


def _task(by_steps: bool = False, **state: Any) -> PartitionTask:
    return PartitionTask(target_of(_PLANNED, Goal.APPLY, by_steps=by_steps), **state)


def _with_isr(seen: Observation, *isr: int) -> Observation:
    return replace(seen, status={name: replace(s, isr=isr) for name, s in seen.status.items()})


@pytest.mark.parametrize(
    ("stage", "is_over", "is_running", "can_start"),
    [
        (Stage.WAITING, False, False, True),
        (Stage.MISPLACED, False, False, True),
        (Stage.MOVING, False, True, False),
        (Stage.LAGGING, False, True, False),
        (Stage.WRONG_TARGET, False, True, False),
        (Stage.COPYING, False, True, False),
        (Stage.LOG_DIR_UNKNOWN, False, False, False),
        (Stage.PLACED, True, False, False),
        (Stage.FOREIGN, True, False, False),
        (Stage.GONE, True, False, False),
    ],
)
def test_what_a_stage_means(stage: Stage, is_over: bool, is_running: bool, can_start: bool) -> None:
    """A task that was given up is over and never starts, but is closed only once nothing is in flight for it."""
    task = _task(stage=stage)
    assert (task.is_over, task.is_running, task.can_start, task.is_closed) == (is_over, is_running, can_start, is_over)
    task.give_up("no")
    assert (task.is_over, task.is_running, task.can_start, task.is_closed) == (True, is_running, False, not is_running)
    assert task.problem == "no"


def test_a_partition_at_rest() -> None:
    """What is observed: replicas, leader and ISR, who gets a copy, and who is out of sync and stays."""
    task = _task()
    task.take(_with_isr(observation_of((1, 2, 3)), 1, 2), 0.0)
    assert (task.stage, task.current, task.leader, task.isr) == (Stage.WAITING, (1, 2, 3), 1, (1, 2))
    assert (task.to_add, task.arriving, task.out_of_sync, task.missing_on) == ((4, 5), (), (3,), (4, 5))
    task.take(_with_isr(observation_of((5, 3, 4)), 5, 4), 0.0)
    # a change of order alone takes effect whichever replicas are in sync
    assert (task.stage, task.to_add, task.out_of_sync, task.missing_on) == (Stage.WAITING, (), (), ())
    task.take(observation_of(None), 0.0)
    assert (task.stage, task.current) == (Stage.GONE, (5, 3, 4))


def test_a_reassignment_in_flight() -> None:
    """Who is being added, who has not caught up, and whether only a replica that stays is out of sync."""
    task = _task()
    for isr, copying_to, out_of_sync, is_copied in (
        ((1, 2, 3), (4, 5), (), False),
        ((1, 2, 4), (5,), (3,), False),
        ((1, 2, 4, 5), (), (3,), True),
        ((1, 2, 3, 4, 5), (), (), False),
    ):
        task.take(_with_isr(observation_of((4, 5, 3, 1, 2), _MOVING), *isr), 0.0)
        assert (task.stage, task.arriving, task.missing_on) == (Stage.MOVING, (4, 5), (4, 5))
        assert (task.copying_to, task.out_of_sync) == (copying_to, out_of_sync)
        assert (task.is_copied, task.waits_in_place) == (is_copied, is_copied)
    task.leader = -1
    assert task.waits_in_place
    task.stage = Stage.WAITING
    assert not task.waits_in_place
    assert not task.is_copied


@pytest.mark.parametrize(
    ("stage", "isr", "is_unclean"),
    [
        (Stage.MOVING, (4, 5), True),
        (Stage.MOVING, (), True),
        (Stage.WRONG_TARGET, (4,), True),
        (Stage.MOVING, (4, 2), False),
        (Stage.LAGGING, (4, 5), False),
        (Stage.WAITING, (4, 5), False),
    ],
)
def test_a_cancel_that_would_lose_data(stage: Stage, isr: tuple[int, ...], is_unclean: bool) -> None:
    """In flight, and none of the previous replicas is in sync."""
    task = _task(stage=stage, current=(4, 5, 3, 1, 2), arriving=(4, 5), isr=isr)
    assert task.cancel_is_unclean is is_unclean


def test_one_replica_at_a_time() -> None:
    """The next step is from the current replicas, and only its new replica gets a copy."""
    task = _task(by_steps=True)
    task.take(observation_of((1, 2, 3)), 0.0)
    assert (set(task.next_step), task.to_add) == ({2, 3, 4}, (4,))
    task.take(observation_of((4, 3, 2)), 0.0)
    assert (task.next_step, task.to_add) == ((4, 5, 3), (5,))


def test_log_dirs() -> None:
    """A replica in another dir is misplaced; one that no broker reports is unseen, unless it was seen and its broker
    has died since."""
    placed = {4: ReplicaLog(log_dir="/d1", size_bytes=1)}
    task = _task()
    task.take(observation_of((4, 5, 3), logs={4: ReplicaLog(log_dir="/d0", size_bytes=1)}), 0.0)
    assert (task.stage, task.misplaced, task.unseen_on) == (Stage.MISPLACED, {4: "/d1"}, ())
    task.take(observation_of((4, 5, 3)), 0.0)
    assert (task.stage, task.misplaced, task.unseen_on) == (Stage.LOG_DIR_UNKNOWN, {}, (4,))
    task.take(observation_of((4, 5, 3), logs=placed), 0.0)
    assert task.stage is Stage.PLACED
    unseen = observation_of((4, 5, 3))
    task.take(replace(unseen, brokers=unseen.brokers - {4}), 0.0)
    assert task.stage is Stage.PLACED
    # it is back, and reports nothing
    task.take(unseen, 0.0)
    assert task.stage is Stage.LOG_DIR_UNKNOWN
    task.take(replace(unseen, brokers=unseen.brokers - {4}), 0.0)
    assert task.stage is Stage.LOG_DIR_UNKNOWN


def test_metadata_that_lags() -> None:
    """Awaited for some seconds in a row, then taken for the work of another tool."""
    task, lagging = _task(), observation_of((4, 5, 3, 1, 2))
    task.take(lagging, 100.0)
    assert (task.stage, task.lagging_since_s) == (Stage.LAGGING, 100.0)
    task.take(observation_of((1, 2, 3)), 105.0)
    assert task.lagging_since_s is None
    task.take(lagging, 106.0)
    task.take(lagging, 105.5 + LONGEST_LAG_S)
    assert task.stage is Stage.LAGGING
    task.take(lagging, 106.0 + LONGEST_LAG_S)
    assert (task.stage, task.is_over) == (Stage.FOREIGN, True)


def test_a_cancel_that_metadata_shows_late() -> None:
    """Another tool's cancel is noticed once metadata shows it, and the run's own cancel is not taken for one."""
    task, lagging, ended = _task(), observation_of((4, 5, 3, 1, 2)), observation_of((1, 2, 3))
    for is_cancelling in (False, True):
        task.release()
        task.take(observation_of((4, 5, 3, 1, 2), _MOVING), 0.0)
        task.take(lagging, 1.0)
        task.take(lagging, 2.0)
        assert (task.stage, task.was_cancelled) == (Stage.LAGGING, False)
        task.is_cancelling = is_cancelling
        task.take(ended, 3.0)
        assert (task.stage, task.was_cancelled) == (Stage.WAITING, not is_cancelling)
        task.take(ended, 4.0)
        assert not task.was_cancelled
    task.release()
    task.take(observation_of((4, 5, 3, 1, 2), _MOVING), 5.0)
    task.take(lagging, 6.0)
    task.take(observation_of((4, 5, 3)), 7.0)
    assert not task.was_cancelled


@pytest.mark.parametrize("then", [(4, 5, 3, 1, 2), (4, 5, 3)])
def test_metadata_that_does_not_show_an_accepted_reassignment_yet(then: tuple[int, ...]) -> None:
    """It has ended, but busy brokers still show the replicas from before it: that is not a cancel."""
    task, before = _task(), observation_of((1, 2, 3))
    task.take(before, 0.0)
    task.begin_reassignment()
    for now_s in (1.0, 2.0, LONGEST_LAG_S):
        task.take(before, now_s)
        assert (task.stage, task.was_cancelled) == (Stage.LAGGING, False)
    task.take(observation_of(then), LONGEST_LAG_S)
    assert task.stage not in (Stage.WAITING, Stage.FOREIGN)
    assert not task.was_cancelled


def test_an_accepted_reassignment_that_metadata_never_shows() -> None:
    """After the longest lag it is taken for cancelled, and may be requested again."""
    task, before = _task(), observation_of((1, 2, 3))
    task.take(before, 0.0)
    task.begin_reassignment()
    task.take(before, 1.0)
    task.take(before, 1.0 + LONGEST_LAG_S)
    assert (task.stage, task.was_cancelled, task.can_start) == (Stage.WAITING, True, True)


def test_waiting_for_brokers_and_times() -> None:
    """It is ready once all of its brokers respond and its time has come; a release forgets both and the reason."""
    task = _task()
    assert task.is_ready(frozenset(), 0.0)
    task.postpone("dead", frozenset({4, 5}), until_s=10.0)
    assert task.problem == "dead"
    assert not task.is_ready(frozenset({4}), 10.0)
    assert not task.is_ready(frozenset({4, 5}), 9.9)
    assert task.is_ready(frozenset({4, 5, 6}), 10.0)
    task.release()
    assert (task.problem, task.postponed_for, task.not_before_s) == ("", frozenset(), 0.0)
    assert task.is_ready(frozenset(), 0.0)


def test_failed_attempts() -> None:
    """Each waits twice as long as the last, for a minute at most; after so many it is given up."""
    task, fault = _task(), Fault("REQUEST_TIMED_OUT", "slow")
    for attempt, wait_s in enumerate((2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0), start=1):
        task.fail(fault, 100.0, 8)
        assert (task.attempts, task.not_before_s, task.problem) == (attempt, 100.0 + wait_s, str(fault))
        assert not task.is_given_up
    task.fail(fault, 100.0, 8)
    assert (task.is_given_up, task.problem) == (True, str(fault))


@pytest.mark.parametrize("name", sorted(FINAL_FAULTS))
def test_faults_that_no_retry_changes(name: str) -> None:
    """A final fault gives the partition up at the first attempt."""
    task = _task()
    task.fail(Fault(name, ""), 0.0, 6)
    assert task.is_given_up


def test_a_topic_that_is_gone() -> None:
    """It did not fail: there is nothing to move any more."""
    task = _task()
    task.fail(Fault("UNKNOWN_TOPIC_OR_PARTITION", ""), 0.0, 1)
    assert (task.stage, task.is_given_up, task.problem) == (Stage.GONE, False, "")
