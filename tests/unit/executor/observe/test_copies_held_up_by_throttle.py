"""Why copies make no progress: the throttle, if producers alone use it up."""

from __future__ import annotations

import msgspec
import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.observe.copies_held_up_by_throttle import stall_reasons
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.state.run_states import Goal
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from tests.unit.executor.conftest import MB, planned_partition

_NO_PROGRESS = "no progress for 1 min 30 s"


@pytest.mark.parametrize(
    ("written", "rate", "elapsed_s", "arriving", "leader", "is_held_up"),
    [
        # the leader sends what is written to both followers, the new one included
        pytest.param(10 * MB, 2 * MB, 10.0, (4,), 1, True, id="all of the throttle"),
        pytest.param(10 * MB, 2 * MB + 1, 10.0, (4,), 1, False, id="a little is left"),
        pytest.param(10 * MB, 2 * MB, 11.0, (4,), 1, False, id="written over a longer time"),
        pytest.param(0, MB, 10.0, (4,), 1, False, id="nothing written"),
        pytest.param(10 * MB, 2 * MB, 10.0, (), 1, False, id="nothing on its way"),
        pytest.param(10 * MB, None, 10.0, (4,), 1, False, id="no throttle"),
        pytest.param(10 * MB, 2 * MB, 0.0, (4,), 1, False, id="no time has passed"),
        pytest.param(10 * MB, 2 * MB, 10.0, (4,), -1, False, id="no leader"),
        pytest.param(10 * MB, 2 * MB, 10.0, (4,), 3, False, id="a leader that reports no log"),
    ],
)
def test_reason_of_a_stall(
    written: int, rate: int | None, elapsed_s: float, arriving: tuple[int, ...], leader: int, is_held_up: bool
) -> None:
    """The rate at which producers write, times the followers, against the throttle of the leader."""
    memory = InMemoryCluster.of(cluster(brokers(4), [topic("t", [1, 2], size_bytes=100 * MB + written)]))
    target = target_of(planned_partition((1, 2), (4, 2), size=100 * MB), Goal.APPLY, by_steps=False)
    task = PartitionTask(target, current=(4, 2, 1), arriving=arriving, leader=leader)
    why = stall_reasons(memory, [task], rate, elapsed_s, 90.0)
    expected = "producers write faster (977 KiB/s to each of 2 followers) than its throttle of 1.91 MiB/s allows"
    assert why == {task: expected if is_held_up else _NO_PROGRESS}


def test_the_log_of_broker_0() -> None:
    """It is a leader like any other, though its id is 0."""
    rows = [msgspec.structs.replace(row, broker=row.broker - 1) for row in brokers(5)]
    memory = InMemoryCluster.of(cluster(rows, [topic("t", [0, 2], size_bytes=110 * MB)]))
    target = target_of(planned_partition((0, 2), (4, 2), size=100 * MB), Goal.APPLY, by_steps=False)
    task = PartitionTask(target, current=(4, 2, 0), arriving=(4,), leader=0)
    assert "producers write faster" in stall_reasons(memory, [task], 2 * MB, 10.0, 90.0)[task]
