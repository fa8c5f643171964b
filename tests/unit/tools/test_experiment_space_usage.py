"""What experiment 1 computes besides measuring: placements, the least imbalance, simulated cases."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.space_usage import CASES, Case, least_imbalance, placed_topic, simulated_bytes
from kafkabal.model import F64

EVEN: F64 = np.ones(4)


@pytest.mark.parametrize(
    ("assignment", "capacity", "least"),
    [
        ([[0], [1], [2], [3], [0], [0]], EVEN, 1.0),
        # a broker without a partition gets nothing, and the others share its part
        ([[0], [1], [2], [2]], EVEN, 4 / 3),
        # a broker with a replica of everything gets every byte, where its share is three quarters
        ([[0, 1, 2], [0, 2, 3], [0, 1, 3]], EVEN, 4 / 3),
        ([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]], EVEN, 1.0),
        ([[0], [1], [2], [3]], np.array([1.0, 1.0, 2.0, 4.0]), 1.0),
        # half of the capacity has no partition
        ([[0], [1], [2]], np.array([1.0, 1.0, 2.0, 4.0]), 2.0),
    ],
)
def test_least_imbalance(assignment: list[list[int]], capacity: F64, least: float) -> None:
    """The least imbalance equals the value computed by hand, whatever the unit of capacity."""
    assert least_imbalance(assignment, capacity) == pytest.approx(least)
    assert least_imbalance(assignment, capacity * 2**31) == pytest.approx(least)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_partitions_are_drawn_by_the_seed(case: Case) -> None:
    """All policies of a run get the same partitions, and another seed draws others."""
    drawn = [placed_topic(case, seed)[1] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == (case.partitions or case.brokers + 2)
    assert {len(set(brokers)) for brokers in drawn[0]} == {case.replication_factor}


def test_a_simulated_case() -> None:
    """On twelve brokers the fullest is little above the mean by score, and far above by librdkafka's default."""
    case = next(case for case in CASES if case.is_simulated)
    by_score, by_default = (simulated_bytes(case, policy, 0) for policy in ("score", "librdkafka default"))
    assert max(by_score) < 1.02 * float(np.mean(by_score))
    assert max(by_default) > 1.3 * float(np.mean(by_default))
    assert min(sum(by_score), sum(by_default)) >= case.records * case.sizes.mean_bytes
