"""Destinations that have failed: counted from when they were first missing, and forgotten once they are back."""

from __future__ import annotations

from dataclasses import replace

from kafkabal.clusters import Fault, ReplicaLog
from kafkabal.executor.observe.failed_destinations import FailedDestinations
from kafkabal.executor.observe.observation import Observation
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.state.run_states import Goal
from tests.unit.executor.conftest import observation_of, planned_partition

_LOG = ReplicaLog(log_dir="/d0", size_bytes=1)


def _arriving(*brokers: int) -> PartitionTask:
    target = target_of(planned_partition((1, 2), (4, 5)), Goal.APPLY, by_steps=False)
    return PartitionTask(target, arriving=brokers)


def _without(*brokers: int) -> Observation:
    seen = observation_of((1, 2, 4, 5))
    return replace(seen, brokers=seen.brokers - frozenset(brokers))


def test_a_dead_broker_counts_as_gone_after_the_grace() -> None:
    """If copies are on their way to it, and only as long as it stays dead."""
    failed, task = FailedDestinations(30.0), _arriving(4, 5)
    assert failed.gone_brokers([task], _without(4, 7), 100.0) == frozenset()
    assert failed.gone_brokers([task], _without(4), 129.0) == frozenset()
    assert failed.gone_brokers([task], _without(4, 5), 130.0) == {4}
    assert failed.gone_brokers([task], _without(4, 5), 160.0) == {4, 5}
    assert failed.gone_brokers([task], _without(5), 161.0) == {5}
    # back and dead again: the grace begins again
    assert failed.gone_brokers([task], _without(4, 5), 170.0) == {5}
    assert failed.gone_brokers([], _without(4, 5), 180.0) == frozenset()


def test_a_copy_counts_as_lost_after_the_grace() -> None:
    """If its broker responds and does not hold it; a broker that is dead or did not respond proves nothing."""
    failed, task = FailedDestinations(30.0), _arriving(4, 5)
    holds_5 = observation_of((1, 2, 4, 5), logs={5: _LOG})
    assert failed.lost_copies([task], holds_5, 100.0) == {}
    assert failed.lost_copies([task], holds_5, 129.0) == {}
    assert failed.lost_copies([task], holds_5, 130.0) == {task: 4}
    silent = replace(holds_5, no_response={4: Fault("REQUEST_TIMED_OUT", "")})
    assert failed.lost_copies([task], silent, 131.0) == {}
    assert failed.lost_copies([task], holds_5, 132.0) == {}
    dead = replace(holds_5, brokers=holds_5.brokers - {4})
    assert failed.lost_copies([task], dead, 200.0) == {}
    assert failed.lost_copies([task], observation_of((1, 2, 4, 5), logs={4: _LOG, 5: _LOG}), 300.0) == {}
