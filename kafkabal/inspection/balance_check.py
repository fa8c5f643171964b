"""``inspect --check`` and ``--nagios``: is the cluster even enough, asked of the bands that ``rebalance`` works by."""

from __future__ import annotations

from kafkabal.inspection.inspection import Inspection
from kafkabal.inspection.verdict import faults


def has_findings(inspection: Inspection, tolerance: float) -> bool:
    """Whether a score is outside the band of this tolerance, or something is broken."""
    return is_broken(inspection) or next(inspection.outside(tolerance), None) is not None


def is_broken(inspection: Inspection) -> bool:
    """Whether something does not work, which no rebalancing mends for good."""
    return next(faults(inspection.state), None) is not None
