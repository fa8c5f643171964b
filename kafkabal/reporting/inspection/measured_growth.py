"""How a cluster grows, as measured: what the report and its charts are made from."""

from __future__ import annotations

from dataclasses import dataclass

from kafkabal.history import HistoryPoint as _Point
from kafkabal.history import PartitionGrowth, Retention
from kafkabal.model import ClusterState


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredGrowth:
    """What was measured of one cluster, and what it was measured from."""

    state: ClusterState
    partitions: PartitionGrowth
    retention: Retention
    past: tuple[_Point, ...]
    """What was recorded, the oldest first; at least one moment."""
    now_s: float
    is_default_read: bool
    """Whether the brokers said what holds for topics that set no retention."""
