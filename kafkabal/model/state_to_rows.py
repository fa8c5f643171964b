"""Converts a state back to the rows of the snapshot format, from which the builder makes equal columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kafkabal.model.cluster_rows import (
    SNAPSHOT_VERSION,
    BrokerRow,
    FutureRow,
    HeaderRow,
    LogDirRow,
    PartitionRow,
    TopicRow,
)
from kafkabal.model.cluster_state import BrokerState, ClusterState, LogDirState

_DIR_STATES: dict[int, Any] = {
    LogDirState.ONLINE: "online",
    LogDirState.OFFLINE: "offline",
    LogDirState.CORDONED: "cordoned",
}
_TOPICS_AT_ONCE = 4096
"""Some tens of MB of rows at a time; all at once would take several times the memory of the cluster state."""


def header_row(state: ClusterState) -> HeaderRow:
    """The header of a snapshot of this state."""
    return HeaderRow(
        kafkabal_snapshot=SNAPSHOT_VERSION,
        cluster_id=state.cluster_id,
        taken_at=state.taken_at,
        source=state.source,
        reassignments_known=state.reassignments_known,
    )


def broker_rows(state: ClusterState) -> Iterator[BrokerRow]:
    """One row per broker, by id; with volume names, so that the volumes need not be detected again."""
    brokers, dirs = state.brokers, state.log_dirs
    for b, broker_id in enumerate(brokers.id.tolist()):
        rows = range(int(dirs.first[b]), int(dirs.first[b + 1]))
        yield BrokerRow(
            broker=broker_id,
            rack=state.racks[brokers.rack[b]] if brokers.rack[b] >= 0 else None,
            host=brokers.host[b],
            port=int(brokers.port[b]),
            state="dead" if brokers.state[b] == BrokerState.DEAD else "online",
            log_dirs=[
                LogDirRow(
                    path=dirs.path[d],
                    total_bytes=_known(int(dirs.total_bytes[d])),
                    usable_bytes=_known(int(dirs.usable_bytes[d])),
                    state=_DIR_STATES[int(dirs.state[d])],
                    volume=str(dirs.volume[d] - dirs.volume[rows.start]) if len(rows) > 1 else None,
                )
                for d in rows
            ],
        )


def topic_rows(state: ClusterState) -> Iterator[TopicRow]:
    """One row per topic, by name; a few thousand are created at a time."""
    ends = np.searchsorted(state.partitions.topic, np.arange(len(state.topics)), side="right").tolist()
    futures = _futures_by_partition(state)
    for start in range(0, len(state.topics), _TOPICS_AT_ONCE):
        stop = min(start + _TOPICS_AT_ONCE, len(state.topics))
        first = ends[start - 1] if start else 0
        parts = iter(_partition_rows(state, first, ends[stop - 1], futures))
        for t in range(start, stop):
            count = ends[t] - (ends[t - 1] if t else 0)
            configs = state.topics.configs[t]
            yield TopicRow(
                topic=state.topics.name[t],
                partitions=[next(parts) for _ in range(count)],
                configs=None if configs is None else dict(configs),
                internal=bool(state.topics.internal[t]),
                topic_id=state.topics.topic_id[t],
            )


def _partition_rows(
    state: ClusterState, start: int, stop: int, futures: dict[int, list[FutureRow]]
) -> Iterator[PartitionRow]:
    p, r = state.partitions, state.replicas
    at = int(p.first[start])
    rows = slice(at, int(p.first[stop]))
    first_dir = state.log_dirs.first[r.broker[rows]]
    ids = state.brokers.id
    broker = ids[r.broker[rows]].tolist()
    size = [_known(v) for v in r.size_bytes[rows].tolist()]
    log_dir = [_known(v) for v in np.where(r.log_dir[rows] >= 0, r.log_dir[rows] - first_dir, -1).tolist()]
    in_sync, adding, removing = (c[rows].tolist() for c in (r.in_sync, r.adding, r.removing))
    leader = np.where(p.leader[start:stop] >= 0, ids[p.leader[start:stop]], -1).tolist()
    first = (p.first[start : stop + 1] - at).tolist()
    for i in range(stop - start):
        own = slice(first[i], first[i + 1])
        replicas = broker[own]
        yield PartitionRow(
            partition=int(p.number[start + i]),
            leader=leader[i],
            replicas=replicas,
            isr=_marked(replicas, in_sync[own]),
            sizes=size[own],
            log_dirs=log_dir[own],
            adding=_marked(replicas, adding[own]),
            removing=_marked(replicas, removing[own]),
            start_offset=_known(int(p.start_offset[start + i])),
            end_offset=_known(int(p.end_offset[start + i])),
            remote_bytes=_known(int(p.remote_bytes[start + i])),
            in_bytes_per_s=_known_rate(float(p.in_bytes_per_s[start + i])),
            out_bytes_per_s=_known_rate(float(p.out_bytes_per_s[start + i])),
            future=futures.get(start + i, []),
        )


def _futures_by_partition(state: ClusterState) -> dict[int, list[FutureRow]]:
    found: dict[int, list[FutureRow]] = {}
    f, r = state.futures, state.replicas
    for replica, log_dir, size_bytes in zip(f.replica.tolist(), f.log_dir.tolist(), f.size_bytes.tolist(), strict=True):
        broker = int(r.broker[replica])
        row = FutureRow(
            broker=int(state.brokers.id[broker]),
            log_dir=log_dir - int(state.log_dirs.first[broker]),
            bytes=size_bytes,
        )
        found.setdefault(int(r.partition[replica]), []).append(row)
    return found


def _marked(replicas: list[int], marks: list[bool]) -> list[int]:
    return [replica for replica, mark in zip(replicas, marks, strict=True) if mark]


def _known(value: int) -> int | None:
    return value if value >= 0 else None


def _known_rate(value: float) -> float | None:
    return value if value == value else None  # NaN is not equal to itself
