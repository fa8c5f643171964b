"""The time that copies take under a throttle."""

from __future__ import annotations

import pytest

from kafkabal.executor.observe.duration_estimate import planned_copies, predicted_s
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_record import RunPartition
from tests.unit.executor.conftest import planned_partition


@pytest.mark.parametrize(
    ("partitions", "expected_s"),
    [
        ([planned_partition((1, 2), (3, 2))], 100.0),
        ([planned_partition((1, 2), (3, 4))], 200.0),
        ([planned_partition((1, 2), (3, 2)), planned_partition((2, 1), (3, 1))], 200.0),
        ([planned_partition((1, 2), (3, 2)), planned_partition((2, 1), (4, 1))], 100.0),
        ([planned_partition((1, 2), (1, 2), ("/d1", "any"))], 50.0),
        ([planned_partition((1, 2), (2, 1))], 0.0),
    ],
)
def test_predicted_time(partitions: list[RunPartition], expected_s: float) -> None:
    """The busiest sender, receiver or disk sets the time; a leader sends one copy per new replica."""
    throttle = Throttle(bytes_per_s=10_000_000, log_dir_bytes_per_s=20_000_000)
    assert predicted_s([planned_copies(p) for p in partitions], throttle) == pytest.approx(expected_s * 1.12)


def test_no_prediction_without_a_throttle() -> None:
    """Without a throttle it is unknown."""
    assert predicted_s([planned_copies(planned_partition((1, 2), (3, 2)))], Throttle()) is None
