"""The report of the trade-off between bytes and tolerance."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.planner import FrontierPoint
from kafkabal.reporting.report import Column, Report, Table, ValueKind
from kafkabal.units import percent_as_option


def frontier_report(points: Sequence[FrontierPoint]) -> Report:
    """One row per tolerance."""
    columns = (
        Column(
            key="tolerance", title="tolerance", values=[p.tolerance for p in points], kind=ValueKind.PERCENT, label=True
        ),
        Column(key="moved_bytes", title="to move", values=[p.moved_bytes for p in points], kind=ValueKind.BYTES),
        Column(key="bound_bytes", title="lower bound", values=[p.bound_bytes for p in points], kind=ValueKind.BYTES),
        Column(key="moves", title="replicas", values=[p.moves for p in points], kind=ValueKind.NUMBER),
        Column(key="disk_skew", title="disk skew after", values=[p.disk_skew for p in points], kind=ValueKind.PERCENT),
        Column(key="outside", title="outside", values=[p.outside for p in points], kind=ValueKind.NUMBER, quiet=True),
    )
    return Report(
        command="rebalance plan --frontier",
        headline="bytes that a plan moves, by tolerance",
        notes=tuple(
            f"{percent_as_option(p.tolerance)}: the best plan found is the one for --tolerance "
            f"{percent_as_option(p.plan_tolerance)}, which is inside these bands too"
            for p in points
            if p.plan_tolerance < p.tolerance
        ),
        tables=(Table(key="frontier", columns=columns),),
    )
