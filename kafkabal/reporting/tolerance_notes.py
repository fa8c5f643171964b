"""Notes on what the figures of bands do not explain by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.config import DEFAULT_CHECK_TOLERANCE, DEFAULT_PLAN_TOLERANCE
from kafkabal.units import format_percent, percent_as_option

TWO_TOLERANCES = (
    f"tolerance: inspect allows {format_percent(DEFAULT_CHECK_TOLERANCE, digits=0)}, rebalance aims at "
    f"{format_percent(DEFAULT_PLAN_TOLERANCE, digits=0)}, so that a rebalanced cluster stays balanced while "
    "data is written"
)
"""Why a plan counts more holders outside their bands than ``inspect`` does."""


_BY_BYTES = frozenset({"disk", "log-dir"})


def rounding_note(names: Sequence[str], tolerance: float) -> tuple[str, ...]:
    """Why scores count as balanced although a share is farther from 1 than the tolerance; empty without such scores."""
    width = percent_as_option(tolerance)
    reasons = (
        ([name for name in names if name not in _BY_BYTES], "since bands of counts end at whole numbers"),
        ([name for name in names if name in _BY_BYTES], "since less than a ten-millionth of a disk does not count"),
    )
    return tuple(
        f"{', '.join(listed)}: shares outside {width} are inside their bands, {reason}"
        for listed, reason in reasons
        if listed
    )
