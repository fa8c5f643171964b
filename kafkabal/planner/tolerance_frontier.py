"""The cost of a tight tolerance: the bytes of a plan for each of several tolerances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kafkabal.model import ClusterState
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan

FRONTIER_TOLERANCES = (0.01, 0.02, 0.05, 0.09, 0.15, 0.25)
"""From what whole replicas barely allow to what moves almost nothing; 0.09 is the default of ``rebalance``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """One tolerance and what a plan for it needs."""

    tolerance: float
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
    """Plan for each tolerance.

    Raises
    ------
    UsageError
        If an option does not fit the cluster.
    """
    return tuple(_point(state, replace(options, tolerance=tolerance)) for tolerance in tolerances)


def _point(state: ClusterState, options: PlanOptions) -> FrontierPoint:
    plan = make_plan(state, options)
    disk = plan.scores.get("disk")
    return FrontierPoint(
        tolerance=options.tolerance,
        moved_bytes=plan.moved_bytes,
        bound_bytes=plan.bound_bytes,
        moves=sum(len(change.to_add) for change in plan.partitions),
        disk_skew=disk.after["skew"] if disk else None,
        outside=int(sum(score.after["outside"] for score in plan.scores.values())),
    )
