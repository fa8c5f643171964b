"""The state of a cluster as immutable numpy columns.

Brokers, log dirs, topics, partitions and replicas are tables of columns; rows are identified by index. Brokers are
sorted by id, topics by name, partitions by (topic, number), replicas by (partition, position in the replica list), so
that the same cluster always gives the same columns. An index of -1 means "none" or "unknown", -1 bytes or an offset of
-1 "unknown", a rate of NaN "unknown".

:func:`kafkabal.model.rows_to_state.build_cluster` is the only way to create one from outside.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kafkabal.model.topic_partition import TopicPartition

I8: TypeAlias = NDArray[np.int8]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
F64: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


# keys of ClusterState.measured
PRODUCE_LATENCY = "produce-latency"
"""Seconds that a produce request takes."""
PROMETHEUS_VALUE = "prometheus"
"""The value of the configured query."""


class BrokerState(IntEnum):
    """Whether a broker is registered with the cluster."""

    ONLINE = 0
    DEAD = 1


class LogDirState(IntEnum):
    """Whether a log dir works and accepts new replicas (KIP-1066 for CORDONED)."""

    ONLINE = 0
    OFFLINE = 1
    CORDONED = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Brokers:
    """Columns of the brokers, sorted by id; without controllers that are not brokers."""

    id: I32
    rack: I32
    """Index into :attr:`ClusterState.racks`, -1 if the broker has no rack."""
    state: I8
    """A :class:`BrokerState`."""
    host: tuple[str, ...]
    port: I32

    def __len__(self) -> int:
        return len(self.id)

    @property
    def is_live(self) -> Bools:
        """bool, shape (n_brokers,): registered with the cluster."""
        return np.equal(self.state, BrokerState.ONLINE)

    def index_of(self, broker_id: int) -> int:
        """Row of a broker id, -1 if unknown."""
        at = int(np.searchsorted(self.id, broker_id))
        return at if at < len(self.id) and self.id[at] == broker_id else -1

    def column_of(self, figures: Mapping[int, float]) -> F64:
        """float64, shape (n_brokers,): the figures by broker id as a column, NaN where missing."""
        return np.fromiter((figures.get(broker, math.nan) for broker in self.id.tolist()), np.float64, len(self))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogDirs:
    """Columns of the log dirs, sorted by broker, in the broker's own order."""

    broker: I32
    path: tuple[str, ...]
    total_bytes: I64
    """Size of the volume of the dir."""
    usable_bytes: I64
    """Space on that volume that Kafka can still use."""
    state: I8
    """A :class:`LogDirState`."""
    volume: I32
    """Which volume the dir is on: equal numbers, same volume; numbered from 0 over the whole cluster."""
    first: I64
    """shape (n_brokers + 1,): dirs of broker b are rows ``first[b]:first[b + 1]``."""

    def __len__(self) -> int:
        return len(self.broker)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Topics:
    """Columns of the topics, sorted by name."""

    name: tuple[str, ...]
    internal: Bools
    configs: tuple[Mapping[str, str] | None, ...]
    """Configs set on the topic itself; None if they were not read."""
    topic_id: tuple[str, ...]
    """Distinguishes a topic from a later one of the same name; empty if unknown."""

    def __len__(self) -> int:
        return len(self.name)

    def index_of(self, name: str) -> int:
        """Row of a topic, -1 if unknown."""
        at = bisect_left(self.name, name)
        return at if at < len(self.name) and self.name[at] == name else -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partitions:
    """Columns of the partitions, sorted by topic and number."""

    topic: I32
    number: I32
    leader: I32
    """Row of the leading broker, -1 if the partition has no leader."""
    first: I64
    """shape (n_partitions + 1,): replicas of partition p are rows ``first[p]:first[p + 1]``."""
    start_offset: I64
    end_offset: I64
    remote_bytes: I64
    """Bytes that only remote storage holds (KIP-405), -1 if unknown: they use no log dir and are not copied by
    moves."""
    in_bytes_per_s: F64
    out_bytes_per_s: F64

    def __len__(self) -> int:
        return len(self.topic)

    def rows_of(self, topic: int) -> slice:
        """The rows of a topic's partitions, by the row of the topic."""
        first, end = np.searchsorted(self.topic, [topic, topic + 1]).tolist()
        return slice(first, end)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicas:
    """Columns of the replicas, sorted by partition, in the order of the replica list."""

    partition: I32
    broker: I32
    log_dir: I32
    """Row of the log dir, -1 if unknown."""
    size_bytes: I64
    """Bytes of the local log, without remote (tiered) segments, -1 if unknown."""
    in_sync: Bools
    adding: Bools
    """Being added by a reassignment in flight (KIP-455)."""
    removing: Bools

    def __len__(self) -> int:
        return len(self.partition)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FutureReplicas:
    """Columns of the replicas that are being copied to another log dir of their broker (KIP-113)."""

    replica: I32
    """Row of the replica that is being copied."""
    log_dir: I32
    """Row of the target log dir."""
    size_bytes: I64

    def __len__(self) -> int:
        return len(self.replica)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CommittedOffsets:
    """Columns of the committed offsets of consumer groups; empty unless requested."""

    groups: tuple[str, ...] = ()
    group: I32 = field(default_factory=lambda: np.empty(0, np.int32))
    partition: I32 = field(default_factory=lambda: np.empty(0, np.int32))
    offset: I64 = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClusterState:
    """The state of a cluster at one moment."""

    cluster_id: str
    taken_at: str
    """ISO 8601, UTC."""
    source: str
    """Back end that read it: ``kafka``, ``zookeeper``, ``synthetic``, ..."""
    racks: tuple[str, ...]
    brokers: Brokers
    log_dirs: LogDirs
    topics: Topics
    partitions: Partitions
    replicas: Replicas
    futures: FutureReplicas
    committed: CommittedOffsets = field(default_factory=CommittedOffsets)
    measured: Mapping[str, F64] = field(default_factory=dict)
    """Measurements of the brokers by clients or monitoring, by name: float64, shape (n_brokers,), NaN if unknown."""
    reassignments_known: bool = True
    """False: replicas that are being added or removed count as ordinary ones, since the controller did not report which
    they are."""

    def replace(self, **changes: Any) -> ClusterState:
        """A copy with some tables replaced; the caller keeps the tables consistent."""
        return replace(self, **changes)

    def measured_by_broker(self, name: str) -> F64:
        """float64, shape (n_brokers,): one column of :attr:`measured`; all NaN if there is none."""
        return self.measured.get(name, np.full(len(self.brokers), np.nan))

    def topic_partition(self, row: int) -> TopicPartition:
        """The name of a partition, by its row."""
        return TopicPartition(self.topics.name[self.partitions.topic[row]], int(self.partitions.number[row]))

    def replicas_of(self, row: int) -> tuple[int, ...]:
        """Broker ids of the replicas of a partition, by its row, in order; the preferred leader is first."""
        begin, end = self.partitions.first[row : row + 2].tolist()
        return tuple(self.brokers.id[self.replicas.broker[begin:end]].tolist())

    @property
    def replication_factor(self) -> I32:
        """int32, shape (n_partitions,): number of replicas of each partition, including those being added."""
        return np.diff(self.partitions.first).astype(np.int32)

    @property
    def leader_replica(self) -> I32:
        """int32, shape (n_partitions,): row of the leader's replica, -1 without a leader."""
        leads = self.replicas.broker == self.partitions.leader[self.replicas.partition]
        row = np.full(len(self.partitions), -1, np.int32)
        row[self.replicas.partition[leads]] = np.flatnonzero(leads)
        return row


def freeze(*arrays: NDArray[Any]) -> None:
    """Make arrays read-only, so that a published state cannot change."""
    for array in arrays:
        array.setflags(write=False)
