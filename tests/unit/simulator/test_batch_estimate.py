"""How many records a batch gets, against cases computed by hand and against simulated delivery."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import RoutingView
from kafkabal.simulator.batch_estimate import records_until_closed, records_until_full
from kafkabal.simulator.simulate_policy import SimulationOptions, simulate
from kafkabal.simulator.workload import LogNormalSize, Workload

EVEN = np.full(4, 0.25)


@pytest.mark.parametrize(
    ("staying", "linger_records", "expected"),
    [
        (0.25, 0.0, 1.0),  # nothing arrives while it lingers
        (0.25, 8.0, 3.0),  # a quarter of eight follow the first
        (None, 8.0, 3.0),  # the same if this is unknown
        (0.0, 8.0, 2.625),  # in turns: three eighths of a record less
        (0.0, 1.0, 1.0),  # in turns, its turn does not recur
        (1.0, 8.0, 9.0),  # all stay
        (0.25, 1e6, 100.0),  # it is full long before
    ],
)
def test_batches_by_hand(staying: float | None, linger_records: float, expected: float) -> None:
    """Records that follow within the linger time join the first record, unless the batch is full."""
    found = records_until_closed(EVEN, staying, linger_records, 100.0)
    assert found.tolist() == pytest.approx([expected] * 4)


def test_full_batches_leave_room_for_part_of_a_record() -> None:
    """Records of one size fill a batch to a whole number; mixed sizes fill it as packing one by one does."""
    assert records_until_full(np.full(5, 1000), 16_384) == 16
    assert records_until_full(np.full(5, 20_000), 16_384) == 1
    sizes = np.random.default_rng(1).lognormal(6, 0.7, 200_000).astype(np.int64) + 1
    batches, room = 0, 0
    for size in sizes.tolist():
        if size > room:
            batches, room = batches + 1, 16_384
        room -= size
    assert records_until_full(sizes, 16_384) == pytest.approx(len(sizes) / batches, rel=0.01)


@pytest.mark.parametrize("policy", ["random", "round-robin", "uniform-sticky", "score"])
@pytest.mark.parametrize("bytes_per_s", [1e6, 10e6, 80e6])
@pytest.mark.parametrize("producers", [1, 3])
def test_estimated_logs_are_as_long_as_delivered_ones(
    uneven_view: RoutingView, policy: str, bytes_per_s: float, producers: int
) -> None:
    """Without delivery, logs of 1 kB records are as long as with it, within 1%."""
    workload = Workload(records=8000, sizes=LogNormalSize(1000, 1), bytes_per_s=bytes_per_s, producers=producers)
    estimated, delivered = (
        simulate(uneven_view, load_policy(policy), workload, SimulationOptions(delivery=delivery))
        for delivery in (False, True)
    )
    assert estimated.partition_bytes.sum() == pytest.approx(delivered.partition_bytes.sum(), rel=0.01)
