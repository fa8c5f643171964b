"""What counts as balanced: the band that the load of each holder must stay in, given a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

import numpy as np

from kafkabal.model import F64

# shares that differ by less than this are equal: floating-point sums are not exact
SHARE_EPSILON = 1e-9
"""How far a share may exceed its band: sums in another order differ by some 1e-12, and one byte of a broker is 1e-12
too."""
_MOST_BROKERS: Final = 1000
"""Most brokers with equal fair counts: the largest denominator tried."""
_NOISE: Final = 1e-10
"""Relative error of floating-point sums of a fair load: shares are rounded to twelve digits."""
_NEGLIGIBLE_FRACTION: Final = 1e-7
"""Of a disk: 100 kB of 1 TB. A few batches of an internal topic are less; trial data on a large disk are more."""


class Band(Protocol):
    """Lowest and highest load that counts as balanced."""

    def edges(self, fair_load: F64, tolerance: float) -> tuple[F64, F64]:
        """Edges of the band around the fair load (mean x capacity) of each holder, in the unit of the load."""


class RelativeBand:
    """Within ``fair x (1 - t)`` and ``fair x (1 + t)``."""

    def edges(self, fair_load: F64, tolerance: float) -> tuple[F64, F64]:
        """See :meth:`Band.edges`."""
        slack = SHARE_EPSILON * fair_load
        return fair_load * (1 - tolerance) - slack, fair_load * (1 + tolerance) + slack


class DiskBand(RelativeBand):
    """The same for bytes on disks, where a difference of a ten-millionth of the disk never counts.

    On a nearly empty cluster a few batches of an internal topic are several times the fair load, and mean nothing.
    """

    def negligible(self, capacity: F64) -> F64:
        """How far outside its band each holder may be, in bytes; nothing where the size of the disk is unknown (1)."""
        return capacity * _NEGLIGIBLE_FRACTION

    def edges_on(self, capacity: F64, fair_load: F64, tolerance: float) -> tuple[F64, F64]:
        """Edges as of :meth:`Band.edges`, widened by what is negligible on disks of these sizes in bytes."""
        low, high = self.edges(fair_load, tolerance)
        slack = self.negligible(capacity)
        return np.maximum(low - slack, 0.0), high + slack


class CountBand:
    """Whole numbers between ``floor(fair x (1 - t))`` and ``ceil(fair x (1 + t))``."""

    def edges(self, fair_load: F64, tolerance: float) -> tuple[F64, F64]:
        """See :meth:`Band.edges`."""
        fair_load = _as_quotients(fair_load)
        return np.floor(fair_load * (1 - tolerance)), np.ceil(fair_load * (1 + tolerance))


def _as_quotients(fair_load: F64) -> F64:
    """Each fair count as the float closest to the quotient of a count and a number of brokers.

    Racks make it a sum of floats, which is off by a hair. If a band edge is a whole number, such as 13% of the
    replicas for 7 brokers at 9%, that hair would allow one more.
    """
    values, at = np.unique(fair_load, return_inverse=True)
    return np.array([_as_quotient(v) for v in values.tolist()], np.float64)[at].reshape(fair_load.shape)


def _as_quotient(value: float) -> float:
    near = float(Fraction(value).limit_denominator(_MOST_BROKERS)) if math.isfinite(value) else value
    return near if abs(near - value) <= _NOISE * abs(value) else value


@dataclass(frozen=True, slots=True)
class SpreadBand:
    """At most ``ceil(fair) + 1``, whatever the tolerance; the lower edge is 0."""

    widened_by: float = 0.0
    """Fraction of the fair load that is allowed on top: ``ceil(fair x (1 + widened_by)) + 1``."""

    def edges(self, fair_load: F64, tolerance: float) -> tuple[F64, F64]:  # noqa: ARG002
        """See :meth:`Band.edges`."""
        return np.zeros_like(fair_load), self.most(fair_load)

    def most(self, fair_load: F64) -> F64:
        """The upper edge for each fair load, whose noise in floating-point sums grows with it."""
        widened = fair_load * (1 + self.widened_by)
        return np.asarray(np.ceil(widened - SHARE_EPSILON * np.maximum(widened, 1.0)) + 1)
