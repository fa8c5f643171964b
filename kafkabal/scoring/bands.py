"""What counts as balanced: the band that the load of every holder must be in, given a tolerance."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from kafkabal.model import F64

# shares that differ by less than this are equal: sums of floats are not exact
SHARE_EPSILON = 1e-9
"""What a share may lie beyond its band: sums in another order differ by some 1e-12, and a byte of a broker is 1e-12
too."""


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


class CountBand:
    """Whole numbers between ``floor(fair x (1 - t))`` and ``ceil(fair x (1 + t))``."""

    def edges(self, fair_load: F64, tolerance: float) -> tuple[F64, F64]:
        """See :meth:`Band.edges`."""
        # a fair load that a flow gives can be a hair above a whole number, which would allow one more
        whole = np.rint(fair_load)
        fair_load = np.where(np.abs(fair_load - whole) < SHARE_EPSILON, whole, fair_load)
        return np.floor(fair_load * (1 - tolerance)), np.ceil(fair_load * (1 + tolerance))


class SpreadBand:
    """At most ``ceil(fair) + 1``, whatever the tolerance; as few as none."""

    def edges(self, fair_load: F64, tolerance: float) -> tuple[F64, F64]:  # noqa: ARG002
        """See :meth:`Band.edges`."""
        return np.zeros_like(fair_load), np.ceil(fair_load - SHARE_EPSILON) + 1
