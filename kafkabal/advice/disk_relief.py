"""Ways to free a full disk, most without moving a byte: the bytes that each frees, by a forecast that considers
retention.

::

    retention        whole segments of records older than half the retention; if ages are unknown, what is kept
                     above the steady state of half the retention
    local retention  the same for tiered topics, whose older segments are already in the remote store
    idle             all of a topic of which no end offset advanced in the window, unless it is compacted
    segments         half the difference of the segment sizes, which is how much a log keeps longer than needed
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from kafkabal.advice.record_ages import RecordAges, halved_retention_s
from kafkabal.history import PartitionGrowth, Retention
from kafkabal.model import (
    F64,
    LOCAL_RETENTION_MS,
    RETENTION_MS,
    SEGMENT_BYTES,
    Bools,
    ClusterState,
    is_tiered,
    replica_bytes,
)
from kafkabal.units import DAY_S

_MS: Final = 1000
LEAST_KEPT_S: Final = 3600.0
"""Retention below an hour marks a deliberate buffer."""
_SMALL_SEGMENT: Final = 128 * 2**20
"""An eighth of Kafka's default."""
_DELETE_DELAY_S: Final = 60.0
"""Default of ``file.delete.delay.ms``: how long the files of a deleted segment stay."""
_IDLE_AFTER_S: Final = DAY_S
"""A topic that is written once a day is not idle."""


class ReliefKind(StrEnum):
    """A way to free bytes."""

    RETENTION = "retention"
    LOCAL_RETENTION = "local-retention"
    IDLE = "idle-topic"
    SEGMENTS = "segments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relief:
    """One way to free bytes of a holder."""

    kind: ReliefKind
    topic: str
    config: str | None = None
    """The topic's config to change; None if the topic would be deleted."""
    before: int | None = None
    """Its current value; None for no limit."""
    after: int | None = None
    freed_bytes: int
    """Bytes freed on this holder."""
    cluster_bytes: int
    """Bytes freed on all brokers."""
    freed_after_s: float | None
    """Seconds until they are free; None if unknown."""


def relief_of(
    state: ClusterState,
    on_holder: Bools,
    growth: PartitionGrowth | None,
    retention: Retention,
    *,
    ages: RecordAges | None = None,
    least_kept_s: float = LEAST_KEPT_S,
) -> list[Relief]:
    """Ways to free bytes without moving any, sorted by the bytes they free, most first.

    Parameters
    ----------
    on_holder
        bool, shape (n_replicas,): replicas on the full disk.
    growth
        What is written to the partitions; without it every log is assumed to be at the steady state of its retention.
    ages
        Ages of records; without them, steady states show what half the retention deletes.
    least_kept_s
        Shorter retention is not changed.
    """
    rate, is_known = _rates(state, growth, retention, ages)
    freed = _freed_by_retention(state, rate, is_known, retention, ages)
    freed[(retention.keep_s <= least_kept_s)[state.replicas.partition]] = 0.0
    found = [
        *_by_retention(state, on_holder, freed, retention),
        *_idle(state, on_holder, growth, retention),
        *_by_segments(state, on_holder, rate, is_known, retention),
    ]
    return sorted((each for each in found if each.freed_bytes > 0), key=lambda r: (-r.freed_bytes, r.topic, r.kind))


def assumed_growth(state: ClusterState, retention: Retention) -> F64:
    """float64, shape (n_partitions,): bytes per second that would keep every log at its size; 0 without a limit."""
    largest = np.zeros(len(state.partitions))
    np.maximum.at(largest, state.replicas.partition, replica_bytes(state).astype(np.float64))
    return np.where(np.isfinite(retention.keep_s), largest / np.maximum(retention.keep_s, 1.0), 0.0)


def _rates(
    state: ClusterState, growth: PartitionGrowth | None, retention: Retention, ages: RecordAges | None
) -> tuple[F64, Bools]:
    """Bytes per second written to each partition, and for which partitions that is known."""
    if growth is not None:
        return growth.mean, growth.is_known
    if ages is None:
        return assumed_growth(state, retention), np.isfinite(retention.keep_s)
    # what is in the log was written within its age
    age_s = halved_retention_s(retention) - ages.first_expires_s
    young = replace(retention, keep_s=np.where(np.isnan(age_s), retention.keep_s, np.maximum(age_s, 1.0)))
    return assumed_growth(state, young), np.isfinite(young.keep_s)


def _by_retention(state: ClusterState, on_holder: Bools, freed: F64, retention: Retention) -> Iterator[Relief]:
    is_limited, halved, tiered = np.isfinite(retention.keep_s), halved_retention_s(retention), is_tiered(state)
    first = np.searchsorted(state.partitions.topic, np.arange(len(state.topics)))
    for topic, here, everywhere in _by_topic(state, on_holder, freed):
        p = int(first[topic])
        yield Relief(
            kind=ReliefKind.LOCAL_RETENTION if tiered[topic] else ReliefKind.RETENTION,
            topic=state.topics.name[topic],
            config=LOCAL_RETENTION_MS if tiered[topic] else RETENTION_MS,
            before=round(float(retention.keep_s[p]) * _MS) if is_limited[p] else None,
            after=round(float(halved[p]) * _MS),
            freed_bytes=here,
            cluster_bytes=everywhere,
            freed_after_s=retention.check_s + _DELETE_DELAY_S,
        )


def _idle(
    state: ClusterState, on_holder: Bools, growth: PartitionGrowth | None, retention: Retention
) -> Iterator[Relief]:
    if growth is None or growth.over_s < _IDLE_AFTER_S:
        return
    topic = state.partitions.topic
    # not by rates: that of a re-created topic covers only the time since then. A compacted one keeps what is valid,
    # such as schemas, which may be read for years after it was written
    is_used = ~growth.is_idle | retention.is_compacted
    idle = (np.bincount(topic, is_used, len(state.topics)) == 0) & ~state.topics.internal
    freed = np.where(idle[topic][state.replicas.partition], replica_bytes(state), 0.0)
    for row, here, everywhere in _by_topic(state, on_holder, freed):
        yield Relief(
            kind=ReliefKind.IDLE,
            topic=state.topics.name[row],
            freed_bytes=here,
            cluster_bytes=everywhere,
            freed_after_s=_DELETE_DELAY_S,
        )


def _by_segments(
    state: ClusterState, on_holder: Bools, rate: F64, is_known: Bools, retention: Retention
) -> Iterator[Relief]:
    smaller = np.minimum(retention.segment_bytes, _SMALL_SEGMENT)
    may = ~retention.is_compacted & is_known & (retention.segment_bytes > _SMALL_SEGMENT)
    before, after = retention.steady_bytes(rate), replace(retention, segment_bytes=smaller).steady_bytes(rate)
    with np.errstate(invalid="ignore"):
        less = np.where(may & np.isfinite(before), before - after, 0.0)
    # a log below its steady state frees nothing
    partition = state.replicas.partition
    freed = np.where(replica_bytes(state) > after[partition], less[partition], 0.0)
    first = np.searchsorted(state.partitions.topic, np.arange(len(state.topics)))
    for topic, here, everywhere in _by_topic(state, on_holder, freed):
        yield Relief(
            kind=ReliefKind.SEGMENTS,
            topic=state.topics.name[topic],
            config=SEGMENT_BYTES,
            before=round(float(retention.segment_bytes[first[topic]])),
            after=_SMALL_SEGMENT,
            freed_bytes=here,
            cluster_bytes=everywhere,
            # the present segments have to expire first
            freed_after_s=keep_s if math.isfinite(keep_s := float(retention.keep_s[first[topic]])) else None,
        )


def _freed_by_retention(
    state: ClusterState, rate: F64, is_known: Bools, retention: Retention, ages: RecordAges | None
) -> F64:
    """float64, shape (n_replicas,): bytes of each replica that half the retention deletes."""
    partition = state.replicas.partition
    steady = replace(retention, keep_s=halved_retention_s(retention)).steady_bytes(rate)[partition]
    freed = np.where(is_known[partition], np.maximum(replica_bytes(state) - steady, 0.0), 0.0)
    if ages is not None:
        deleted = ages.deleted_bytes(state, retention, rate)
        freed = np.where(np.isnan(deleted), freed, deleted)
    internal = state.topics.internal[state.partitions.topic]
    return np.where((retention.is_compacted | internal)[partition], 0.0, freed)


def _by_topic(state: ClusterState, on_holder: Bools, freed: F64) -> Iterator[tuple[int, int, int]]:
    """Topic, bytes on the holder and bytes everywhere, for topics that would free any on the holder."""
    topic = state.partitions.topic[state.replicas.partition]
    everywhere = np.bincount(topic, freed, len(state.topics))
    here = np.bincount(topic[on_holder], freed[on_holder], len(state.topics))
    for row in np.flatnonzero(here > 0).tolist():
        yield row, round(float(here[row])), round(float(everywhere[row]))
