"""``inspect --check`` and ``--nagios``: is the cluster even enough, asked of the bands that ``rebalance`` works by."""

from __future__ import annotations

from kafkabal.inspection.inspection import Inspection, Scored
from kafkabal.inspection.verdict import faults
from kafkabal.scoring import RelativeBand


def has_findings(inspection: Inspection, tolerance: float) -> bool:
    """Whether a score is outside the band of this tolerance, or something is broken."""
    return is_broken(inspection) or next(inspection.outside(tolerance), None) is not None


def is_broken(inspection: Inspection) -> bool:
    """Whether something does not work, which no rebalancing mends for good."""
    return next(faults(inspection.state), None) is not None


def performance_data(inspection: Inspection, warning: float, critical: float, *, prefix: str = "") -> str:
    """Skew of every score as a monitoring plugin prints it: ``'disk skew'=0.41;0.10;0.25;0``.

    Thresholds stand only where they are what a score is judged by. Counts are judged in whole replicas, so that
    their skew may be large and yet the least that can be had: ``'leaders skew'=0.5;;;0``. ``prefix`` stands before
    each label, where there are several clusters.
    """
    return " ".join(
        f"'{prefix}{scored.score.name} skew'={scored.evaluation.skew:.4g};{_thresholds(scored, warning, critical)};0"
        for scored in inspection.scored
    )


def _thresholds(scored: Scored, warning: float, critical: float) -> str:
    return f"{warning:g};{critical:g}" if isinstance(scored.score.band, RelativeBand) else ";"
