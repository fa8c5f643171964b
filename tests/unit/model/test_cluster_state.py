"""Columns of a cluster."""

from __future__ import annotations

import math

import numpy as np

from kafkabal.testing.cluster_builders import brokers, cluster


def test_a_column_of_figures_has_nan_for_unknown_brokers() -> None:
    """Figures are laid out by broker row; a broker without one is NaN, one that is not a broker is dropped."""
    state = cluster(brokers(3), [])
    np.testing.assert_array_equal(state.brokers.column_of({2: 0.5, 9: 1.0}), [math.nan, 0.5, math.nan])
