"""Figures of balance and latency."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kafkabal.routing.simulation.statistics import LatencyHistogram, estimate, jain, max_over_mean, variation


def test_figures_of_balance() -> None:
    """Even is 1, 0 and 1; everything on one of four is 4, sqrt 3 and a quarter; nothing at all is even."""
    even, lopsided, empty = np.full(4, 7.0), np.array([8.0, 0, 0, 0]), np.zeros(4)

    assert (max_over_mean(even), variation(even), jain(even)) == (1, 0, 1)
    assert (max_over_mean(lopsided), variation(lopsided), jain(lopsided)) == (4, pytest.approx(math.sqrt(3)), 0.25)
    assert (max_over_mean(empty), variation(empty), jain(empty)) == (1, 0, 1)


def test_quantiles_are_right_to_one_per_cent() -> None:
    """Whatever the scale, quantiles of the histogram are those of the values, within a bin."""
    values = np.random.default_rng(1).lognormal(-5, 2, 50_000)
    histogram = LatencyHistogram()
    for part in np.array_split(values, 7):
        histogram.add(part)

    assert len(histogram) == 50_000
    for part in (0.5, 0.99, 0.999):
        assert histogram.quantile(part) == pytest.approx(np.quantile(values, part), rel=0.015)
    assert math.isnan(LatencyHistogram().quantile(0.5))


def test_interval_of_students_t() -> None:
    """The values 1, 2, 3 have the mean 2 and a half width of 4.303 / sqrt 3."""
    found = estimate([1.0, 2.0, 3.0])

    assert found.mean == 2
    assert found.half_width == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert math.isnan(estimate([1.0]).half_width)
