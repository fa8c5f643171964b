"""Ages of the records in partitions: what a shorter retention would delete at once, and when the rest starts to expire.

::

    bytes kept      = bytes per record x (end offset - offset of the first record as young as the new retention)
    deleted at once = whole segments of (bytes on disk - bytes kept); all of them if nothing is kept

Kafka deletes a segment once its newest record is too old, so the segment in which the young records begin stays, with
its older records. A log begins with a segment, so the number of whole segments in the older bytes is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from kafkabal.clusters import FirstRecord
from kafkabal.history import Retention
from kafkabal.model import F64, ClusterState, TopicPartition, replica_bytes
from kafkabal.telemetry import bytes_per_record
from kafkabal.units import DAY_S

UNLIMITED_TO_S: Final = 7 * DAY_S
"""Retention suggested for a topic without limits: Kafka's own default."""


FirstRecordsSince: TypeAlias = Callable[
    [Mapping[int, Mapping[TopicPartition, float]]], Mapping[TopicPartition, FirstRecord]
]
"""Given a time per leader and partition (seconds since the epoch), returns the first record of each that is as
young."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordAges:
    """What half the retention of every partition would keep."""

    kept_bytes: F64
    """float64, shape (n_partitions,): bytes of records that are young enough; NaN if unknown."""
    first_expires_s: F64
    """float64, shape (n_partitions,): seconds until the oldest record is too old; NaN if it already is, or if
    unknown."""

    def deleted_bytes(self, state: ClusterState, retention: Retention, in_bytes_per_s: F64) -> F64:
        """float64, shape (n_replicas,): bytes that the next check deletes; NaN if unknown.

        Parameters
        ----------
        in_bytes_per_s
            float64, shape (n_partitions,): write rates, which determine the size of segments that ``segment.ms``
            closes.
        """
        by_time = np.where(in_bytes_per_s > 0, in_bytes_per_s * retention.segment_s, np.inf)
        segment = np.maximum(np.minimum(retention.segment_bytes, by_time), 1.0)
        held, kept = replica_bytes(state).astype(np.float64), self.kept_bytes[state.replicas.partition]
        older = np.maximum(held - kept, 0.0)
        each = segment[state.replicas.partition]
        return np.where(kept == 0, held, np.floor(older / each) * each)


def halved_retention_s(retention: Retention) -> F64:
    """float64, shape (n_partitions,): half of ``retention.ms``; :data:`UNLIMITED_TO_S` if it is unlimited."""
    return np.where(np.isfinite(retention.keep_s), retention.keep_s / 2, UNLIMITED_TO_S)


def read_record_ages(ask: FirstRecordsSince, state: ClusterState, retention: Retention, now_s: float) -> RecordAges:
    """Ask leaders for the first record of each partition that half its retention would keep.

    Parameters
    ----------
    now_s
        When the state was read, in seconds since the epoch.
    """
    p, halved_s = state.partitions, halved_retention_s(retention)
    asked = ~retention.is_compacted & ~state.topics.internal[p.topic]
    since_s: dict[int, dict[TopicPartition, float]] = {}
    rows = {state.topic_partition(row): row for row in np.flatnonzero(asked & (p.leader >= 0)).tolist()}
    for name, row in rows.items():
        leader = int(state.brokers.id[p.leader[row]])
        since_s.setdefault(leader, {})[name] = now_s - float(halved_s[row])
    kept_bytes, first_expires_s = np.full(len(p), np.nan), np.full(len(p), np.nan)
    each = bytes_per_record(state)
    for name, record in ask(since_s).items():
        row = rows[name]
        young = 0 if record.offset < 0 else max(0, int(p.end_offset[row]) - record.offset)
        kept_bytes[row] = young * each[row] if young else 0.0
        if 0 <= record.offset <= p.start_offset[row]:
            first_expires_s[row] = halved_s[row] - max(0.0, now_s - record.at_s)
    return RecordAges(kept_bytes=kept_bytes, first_expires_s=first_expires_s)
