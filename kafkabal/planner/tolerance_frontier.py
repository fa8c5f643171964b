"""The cost of a tight tolerance: the bytes of a plan for each of several tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kafkabal.model import ClusterState
from kafkabal.plan import Plan
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan

FRONTIER_TOLERANCES = (0.01, 0.02, 0.05, 0.09, 0.15, 0.25)
"""From what whole replicas barely allow to what moves almost nothing; 0.09 is the default of ``rebalance``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """One tolerance and what a plan for it needs."""

    tolerance: float
    plan_tolerance: float
    """Tolerance of the plan: a narrower one where that plan moves fewer bytes, as a search does not find the fewest."""
    moved_bytes: int
    bound_bytes: int | None
    moves: int
    """Replicas that change their broker."""
    disk_skew: float | None
    """After the plan; None if disk is not a score of the plan."""
    outside: int
    """Brokers or log dirs that stay outside a band, over all scores."""


def frontier(
    state: ClusterState,
    options: PlanOptions,
    tolerances: Sequence[float] = FRONTIER_TOLERANCES,
) -> tuple[FrontierPoint, ...]:
    """Plan for each tolerance, the narrowest first.

    A plan that is inside its bands is inside wider ones too, and a bound of wide bands holds for narrower ones. So a
    wider tolerance never moves more bytes, and its bound is never higher.

    Raises
    ------
    UsageError
        If an option does not fit the cluster.
    """
    points: list[FrontierPoint] = []
    inside: list[Plan] = []
    for tolerance in sorted(tolerances):
        own = make_plan(state, replace(options, tolerance=tolerance))
        best = min((own, *inside), key=_merit)
        points.append(_point(tolerance, best, own.bound_bytes))
        inside = [] if _outside(best) else [best]
    for row in reversed(range(len(points) - 1)):
        points[row] = _bounded(points[row], points[row + 1].bound_bytes)
    return tuple(points)


def _merit(plan: Plan) -> tuple[int, int, int]:
    return len(plan.unrepaired), _outside(plan), plan.moved_bytes


def _outside(plan: Plan) -> int:
    return int(sum(score.after["outside"] for score in plan.scores.values()))


def _bounded(point: FrontierPoint, of_wider: int | None) -> FrontierPoint:
    """A point with the bound of a wider tolerance, if that is the higher one."""
    if point.bound_bytes is None or of_wider is None:
        return point
    return replace(point, bound_bytes=max(point.bound_bytes, of_wider))


def _point(tolerance: float, plan: Plan, bound_bytes: int | None) -> FrontierPoint:
    disk = plan.scores.get("disk")
    return FrontierPoint(
        tolerance=tolerance,
        plan_tolerance=plan.options["tolerance"],
        moved_bytes=plan.moved_bytes,
        bound_bytes=None if bound_bytes is None else min(bound_bytes, plan.moved_bytes),
        moves=sum(len(change.to_add) for change in plan.partitions),
        disk_skew=disk.after["skew"] if disk else None,
        outside=_outside(plan),
    )
