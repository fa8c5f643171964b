"""The effect of a policy on a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.routing import About
from kafkabal.scoring import shares_by_group
from kafkabal.simulator.balance_and_latency_statistics import jain, max_over_mean, variation


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyFigures:
    """From a record's offer to its acknowledgement, in seconds; NaN if nothing was delivered."""

    p50_s: float
    p99_s: float
    p999_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PolicyOutcome:
    """One policy under one workload and one seed."""

    label: str
    about: About
    seed: int
    records: int
    written_bytes: int
    """Record bytes of one replica, including refused records; their size in logs is in the columns."""
    duration_s: float
    """Until the last record was offered or, with delivery, acknowledged."""
    broker_id: I32
    live: Bools
    """bool, shape (n_brokers,): live at the end; the balance figures cover only these."""
    broker_records: I64
    """int64, shape (n_brokers,): records that were not refused, of the partitions that each broker led at the end."""
    added_bytes: F64
    """float64, shape (n_brokers,): growth of its log dirs in bytes, as leader or follower."""
    used_bytes: F64
    """float64, shape (n_brokers,): bytes in its log dirs at the end, of any topic."""
    led_bytes: F64
    """float64, shape (n_brokers,): bytes of the topic that readers fetch from it, as leader of the partitions.

    Batches are fetched as stored in the log, with their headers and compressed.
    """
    capacity_bytes: F64
    capacity_known: bool
    partition_bytes: F64
    """float64, shape (n_partitions,): growth of one replica's log in bytes."""
    order_violations: int
    refused: int
    """Records whose partition had no leader."""
    refused_bytes: int
    """Their part of :attr:`written_bytes`."""
    batches: int | None
    """None without delivery."""
    latency: LatencyFigures | None

    @property
    def used_ratio(self) -> F64:
        """float64, shape (n_brokers,): used bytes over capacity, NaN if that is unknown."""
        # a view has a 1 for each capacity that is unknown
        return np.where(self.capacity_bytes == 1, np.nan, self.used_bytes / self.capacity_bytes)

    @property
    def shares(self) -> F64:
        """float64, shape (n_brokers,): used bytes over the fair share by capacity, as in the score ``disk``."""
        shares, _ = shares_by_group(self.used_bytes, self.capacity_bytes, self.live, np.zeros(len(self.live), np.int32))
        return shares

    @property
    def max_over_mean(self) -> float:
        """Largest share of a live broker; 1.0 is balanced."""
        return max_over_mean(self.used_bytes[self.live], self.capacity_bytes[self.live])

    @property
    def written_max_over_mean(self) -> float:
        """The same, counting only what was written."""
        return max_over_mean(self.added_bytes[self.live], self.capacity_bytes[self.live])

    @property
    def variation(self) -> float:
        """Coefficient of variation of the live brokers' used bytes by capacity."""
        return variation(self._live_fullness)

    @property
    def jain(self) -> float:
        """Jain's index of the live brokers' used bytes by capacity."""
        return jain(self._live_fullness)

    @property
    def _live_fullness(self) -> F64:
        return np.asarray(self.used_bytes[self.live] / self.capacity_bytes[self.live])

    @property
    def batches_per_mb(self) -> float:
        """Batches per 10^6 bytes that were not refused; NaN without delivery."""
        return self.batches / (self._sent_bytes / 1e6) if self.batches and self._sent_bytes else math.nan

    @property
    def bytes_per_s(self) -> float:
        """Bytes per second that were not refused and, with delivery, acknowledged."""
        return self._sent_bytes / self.duration_s if self.duration_s > 0 else math.nan

    @property
    def _sent_bytes(self) -> int:
        return self.written_bytes - self.refused_bytes

    @property
    def record_log_bytes(self) -> float:
        """Mean bytes of a written record in a log; 0 if all were refused."""
        return float(self.partition_bytes.sum()) / max(1, self.records - self.refused)

    @property
    def full_after_s(self) -> float:
        """Seconds until the first live broker is full at this rate; NaN if capacities are unknown."""
        if not self.capacity_known or not self.duration_s > 0:
            return math.nan
        growing = self.live & (self.added_bytes > 0)
        free = np.maximum(self.capacity_bytes - self.used_bytes, 0)[growing]
        rate = self.added_bytes[growing] / self.duration_s
        return float((free / rate).min()) if free.size else math.inf
