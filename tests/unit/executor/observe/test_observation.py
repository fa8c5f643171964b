"""The stage of a partition, from one observation of the cluster."""

from __future__ import annotations

import pytest

from kafkabal.clusters.cluster_protocol import Reassignment, ReplicaLog
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign.target_placement import target_of
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
    wanted = target_of(planned_partition((1, 2, 3), (4, 2, 3)), Goal.APPLY, by_steps=False)
    going = Reassignment(replicas=replicas or (), adding=running[0], removing=running[1]) if running else None
    assert observation_of(replicas, going).stage(wanted) is expected


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
    """A partition is placed only when its replica is observed in the requested log dir."""
    wanted = target_of(planned_partition((4, 2, 3), (4, 2, 3), ("/d1", "any", "any")), Goal.APPLY, by_steps=False)
    assert observation_of((4, 2, 3), logs={4: log} if log else {}).stage(wanted) is expected


def test_stage_during_a_rollback() -> None:
    """A rollback sees a reassignment towards the plan as one of its own in the wrong direction."""
    wanted = target_of(planned_partition((1, 2, 3), (4, 2, 3)), Goal.ROLL_BACK, by_steps=False)
    going = Reassignment(replicas=(4, 2, 3, 1), adding=(4,), removing=(1,))
    assert observation_of((4, 2, 3, 1), going).stage(wanted) is Stage.WRONG_TARGET
