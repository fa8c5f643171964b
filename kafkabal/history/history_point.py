"""What is kept about a cluster at one time: bytes and end offset of every partition, ids of topics, bytes of log
dirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from kafkabal.model import I32, I64, ClusterState, LogDirState, log_bytes, move_bytes

_NUMBER_BITS = 32
"""Partition numbers are 32 bits wide in Kafka's protocol, so topic and number fit into one sortable key."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HistoryPoint:
    """Columns of the partitions, sorted by topic and number, at one time."""

    cluster_id: str
    at_s: float
    """Seconds since the epoch."""
    topics: tuple[str, ...]
    """Sorted."""
    topic_ids: tuple[str, ...]
    """Of each topic; empty if unknown."""
    topic: I32
    """int32, shape (n_partitions,): row of :attr:`topics`."""
    number: I32
    size_bytes: I64
    """Of the leader's replica, else of the largest; -1 if unknown."""
    end_offset: I64
    """-1 if unknown."""
    used_bytes: dict[tuple[int, str], int]
    """Bytes of the logs in each log dir, by broker id and path; those of an offline one are unknown, and left out."""

    def rows_of(self, state: ClusterState) -> I64:
        """int64, shape (n_partitions of the state,): row of the same partition here, -1 if there is none.

        A topic with another id is another topic, which had the name before.
        """
        by_name = {name: (row, id_) for row, (name, id_) in enumerate(zip(self.topics, self.topic_ids, strict=True))}
        found = map(by_name.get, state.topics.name, repeat((-1, "")))
        same = (
            -1 if was and now and was != now else row
            for (row, was), now in zip(found, state.topics.topic_id, strict=True)
        )
        topic = np.fromiter(same, np.int64, len(state.topics))
        keys = (self.topic.astype(np.int64) << _NUMBER_BITS) | self.number
        wanted_topic = topic[state.partitions.topic]
        wanted = (wanted_topic << _NUMBER_BITS) | state.partitions.number
        if not len(keys):
            return np.full(len(wanted), -1, np.int64)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where((wanted_topic >= 0) & (keys[at] == wanted), at, -1)


def point_of(state: ClusterState, at_s: float) -> HistoryPoint:
    """The point to keep of a state."""
    dirs = state.log_dirs
    rows = np.flatnonzero(dirs.state != LogDirState.OFFLINE)
    ids, used = state.brokers.id[dirs.broker[rows]].tolist(), log_bytes(dirs, state.replicas)[rows].tolist()
    paths = [dirs.path[row] for row in rows.tolist()]
    return HistoryPoint(
        cluster_id=state.cluster_id,
        at_s=at_s,
        topics=state.topics.name,
        topic_ids=state.topics.topic_id,
        topic=state.partitions.topic,
        number=state.partitions.number,
        size_bytes=move_bytes(state),
        end_offset=state.partitions.end_offset,
        used_bytes={(broker, path): each for broker, path, each in zip(ids, paths, used, strict=True)},
    )


def point_from_rows(
    cluster_id: str, at_s: float, dirs: Iterable[tuple[int, str, int]], topics: Iterable[tuple[str, str, I64, I64, I64]]
) -> HistoryPoint:
    """A point from one entry per log dir, and one per topic with its id, partition numbers, sizes and end offsets, in
    any order."""
    ordered = sorted(topics, key=lambda entry: entry[0])
    none = np.empty(0, np.int64)
    counts = [len(numbers) for _, _, numbers, _, _ in ordered]
    number, size, end = (np.concatenate([none, *(entry[i] for entry in ordered)]) for i in (2, 3, 4))
    topic = np.repeat(np.arange(len(ordered), dtype=np.int64), counts)
    order = np.lexsort((number, topic))
    return HistoryPoint(
        cluster_id=cluster_id,
        at_s=at_s,
        topics=tuple(entry[0] for entry in ordered),
        topic_ids=tuple(entry[1] for entry in ordered),
        topic=topic[order].astype(np.int32),
        number=number[order].astype(np.int32),
        size_bytes=size[order],
        end_offset=end[order],
        used_bytes={(broker, path): used for broker, path, used in dirs},
    )
