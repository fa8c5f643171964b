"""The measured growth of a cluster, from which reports and their charts are made."""

from __future__ import annotations

from dataclasses import dataclass

from kafkabal.history.history_point import HistoryPoint
from kafkabal.history.partition_growth import PartitionGrowth
from kafkabal.history.topic_retention_limits import Retention
from kafkabal.model import ClusterState

_FARTHEST_IN_HISTORIES = 14.0
"""A day of history for two weeks, a week for a quarter: less would miss the nights or weekends that a rate must
include."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredGrowth:
    """The measurements of one cluster, and what they are based on."""

    state: ClusterState
    partitions: PartitionGrowth
    retention: Retention
    past: tuple[HistoryPoint, ...]
    """Recorded points, oldest first; at least one."""
    now_s: float
    is_default_read: bool
    """Whether the brokers reported their defaults for topics that set no retention."""

    def is_too_short_for(self, after_s: float) -> bool:
        """Whether there is too little history for a reliable forecast this many seconds ahead."""
        return self.partitions.over_s < self.history_needed_s(after_s)

    @staticmethod
    def history_needed_s(after_s: float) -> float:
        """Seconds of history for a reliable forecast this many seconds ahead."""
        return after_s / _FARTHEST_IN_HISTORIES
