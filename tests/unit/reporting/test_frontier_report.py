"""The report of the trade-off between bytes and tolerance."""

from kafkabal.planner import FrontierPoint
from kafkabal.reporting.frontier_report import frontier_report


def point(tolerance: float, plan_tolerance: float) -> FrontierPoint:
    """A plan that moves 1,000 bytes."""
    return FrontierPoint(
        tolerance=tolerance,
        plan_tolerance=plan_tolerance,
        moved_bytes=1000,
        bound_bytes=900,
        moves=3,
        disk_skew=0.02,
        outside=0,
    )


def test_a_note_names_the_tolerance_whose_plan_is_shown() -> None:
    """Only a row with the plan of another tolerance has a note, which names the option to use."""
    report = frontier_report([point(0.01, 0.01), point(0.05, 0.01)])

    assert list(report.notes) == [
        "5%: the best plan found is the one for --tolerance 1%, which is inside these bands too"
    ]
