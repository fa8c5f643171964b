"""Figures of brokers as a column."""

from __future__ import annotations

import math

import numpy as np

from kafkabal.telemetry.column_by_broker import as_column


def test_a_column_has_nan_for_unknown_brokers() -> None:
    """Figures are laid out by broker row; a broker without one is NaN, one that is no broker is dropped."""
    column = as_column({2: 0.5, 9: 1.0}, np.array([1, 2, 3], np.int32))
    np.testing.assert_array_equal(column, [math.nan, 0.5, math.nan])
