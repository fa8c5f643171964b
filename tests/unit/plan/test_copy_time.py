"""How long copies take, for every command that predicts it."""

from __future__ import annotations

import pytest

from kafkabal.executor.observe.duration_estimate import planned_copies, predicted_s
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.plan.copy_time import bytes_of_copies, plan_copy_s
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement
from kafkabal.planner.drain_check import check_drain
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic

_RATE = 50_000_000


def test_a_plan_a_run_and_a_drain_take_the_same_time() -> None:
    """The plan that drains a broker, its run, and the check before it predict the same time."""
    previous = Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0"))
    what = {"topic": "t", "partition": 0, "replicas": (1, 3), "log_dirs": (ANY_DIR, ANY_DIR), "previous": previous}
    by_plan = plan_copy_s([PartitionChange(**what, bytes=GB)], _RATE)  # type: ignore[arg-type]
    run_partition = RunPartition(**what, copy_bytes=GB)  # type: ignore[arg-type]
    by_run = predicted_s([planned_copies(run_partition)], Throttle(bytes_per_s=_RATE))
    by_check = check_drain(cluster(brokers(3), [topic("t", (1, 2), size_bytes=GB)]), [2], throttle_bytes_per_s=_RATE)
    assert by_plan == by_run == pytest.approx(by_check.duration_s)


def test_a_copy_without_a_known_leader_is_only_received() -> None:
    """Without a known leader, no broker is charged for sending its bytes."""
    sent, received = bytes_of_copies([(-1, (2, 3), 5), (1, (3,), 7)])
    assert (sent, received) == ({1: 7}, {2: 5, 3: 12})
