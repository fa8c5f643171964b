"""What ``watch`` may do, and limits that keep data from moving back and forth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from kafkabal.config import DEFAULT_HEAL_DEAD_AFTER_S, DEFAULT_PLAN_TOLERANCE, TimeWindow

if TYPE_CHECKING:
    from kafkabal.model import ClusterState
    from kafkabal.planner import PlanOptions


class HealLevel(StrEnum):
    """What may be changed."""

    NONE = "none"
    """Nothing: findings are reported only."""
    LEADERS = "leaders"
    """Leadership, which moves no byte."""
    ALL = "all"
    """Leadership and replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealPolicy:
    """Limits of what is done without being asked."""

    level: HealLevel = HealLevel.NONE
    dead_after_s: float = DEFAULT_HEAL_DEAD_AFTER_S
    """How long a broker must be dead before its replicas are copied elsewhere."""
    well_after_s: float = 600.0
    """How long a slow broker must be well before leadership returns to it."""
    move_after_s: float | None = None
    """How long a broker must be slow before its replicas move as well; None never moves them."""
    window: TimeWindow | None = None
    """Local time in which replicas may move; leadership may move at any time."""
    topics: tuple[str, ...] = ()
    """Shell patterns of topics that may change; empty: all."""
    exclude_topics: tuple[str, ...] = ()
    """Shell patterns of topics that do not change, not even by a repair."""
    exclude_brokers: frozenset[int] = frozenset()
    """Ids of brokers that receive neither replicas nor leadership."""
    include_internal: bool = False
    """Whether internal topics may move for balance too."""
    max_bytes_per_day: int | None = None
    max_actions_per_day: int = 24
    max_dead: int = 1
    """If more brokers vanish at once, the network or power has failed, not the brokers: nothing is copied then."""
    outer_tolerance: float = 0.20
    """Imbalance beyond this band is acted on ..."""
    inner_tolerance: float = DEFAULT_PLAN_TOLERANCE
    """... by a plan that aims at this one; imbalance between the two is left alone, so that noise moves nothing."""
    replan_after_s: float = 3600.0
    """Plan a run for balance again after this time: by then its state is an hour old."""
    imbalance_readings: int = 10
    """Number of readings of the whole cluster in a row that must show the imbalance."""
    back_off_s: float = 900.0
    """Pause after a failed run; doubled with every further failure in a row, up to a day."""

    @property
    def middle_tolerance(self) -> float:
        """Halfway between the two: far enough from the outer one that noise carries nothing across it."""
        return (self.inner_tolerance + self.outer_tolerance) / 2

    def scope(self, state: ClusterState) -> PlanOptions:
        """What a plan may change, and where it may move."""
        from kafkabal.planner import PlanOptions  # needs numpy, which the help of watch does not wait for

        return PlanOptions(
            topics=self.topics,
            exclude_topics=self.exclude_topics,
            exclude_brokers=self.exclude_brokers.intersection(state.brokers.id.tolist()),
            include_internal=self.include_internal,
        )

    def allows_moves_at(self, local: datetime) -> bool:
        """Whether replicas may move at a local time."""
        return self.window is None or self.window.contains(local)
