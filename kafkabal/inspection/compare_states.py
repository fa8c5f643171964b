"""Compares two states of a cluster: what was added, removed, moved or grew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.inspection.partition_and_holder_figures import HolderFigures, broker_figures, partition_figures, sum_by
from kafkabal.model import I64, Bools, ClusterState
from kafkabal.telemetry import matching_partitions

# odd constants of splitmix64 (Steele, Lea, Flood, 2014), which mixes every bit of its input
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ID_BITS = 32
"""Broker ids have 32 bits in Kafka's protocol: id and position fit into one number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BrokerChange:
    """A broker in either state."""

    broker: int
    first: int
    """Row in the first state, -1 if absent."""
    second: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange:
    """A topic that was added or removed, or whose partitions or bytes differ."""

    topic: str
    first_partitions: int
    """0 if the topic is absent."""
    second_partitions: int
    first_bytes: int
    second_bytes: int
    first_estimated: bool
    """Whether bytes of replicas are estimated."""
    second_estimated: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Comparison:
    """The differences between two states of a cluster."""

    brokers: tuple[BrokerChange, ...]
    """All brokers of both states, by id."""
    first_brokers: HolderFigures
    second_brokers: HolderFigures
    topics: tuple[TopicChange, ...]
    """Only the changed ones, by name."""
    first_rows: I64
    """int64, shape (n,): rows of the partitions in both states whose replicas or leader differ."""
    second_rows: I64
    is_moved: Bools
    """bool, shape (n,): the set of brokers differs; otherwise only the replica order or the leader."""


def compare(first: ClusterState, second: ClusterState) -> Comparison:
    """Compare two states by topic names and broker ids.

    Replicas are compared by 64-bit hashes: among a million partitions, one difference is missed once in 10^13 times.
    """
    earlier = matching_partitions(first, second)
    rows_b = np.flatnonzero(earlier >= 0)
    rows_a = earlier[rows_b]
    leaders = _ids(first, first.partitions.leader)[rows_a] != _ids(second, second.partitions.leader)[rows_b]
    order = _hashed(first, ordered=True)[rows_a] != _hashed(second, ordered=True)[rows_b]
    moved = _hashed(first, ordered=False)[rows_a] != _hashed(second, ordered=False)[rows_b]
    differs = leaders | order | moved
    return Comparison(
        brokers=_brokers(first, second),
        first_brokers=broker_figures(first),
        second_brokers=broker_figures(second),
        topics=_topics(first, second),
        first_rows=rows_a[differs],
        second_rows=rows_b[differs],
        is_moved=moved[differs],
    )


def _brokers(first: ClusterState, second: ClusterState) -> tuple[BrokerChange, ...]:
    ids = np.union1d(first.brokers.id, second.brokers.id).tolist()
    return tuple(
        BrokerChange(broker=broker, first=first.brokers.index_of(broker), second=second.brokers.index_of(broker))
        for broker in ids
    )


def _topics(first: ClusterState, second: ClusterState) -> tuple[TopicChange, ...]:
    figures = [_by_topic(first), _by_topic(second)]
    changes = (
        _topic_change(name, *(figure.get(name, (0, 0, False)) for figure in figures))
        for name in sorted(figures[0].keys() | figures[1].keys())
    )
    return tuple(c for c in changes if (c.first_partitions, c.first_bytes) != (c.second_partitions, c.second_bytes))


def _topic_change(name: str, first: tuple[int, int, bool], second: tuple[int, int, bool]) -> TopicChange:
    return TopicChange(
        topic=name,
        first_partitions=first[0],
        second_partitions=second[0],
        first_bytes=first[1],
        second_bytes=second[1],
        first_estimated=first[2],
        second_estimated=second[2],
    )


def _by_topic(state: ClusterState) -> dict[str, tuple[int, int, bool]]:
    """Number of partitions, bytes of all replicas and whether some are estimated, by topic."""
    figures, topic = partition_figures(state), state.partitions.topic
    count = np.bincount(topic, minlength=len(state.topics))
    size = np.zeros(len(state.topics), np.int64)
    np.add.at(size, topic, figures.bytes)
    estimated = sum_by(topic, figures.estimated, len(state.topics)) > 0
    columns = zip(count.tolist(), size.tolist(), estimated.tolist(), strict=True)
    return dict(zip(state.topics.name, columns, strict=True))


def _ids(state: ClusterState, rows: np.ndarray[tuple[int], np.dtype[np.int32]]) -> I64:
    """Broker ids of rows, -1 for none."""
    return np.append(state.brokers.id.astype(np.int64), -1)[rows]


def _hashed(state: ClusterState, *, ordered: bool) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """uint64, shape (n_partitions,): a hash of the replica ids, depending on their order or not."""
    partition, first = state.replicas.partition, state.partitions.first
    ids = _ids(state, state.replicas.broker).astype(np.uint64)
    if ordered:
        position = np.arange(len(partition)) - first[:-1][partition]
        ids |= position.astype(np.uint64) << np.uint64(_ID_BITS)
    sums = np.zeros(len(state.partitions), np.uint64)
    np.add.at(sums, partition, _mixed(ids))
    return sums


def _mixed(values: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    with np.errstate(over="ignore"):
        z = values + _STEP
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
