"""A median of measurements with its confidence interval."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import comb
from typing import Final

_MISS: Final = 0.025
"""Probability that the true median is beyond one end."""


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and the ends of its interval at 95% confidence: the innermost pair of values that has it, whatever
    the distribution. Fewer than six values do not suffice for that; the ends are then the least and the most.

    Source: the sign test (Dixon and Mood 1946), inverted.
    """
    ranked = sorted(values)
    below, tail = 0, 0.5 ** len(ranked)
    while tail + comb(len(ranked), below + 1) * 0.5 ** len(ranked) <= _MISS:
        below += 1
        tail += comb(len(ranked), below) * 0.5 ** len(ranked)
    return statistics.median(ranked), ranked[below], ranked[-1 - below]
