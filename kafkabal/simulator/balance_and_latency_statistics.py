"""Statistics of balance and latency in bounded memory, with intervals over several seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64
from kafkabal.scoring import shares_by_group

# latencies from 1 us to 10^5 s in steps of 1%
_LEAST_S = 1e-6
_STEP = math.log(1.01)
_BINS = math.ceil(math.log(1e11) / _STEP) + 1
# two-sided 95% points of Student's t for 1, 2, ... degrees of freedom, and of the normal distribution
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_NORMAL95 = 1.959964
# root of the transform in `estimate`: of 1 to 5, the first that covers 95 of 100 drawn workloads under pkg; 1 covers
# 88, 3 covers 92
_ROOT = 5


def max_over_mean(load: F64, capacity: F64 | None = None) -> float:
    """Largest share of a broker by load over capacity, equal by default; 1.0 is balanced, also if all loads are
    zero."""
    if not load.size:
        return 1.0
    n = len(load)
    due = np.ones(n) if capacity is None else capacity
    share, _ = shares_by_group(load, due, np.ones(n, np.bool_), np.zeros(n, np.int32))
    return float(share.max())


def variation(values: F64) -> float:
    """Coefficient of variation: standard deviation over mean; 0 is balanced."""
    mean = float(values.mean()) if values.size else 0.0
    return float(values.std()) / mean if mean else 0.0


def jain(values: F64) -> float:
    """Jain's index of fairness, 1 / n to 1; 1 is balanced.

    References
    ----------
    Jain, Chiu, Hawe, *A Quantitative Measure of Fairness*, DEC-TR-301, 1984.
    """
    squares = float((values**2).sum()) * len(values)
    return float(values.sum()) ** 2 / squares if squares else 1.0


class LatencyHistogram:
    """Counts of latencies in bins that are 1% wide, so that every quantile is exact to 1%."""

    def __init__(self) -> None:
        self._counts = np.zeros(_BINS, np.int64)

    def __len__(self) -> int:
        return int(self._counts.sum())

    def add(self, latency_s: F64) -> None:
        """Count latencies: float64, shape (n,), >= 0."""
        bins = np.log(np.maximum(latency_s, _LEAST_S) / _LEAST_S) / _STEP
        self._counts += np.bincount(bins.astype(np.int64).clip(0, _BINS - 1), minlength=_BINS)

    def quantile(self, part: float) -> float:
        """Latency in seconds that a fraction ``part`` (0 to 1) stays below; NaN if nothing was counted."""
        total = len(self)
        if not total:
            return math.nan
        at = int(np.searchsorted(np.cumsum(self._counts), part * total))
        return _LEAST_S * math.exp((at + 0.5) * _STEP)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure over several seeds."""

    mean: float
    half_width: float
    """Half width of the interval that one more run falls into with 95%; NaN for a single seed."""


def estimate(values: Sequence[float], least: float | None = None) -> Estimate:
    """Mean, and the prediction interval for one more draw, such as a real run: by Student's t.

    The confidence interval of the mean would shrink with every seed, and miss rare events. A figure bounded below by
    ``least``, such as the maximum over the mean, has a long upper tail: runs in which two heavy keys meet. So the fifth
    root of its excess is treated as normal, and the half width is the distance from the mean to the farther end of the
    interval.
    """
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return Estimate(mean, math.nan)
    if least is None:
        _, half_width = _by_t(values)
        return Estimate(mean, half_width)
    center, half_width = _by_t([max(0.0, value - least) ** (1 / _ROOT) for value in values])
    low, high = (least + max(0.0, end) ** _ROOT for end in (center - half_width, center + half_width))
    return Estimate(mean, max(mean - low, high - mean))


def _by_t(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half width of the prediction interval for one more draw from a normal distribution."""
    n = len(values)
    mean = sum(values) / n
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, student95(n - 1) * deviation * math.sqrt(1 + 1 / n)


def student95(freedom: int) -> float:
    """Two-sided 95% point of Student's t with this many degrees of freedom, 1 or more, exact to three decimals.

    References
    ----------
    Abramowitz, Stegun, *Handbook of Mathematical Functions*, 26.7.5: the Cornish-Fisher expansion around the normal
    distribution, from eleven degrees on.
    """
    if freedom <= len(_T95):
        return _T95[freedom - 1]
    z = _NORMAL95
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return sum(term / float(freedom) ** power for power, term in enumerate(terms))
