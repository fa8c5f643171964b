"""Partitions that represent all of a large cluster, so that a relaxation of it is evaluated many times faster.

Partitions are drawn in proportion to their bytes, and each counts as many times as it has others to represent, so that
sums of bytes are hardly off. Those larger than a step are all drawn.

Source: systematic sampling with probability proportional to size (W. G. Madow, On the Theory of Systematic Sampling,
II, Annals of Mathematical Statistics 20, 1949), from the middle of the first step instead of a random point.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64

_MOST_HALVINGS = 60
"""Of the range in which the step is searched; each halves the error, and a double has 53 bits."""


class SampledPartitions(NamedTuple):
    """Partitions, and how many times each of them counts."""

    partition: I64
    """In ascending order."""
    weight: F64
    """At least 1."""


def sampled_partitions(bytes_: F64, number: int) -> SampledPartitions:
    """Draw partitions.

    Parameters
    ----------
    bytes_
        shape (n_partitions,): partitions of 0 bytes are not drawn.
    number
        How many to draw, off by one at most; more than 0.
    """
    rows = np.flatnonzero(bytes_ > 0)
    parts = np.minimum(bytes_[rows] / _step(bytes_[rows], number), 1.0)
    steps = np.floor(np.cumsum(parts) + 0.5)
    drawn = np.diff(steps, prepend=0.0) > 0
    return SampledPartitions(rows[drawn], 1 / parts[drawn])


def _step(bytes_: F64, number: int) -> float:
    """Bytes for each of which one partition is drawn."""
    low, high = 0.0, float(bytes_.sum()) / number
    if len(bytes_) <= number:
        return float(bytes_.min(initial=np.inf))
    for _ in range(_MOST_HALVINGS):
        middle = (low + high) / 2
        if np.minimum(bytes_ / middle, 1.0).sum() > number:
            low = middle
        else:
            high = middle
    return high
