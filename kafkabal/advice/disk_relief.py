"""What would free a full disk, most without moving a byte: bytes of each way, by the forecast that knows retention.

::

    retention        what is kept above the steady state of half the retention
    local retention  the same of tiered topics, whose older segments are in the remote store already
    idle             all of a topic into which nothing was written in the window
    segments         half the difference of the segments, which is how much longer than needed a log keeps
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np

from kafkabal.history import PartitionGrowth, Retention
from kafkabal.model import (
    F64,
    LOCAL_RETENTION_MS,
    REMOTE_STORAGE_ENABLE,
    RETENTION_MS,
    SEGMENT_BYTES,
    Bools,
    ClusterState,
    replica_bytes,
)

_MS: Final = 1000
LEAST_KEPT_S: Final = 3600.0
"""Retention below an hour is a buffer on purpose."""
_UNLIMITED_TO_S: Final = 7 * 86400.0
"""What a topic without limits is given: Kafka's own default."""
_SMALL_SEGMENT: Final = 128 * 2**20
"""An eighth of Kafka's default."""
_IDLE_AFTER_S: Final = 86400.0
"""A topic that is written once a day is not idle."""


class ReliefKind(StrEnum):
    """How bytes come free."""

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
    """The topic's config to change; None where the topic would go."""
    before: int | None = None
    """Its value now; None for no limit."""
    after: int | None = None
    freed_bytes: int
    """On this holder."""
    cluster_bytes: int
    """On all brokers."""


def relief_of(
    state: ClusterState,
    on_holder: Bools,
    growth: PartitionGrowth | None,
    retention: Retention,
    *,
    least_kept_s: float = LEAST_KEPT_S,
) -> list[Relief]:
    """Ways to free bytes without moving any, the one that frees most first.

    Parameters
    ----------
    on_holder
        bool, shape (n_replicas,): replicas on the full disk.
    growth
        What is written to the partitions; without it every log is taken to be at the steady state of its retention.
    least_kept_s
        Shorter retention is left as it is.
    """
    rate, is_known = _rates(state, growth, retention)
    found = [
        *_by_retention(state, on_holder, rate, is_known & (retention.keep_s > least_kept_s), retention),
        *_idle(state, on_holder, growth),
        *_by_segments(state, on_holder, rate, is_known, retention),
    ]
    return sorted((each for each in found if each.freed_bytes > 0), key=lambda r: (-r.freed_bytes, r.topic, r.kind))


def assumed_growth(state: ClusterState, retention: Retention) -> F64:
    """float64, shape (n_partitions,): bytes a second that would keep every log as large as it is; 0 without a limit."""
    largest = np.zeros(len(state.partitions))
    np.maximum.at(largest, state.replicas.partition, replica_bytes(state).astype(np.float64))
    return np.where(np.isfinite(retention.keep_s), largest / np.maximum(retention.keep_s, 1.0), 0.0)


def _rates(state: ClusterState, growth: PartitionGrowth | None, retention: Retention) -> tuple[F64, Bools]:
    if growth is not None:
        return growth.mean, growth.is_known
    return assumed_growth(state, retention), np.isfinite(retention.keep_s)


def _by_retention(
    state: ClusterState, on_holder: Bools, rate: F64, is_known: Bools, retention: Retention
) -> Iterator[Relief]:
    is_limited = np.isfinite(retention.keep_s)
    halved = np.where(is_limited, retention.keep_s / 2, _UNLIMITED_TO_S)
    may = ~retention.is_compacted & is_known
    freed = _freed(state, rate, replace(retention, keep_s=halved), may)
    first = np.searchsorted(state.partitions.topic, np.arange(len(state.topics)))
    for topic, here, everywhere in _by_topic(state, on_holder, freed):
        p = int(first[topic])
        tiered = (state.topics.configs[topic] or {}).get(REMOTE_STORAGE_ENABLE) == "true"
        yield Relief(
            kind=ReliefKind.LOCAL_RETENTION if tiered else ReliefKind.RETENTION,
            topic=state.topics.name[topic],
            config=LOCAL_RETENTION_MS if tiered else RETENTION_MS,
            before=round(float(retention.keep_s[p]) * _MS) if is_limited[p] else None,
            after=round(float(halved[p]) * _MS),
            freed_bytes=here,
            cluster_bytes=everywhere,
        )


def _idle(state: ClusterState, on_holder: Bools, growth: PartitionGrowth | None) -> Iterator[Relief]:
    if growth is None or growth.over_s < _IDLE_AFTER_S:
        return
    topic = state.partitions.topic
    written = np.bincount(topic, growth.mean, len(state.topics))
    known = np.bincount(topic, ~growth.is_known, len(state.topics)) == 0
    idle = (written == 0) & known & ~state.topics.internal
    freed = np.where(idle[topic][state.replicas.partition], replica_bytes(state), 0.0)
    for row, here, everywhere in _by_topic(state, on_holder, freed):
        yield Relief(kind=ReliefKind.IDLE, topic=state.topics.name[row], freed_bytes=here, cluster_bytes=everywhere)


def _by_segments(
    state: ClusterState, on_holder: Bools, rate: F64, is_known: Bools, retention: Retention
) -> Iterator[Relief]:
    smaller = np.minimum(retention.segment_bytes, _SMALL_SEGMENT)
    may = ~retention.is_compacted & is_known & (retention.segment_bytes > _SMALL_SEGMENT)
    before, after = retention.steady_bytes(rate), replace(retention, segment_bytes=smaller).steady_bytes(rate)
    with np.errstate(invalid="ignore"):
        less = np.where(may & np.isfinite(before), before - after, 0.0)
    # a log that has not reached its steady state frees nothing
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
        )


def _freed(state: ClusterState, rate: F64, changed: Retention, may: Bools) -> F64:
    """float64, shape (n_replicas,): bytes of each replica above what the changed retention keeps."""
    partition = state.replicas.partition
    steady = changed.steady_bytes(rate)[partition]
    above = np.maximum(replica_bytes(state) - steady, 0.0)
    internal = state.topics.internal[state.partitions.topic][partition]
    return np.where(may[partition] & ~internal, above, 0.0)


def _by_topic(state: ClusterState, on_holder: Bools, freed: F64) -> Iterator[tuple[int, int, int]]:
    """Topic, bytes on the holder and bytes everywhere, of topics that would free any on the holder."""
    topic = state.partitions.topic[state.replicas.partition]
    everywhere = np.bincount(topic, freed, len(state.topics))
    here = np.bincount(topic[on_holder], freed[on_holder], len(state.topics))
    for row in np.flatnonzero(here > 0).tolist():
        yield row, round(float(here[row])), round(float(everywhere[row]))
