"""How experiment 2a finds the rate that saturates a producer, without brokers."""

from __future__ import annotations

import pytest

from experiments.healthy_latency import saturating_per_s


@pytest.mark.parametrize("capacity_per_s", [1.0, 150.0, 70_000.0])
def test_the_ramp_ends_where_a_rate_is_missed(capacity_per_s: float) -> None:
    """The rate doubles each time, the last one is tried twice, and the result is the highest rate reached."""
    offered: list[float] = []

    def reached(per_s: float) -> float:
        offered.append(per_s)
        return min(per_s, capacity_per_s)

    assert saturating_per_s(reached, 100.0) == capacity_per_s
    *rising, last = offered
    assert rising == [100.0 * 2**step for step in range(len(rising))]
    assert last == rising[-1] > capacity_per_s


def test_one_disturbed_moment_does_not_end_the_ramp() -> None:
    """A rate that is reached at the second try is followed by the next, and the result is the highest rate reached."""
    answers = iter([100.0, 20.0, 200.0, 380.0, 400.0, 500.0])
    offered: list[float] = []

    def reached(per_s: float) -> float:
        offered.append(per_s)
        return next(answers)

    assert saturating_per_s(reached, 100.0) == 500
    assert offered == [100, 200, 200, 400, 800, 800]
