"""Adds topics to a cluster state, as if they had just been created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from kafkabal.errors import InvalidClusterError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.cluster_state import I64, ClusterState, FutureReplicas, Partitions, Replicas, Topics, freeze
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.model.state_to_rows import broker_rows, header_row

T = TypeVar("T", Partitions, Replicas)
V = TypeVar("V")


def with_topics(state: ClusterState, topics: Sequence[TopicRow]) -> ClusterState:
    """Add topics; volumes and everything else stay as they are.

    Raises
    ------
    InvalidClusterError
        If a topic already exists, contradicts itself, or is on a broker that the cluster does not have.
    """
    taken = sorted({row.topic for row in topics} & set(state.topics.name))
    if taken:
        raise InvalidClusterError(f"topic {taken[0]} already exists")
    new = build_cluster(header_row(state), list(broker_rows(state)), topics)
    if len(new.brokers) > len(state.brokers):
        unknown = next(iter(set(new.brokers.id.tolist()) - set(state.brokers.id.tolist())))
        raise InvalidClusterError(f"new topic on an unknown broker: {unknown}")
    return _merged(state, new)


def _merged(old: ClusterState, new: ClusterState) -> ClusterState:
    names = [*old.topics.name, *new.topics.name]
    topic_order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    topic_rank = _inverse(topic_order)
    topic = topic_rank[np.concatenate([old.partitions.topic, new.partitions.topic + len(old.topics)])]
    order = np.argsort(topic, kind="stable")
    rank = _inverse(order)
    counts = np.concatenate([old.replication_factor, new.replication_factor])
    first = np.concatenate(([0], np.cumsum(counts[order]))).astype(np.int64)
    start = np.concatenate([old.partitions.first[:-1], new.partitions.first[:-1] + len(old.replicas)])
    replica_order = np.repeat(start[order] - first[:-1], counts[order]) + np.arange(first[-1])
    merged_replicas = _stacked(old.replicas, new.replicas, replica_order)
    partition = np.repeat(np.arange(len(order), dtype=np.int32), counts[order])
    merged = old.replace(
        topics=Topics(
            name=_ordered(names, topic_order),
            internal=np.concatenate([old.topics.internal, new.topics.internal])[topic_order],
            configs=_ordered([*old.topics.configs, *new.topics.configs], topic_order),
            topic_id=_ordered([*old.topics.topic_id, *new.topics.topic_id], topic_order),
        ),
        partitions=replace(
            _stacked(old.partitions, new.partitions, order), topic=topic[order].astype(np.int32), first=first
        ),
        replicas=replace(merged_replicas, partition=partition),
        futures=_futures(old, new, _inverse(replica_order)),
        committed=replace(old.committed, partition=rank[old.committed.partition].astype(np.int32)),
    )
    for table in (merged.topics, merged.partitions, merged.replicas, merged.futures, merged.committed):
        freeze(*(v for f in fields(table) if isinstance(v := getattr(table, f.name), np.ndarray)))
    return merged


def _ordered(values: Sequence[V], order: I64) -> tuple[V, ...]:
    return tuple(values[i] for i in order.tolist())


def _stacked(old: T, new: T, order: I64) -> T:
    """Concatenate the columns of both tables in the given order; the caller sets ``first``."""
    columns: dict[str, Any] = {
        f.name: np.concatenate([getattr(old, f.name), getattr(new, f.name)])[order]
        for f in fields(old)
        if f.name != "first"
    }
    return replace(old, **columns)


def _futures(old: ClusterState, new: ClusterState, replica_rank: I64) -> FutureReplicas:
    a, b = old.futures, new.futures
    replica = replica_rank[np.concatenate([a.replica, b.replica + len(old.replicas)])].astype(np.int32)
    log_dir, size_bytes = np.concatenate([a.log_dir, b.log_dir]), np.concatenate([a.size_bytes, b.size_bytes])
    order = np.lexsort((size_bytes, log_dir, replica))
    return FutureReplicas(replica=replica[order], log_dir=log_dir[order], size_bytes=size_bytes[order])


def _inverse(order: I64) -> I64:
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank
