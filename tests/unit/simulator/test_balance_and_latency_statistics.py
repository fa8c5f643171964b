"""Statistics of balance and latency."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kafkabal.simulator.balance_and_latency_statistics import (
    LatencyHistogram,
    estimate,
    jain,
    max_over_mean,
    student95,
    variation,
)


def test_figures_of_balance() -> None:
    """Equal loads give 1, 0 and 1, all load on one of four 4, sqrt 3 and a quarter; no load counts as equal."""
    even, lopsided, empty = np.full(4, 7.0), np.array([8.0, 0, 0, 0]), np.zeros(4)

    assert (max_over_mean(even), variation(even), jain(even)) == (1, 0, 1)
    assert (max_over_mean(lopsided), variation(lopsided), jain(lopsided)) == (4, pytest.approx(math.sqrt(3)), 0.25)
    assert (max_over_mean(empty), variation(empty), jain(empty)) == (1, 0, 1)


def test_latencies_beyond_the_histogram_count_in_its_first_and_last_bin() -> None:
    """None is lost, however short or long: a simulated queue may grow without end."""
    histogram = LatencyHistogram()
    histogram.add(np.array([0.0, 1e-12, 1e12]))
    assert len(histogram) == 3
    assert histogram.quantile(0.1) < 1e-5
    assert histogram.quantile(0.9) > 1e5


def test_quantiles_are_right_to_one_per_cent() -> None:
    """Whatever the scale, quantiles of the histogram equal those of the values, within a bin."""
    values = np.random.default_rng(1).lognormal(-5, 2, 50_000)
    histogram = LatencyHistogram()
    for part in np.array_split(values, 7):
        histogram.add(part)

    assert len(histogram) == 50_000
    for part in (0.5, 0.99, 0.999):
        assert histogram.quantile(part) == pytest.approx(np.quantile(values, part), rel=0.015)
    assert math.isnan(LatencyHistogram().quantile(0.5))


def test_interval_of_students_t() -> None:
    """1, 2, 3 have mean 2 and deviation 1; one more value lies within 4.303 * sqrt(4 / 3) of the mean."""
    found = estimate([1.0, 2.0, 3.0])

    assert found.mean == 2
    assert found.half_width == pytest.approx(4.303 * math.sqrt(4 / 3), rel=1e-3)
    assert math.isnan(estimate([1.0]).half_width)


# printed tables of Student's t, by degrees of freedom
TABLE95 = {
    1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120,
    17: 2.110, 18: 2.101, 19: 2.093, 20: 2.086, 25: 2.060, 29: 2.045, 30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980,
    10**9: 1.960,
}  # fmt: skip


@pytest.mark.parametrize(("freedom", "point"), TABLE95.items())
def test_points_of_students_t_are_those_of_the_tables(freedom: int, point: float) -> None:
    """However many seeds there are, the quantile of the 95% interval equals that of the printed tables."""
    assert student95(freedom) == pytest.approx(point, abs=6e-4)


def test_interval_of_seventeen_seeds() -> None:
    """Sixteen zeros and a 17 have mean 1 and deviation sqrt 17: one more value lies within 2.120 * sqrt 18."""
    found = estimate([0.0] * 16 + [17.0])

    assert (found.mean, found.half_width) == (1, pytest.approx(2.120 * math.sqrt(18), abs=3e-3))
