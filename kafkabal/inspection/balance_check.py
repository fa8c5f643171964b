"""``inspect --check`` and ``--nagios``: whether the cluster is balanced, by the bands that ``rebalance`` uses."""

from __future__ import annotations

from kafkabal.inspection.inspection import Inspection
from kafkabal.inspection.verdict import faults


def has_findings(inspection: Inspection, tolerance: float) -> bool:
    """Whether a score is outside its band at this tolerance, or something is broken."""
    return is_broken(inspection) or next(inspection.outside(tolerance), None) is not None


def is_broken(inspection: Inspection) -> bool:
    """Whether something is broken that rebalancing alone does not repair."""
    return next(faults(inspection.state), None) is not None
