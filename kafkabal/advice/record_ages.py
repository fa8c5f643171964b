"""How old what partitions hold is: what a shorter retention would delete at once, and when the first of the rest.

::

    bytes kept     = bytes a record x (end offset - offset of the first record as young as the new retention)
    deleted at once = whole segments of (bytes on disk - bytes kept); all of them where nothing is kept

Kafka deletes a segment once its newest record is too old, so what is older in the segment in which the young ones begin
stays. A log begins with a segment: how many whole ones the older bytes make is known.
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

UNLIMITED_TO_S: Final = 7 * 86400.0
"""What a topic without limits is given: Kafka's own default."""


FirstRecordsSince: TypeAlias = Callable[
    [Mapping[int, Mapping[TopicPartition, float]]], Mapping[TopicPartition, FirstRecord]
]
"""By leader and partition a time in seconds since the epoch: the first record of each that is as young."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordAges:
    """What half the retention of every partition would keep."""

    kept_bytes: F64
    """float64, shape (n_partitions,): bytes of the records that are young enough; NaN where it is not known."""
    first_expires_s: F64
    """float64, shape (n_partitions,): seconds until the oldest record is too old; NaN if it is, or not known."""

    def deleted_bytes(self, state: ClusterState, retention: Retention, in_bytes_per_s: F64) -> F64:
        """float64, shape (n_replicas,): bytes that go with the next check; NaN where it is not known.

        Parameters
        ----------
        in_bytes_per_s
            float64, shape (n_partitions,): what is written, which says how large segments are that ``segment.ms`` ends.
        """
        by_time = np.where(in_bytes_per_s > 0, in_bytes_per_s * retention.segment_s, np.inf)
        segment = np.maximum(np.minimum(retention.segment_bytes, by_time), 1.0)
        held, kept = replica_bytes(state).astype(np.float64), self.kept_bytes[state.replicas.partition]
        older = np.maximum(held - kept, 0.0)
        each = segment[state.replicas.partition]
        return np.where(kept == 0, held, np.floor(older / each) * each)


def halved_retention_s(retention: Retention) -> F64:
    """float64, shape (n_partitions,): half of ``retention.ms``; :data:`UNLIMITED_TO_S` where it is unlimited."""
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
