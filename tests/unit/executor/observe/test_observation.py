"""The stage of a partition, from one observation of the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Fault, PartitionStatus, Reassignment, ReplicaLog
from kafkabal.executor.observe.observation import Stage, observe, observe_again
from kafkabal.executor.reassign.target_placement import TargetPlacement, target_of
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal
from kafkabal.model.topic_partition import TopicPartition
from tests.unit.executor.conftest import observation_of, planned_partition

NAME = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("replicas", "running", "expected"),
    [
        ((1, 2, 3), None, Stage.WAITING),
        ((3, 1, 2), None, Stage.WAITING),
        ((4, 2, 3), None, Stage.PLACED),
        ((2, 4, 3), None, Stage.WAITING),
        ((4, 2, 3, 1), ((4,), (1,)), Stage.MOVING),
        ((4, 2, 3, 1), None, Stage.LAGGING),
        ((1, 2, 3, 4), ((1,), (4,)), Stage.WRONG_TARGET),
        ((5, 2, 3, 1), ((5,), (1,)), Stage.FOREIGN),
        ((1, 2, 5), None, Stage.FOREIGN),
        ((1, 2), None, Stage.FOREIGN),
        (None, None, Stage.GONE),
    ],
)
def test_stage(
    replicas: tuple[int, ...] | None, running: tuple[tuple[int, ...], tuple[int, ...]] | None, expected: Stage
) -> None:
    """Every placement on the way from 1,2,3 to 4,2,3 is recognised as ours, and no other is."""
    target = target_of(planned_partition((1, 2, 3), (4, 2, 3)), Goal.APPLY, by_steps=False)
    going = Reassignment(replicas=replicas or (), adding=running[0], removing=running[1]) if running else None
    assert observation_of(replicas, going).stage(target) is expected


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (ReplicaLog(log_dir="/d1", size_bytes=1), Stage.PLACED),
        (ReplicaLog(log_dir="/d0", size_bytes=1), Stage.MISPLACED),
        (ReplicaLog(log_dir="/d0", size_bytes=1, future_log_dir="/d1"), Stage.COPYING),
        (ReplicaLog(log_dir="/d1", size_bytes=1, future_log_dir="/d0"), Stage.MISPLACED),
        (ReplicaLog(log_dir="/d0", size_bytes=1, future_log_dir="/d2"), Stage.MISPLACED),
        (None, Stage.LOG_DIR_UNKNOWN),
    ],
)
def test_stage_of_log_dirs(log: ReplicaLog | None, expected: Stage) -> None:
    """A partition is placed only when its replica is observed in the requested log dir."""
    target = target_of(planned_partition((4, 2, 3), (4, 2, 3), ("/d1", "any", "any")), Goal.APPLY, by_steps=False)
    assert observation_of((4, 2, 3), logs={4: log} if log else {}).stage(target) is expected


def test_stage_during_a_rollback() -> None:
    """A rollback sees a reassignment towards the plan as one of its own in the wrong direction."""
    target = target_of(planned_partition((1, 2, 3), (4, 2, 3)), Goal.ROLL_BACK, by_steps=False)
    going = Reassignment(replicas=(4, 2, 3, 1), adding=(4,), removing=(1,))
    assert observation_of((4, 2, 3, 1), going).stage(target) is Stage.WRONG_TARGET


@pytest.mark.parametrize(
    ("adding", "removing", "with_steps", "without"),
    [
        ((4,), (1,), Stage.MOVING, Stage.FOREIGN),
        ((4, 5), (1, 2), Stage.MOVING, Stage.MOVING),
        ((5, 4), (1, 2), Stage.WRONG_TARGET, Stage.WRONG_TARGET),
        ((6,), (1,), Stage.FOREIGN, Stage.FOREIGN),
    ],
)
def test_stage_of_a_step(adding: tuple[int, ...], removing: tuple[int, ...], with_steps: Stage, without: Stage) -> None:
    """A run that exchanges one replica at a time knows its steps; the target in another order is none."""
    replicas = (*adding, *(b for b in (1, 2, 3) if b not in removing), *removing)
    going = Reassignment(replicas=replicas, adding=adding, removing=removing)
    for by_steps, expected in ((True, with_steps), (False, without)):
        target = target_of(planned_partition((1, 2, 3), (4, 5, 3)), Goal.APPLY, by_steps=by_steps)
        assert observation_of(replicas, going).stage(target) is expected


def test_bytes_that_have_arrived() -> None:
    """At the brokers that a reassignment adds; at rest, in the copies between log dirs."""
    target = target_of(planned_partition((1, 2, 3), (4, 2, 3), ("/d1", "/d1", "any")), Goal.APPLY, by_steps=False)
    logs = {
        4: ReplicaLog(log_dir="/d1", size_bytes=40, future_log_dir="/d0", future_bytes=4),
        2: ReplicaLog(log_dir="/d0", size_bytes=20, future_log_dir="/d1", future_bytes=2),
        3: ReplicaLog(log_dir="/d0", size_bytes=30),
    }
    going = Reassignment(replicas=(4, 2, 3, 1), adding=(4, 5), removing=(1,))
    assert observation_of((4, 2, 3, 1), going, logs).arrived_bytes(target) == {4: 40}
    assert observation_of((4, 2, 3), None, logs).arrived_bytes(target) == {4: 4, 2: 2}
    del logs[4]
    logs[2] = ReplicaLog(log_dir="/d1", size_bytes=20)
    assert observation_of((4, 2, 3), None, logs).arrived_bytes(target) == {}


class _Asked:
    """A cluster of brokers 1 to 5 that notes whom it asks for logs; broker 5 does not respond."""

    def __init__(self, replicas: dict[int, tuple[int, ...]], running: dict[int, Reassignment]) -> None:
        self._replicas, self._running = replicas, running
        self.asked: list[tuple[set[int], set[int]]] = []

    def broker_ids(self) -> frozenset[int]:
        """All of them."""
        return frozenset(range(1, 6))

    def reassignments(self) -> dict[TopicPartition, Reassignment]:
        """As given."""
        return {TopicPartition("t", n): r for n, r in self._running.items()}

    def partition_status(self, topics: set[str]) -> dict[TopicPartition, PartitionStatus]:
        """As given."""
        assert topics == {"t"}
        return {
            TopicPartition("t", n): PartitionStatus(leader=r[0], replicas=r, isr=r) for n, r in self._replicas.items()
        }

    def replica_logs(self, brokers: set[int], names: set[TopicPartition]) -> tuple[dict[Any, Any], dict[int, Fault]]:
        """None, but who was asked for what."""
        self.asked.append((brokers, {name.partition for name in names}))
        return {}, {5: Fault("REQUEST_TIMED_OUT", "")} if 5 in brokers else {}


def _targets(*planned: RunPartition) -> list[TargetPlacement]:
    return [target_of(p, Goal.APPLY, by_steps=False) for p in planned]


def test_who_is_asked_for_logs() -> None:
    """Live brokers with a target log dir, and those that get a copy; none if there is none."""
    going = Reassignment(replicas=(4, 5, 1, 2), adding=(4, 5), removing=(1, 2))
    cluster = _Asked({0: (4, 5, 1, 2), 1: (1, 2)}, {0: going})
    targets = _targets(planned_partition((1, 2), (4, 5)), planned_partition((1, 2), (9, 3), ("/d1", "/d1"), number=1))
    seen = observe(cluster, targets)  # type: ignore[arg-type]
    assert cluster.asked == [({3, 4, 5}, {0, 1})]
    assert (seen.brokers, seen.responding) == (frozenset(range(1, 6)), frozenset(range(1, 5)))
    cluster = _Asked({0: (1, 2)}, {})
    observe(cluster, _targets(planned_partition((1, 2), (4, 5))))  # type: ignore[arg-type]
    assert cluster.asked == []


def test_what_is_observed_again() -> None:
    """Replicas are read again, brokers and reassignments are not; logs only of partitions on the right brokers."""
    targets = _targets(
        planned_partition((1, 2), (3, 5), ("/d1", "/d1")),
        planned_partition((1, 2), (4, 2), ("/d1", "any"), number=1),
        planned_partition((1, 2), (1, 2), ("/d1", "any"), number=2),
    )
    cluster = _Asked({0: (3, 5), 1: (1, 2)}, {})
    before = replace(observation_of((1, 2)), brokers=frozenset({1, 2, 3, 5}))
    seen = observe_again(cluster, before, targets)  # type: ignore[arg-type]
    assert cluster.asked == [({3, 5}, {0})]
    assert (seen.brokers, seen.reassignments) == (before.brokers, before.reassignments)
    assert seen.responding == {1, 2, 3}
    assert seen.status[TopicPartition("t", 0)].replicas == (3, 5)
