"""How a cluster grows, as measured: what reports and their charts are made from."""

from __future__ import annotations

from dataclasses import dataclass

from kafkabal.history.history_point import HistoryPoint
from kafkabal.history.partition_growth import PartitionGrowth
from kafkabal.history.topic_retention_limits import Retention
from kafkabal.model import ClusterState

_FARTHEST_IN_HISTORIES = 14.0
"""A day of history for two weeks, a week for a quarter: less leaves out the night or the weekend that a rate needs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredGrowth:
    """What was measured of one cluster, and what it was measured from."""

    state: ClusterState
    partitions: PartitionGrowth
    retention: Retention
    past: tuple[HistoryPoint, ...]
    """What was recorded, the oldest first; at least one moment."""
    now_s: float
    is_default_read: bool
    """Whether the brokers said what holds for topics that set no retention."""

    def is_too_short_for(self, after_s: float) -> bool:
        """Whether a forecast for so many seconds ahead rests on too little history to be relied on."""
        return after_s > _FARTHEST_IN_HISTORIES * self.partitions.over_s
