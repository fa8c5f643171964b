"""How a cluster grows, as measured: what reports and their charts are made from."""

from __future__ import annotations

from dataclasses import dataclass

from kafkabal.history.history_point import HistoryPoint
from kafkabal.history.partition_growth import PartitionGrowth
from kafkabal.history.topic_retention_limits import Retention
from kafkabal.model import ClusterState


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
