"""Figures of brokers as a column beside their ids."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from kafkabal.model import F64, I32


def as_column(figures: Mapping[int, float], broker_id: I32) -> F64:
    """float64, shape (n_brokers,): the figure of each broker, NaN where there is none."""
    return np.fromiter((figures.get(broker, math.nan) for broker in broker_id.tolist()), np.float64, len(broker_id))
