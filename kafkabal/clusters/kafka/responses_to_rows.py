"""Converts broker responses to the rows of a :class:`~kafkabal.model.cluster_state.ClusterState`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from kafkabal.clusters.cluster_protocol import Reassignment
from kafkabal.clusters.kafka.kafka_client import KnownBrokers
from kafkabal.clusters.kafka.log_dirs import BrokerLogs
from kafkabal.clusters.kafka.metadata import topic_id_of
from kafkabal.clusters.own_topics import is_own_topic
from kafkabal.model import (
    DISKLESS,
    SNAPSHOT_VERSION,
    BrokerRow,
    ClusterState,
    CommittedOffsets,
    FutureRow,
    HeaderRow,
    PartitionRow,
    TopicPartition,
    TopicRow,
    build_cluster,
)

_NOWHERE: tuple[None, None] = (None, None)
_NO_BYTES: tuple[None, int] = (None, 0)
_NOTHING_MOVES = Reassignment(replicas=())
_NO_LOGS: dict[int, tuple[int, int]] = {}


@dataclass(slots=True)
class BrokerResponses:
    """All responses of the brokers."""

    source: str
    taken_at: datetime
    nodes: KnownBrokers = field(default_factory=KnownBrokers)
    topics: Sequence[Any] = ()
    """Topics of kafka-python's ``MetadataResponse``."""
    logs: Mapping[int, BrokerLogs] = field(default_factory=dict)
    """By broker, without those that did not respond."""
    reassignments: Mapping[TopicPartition, Reassignment] | None = field(default_factory=dict)
    """None if unknown."""
    configs: Mapping[str, dict[str, str]] | None = None
    """By topic; None if not requested."""
    start_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    end_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    local_start_offsets: dict[TopicPartition, int] = field(default_factory=dict)
    """Where the logs on disk begin."""
    groups: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    """Group, partition -> committed offset."""


def assemble(responses: BrokerResponses) -> ClusterState:
    """Build the cluster state."""
    header = HeaderRow(
        kafkabal_snapshot=SNAPSHOT_VERSION,
        cluster_id=responses.nodes.cluster_id,
        taken_at=responses.taken_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        source=responses.source,
        reassignments_known=responses.reassignments is not None,
    )
    return build_cluster(header, _broker_rows(responses), _TopicRows(responses), committed=_committed(responses))


def _broker_rows(responses: BrokerResponses) -> list[BrokerRow]:
    return [
        BrokerRow(
            broker=broker,
            rack=node.rack,
            host=node.address.host,
            port=node.address.port,
            log_dirs=responses.logs[broker].dirs if broker in responses.logs else [],
        )
        for broker, node in responses.nodes.by_id.items()
    ]


class _TopicRows:
    """Creates one row per topic."""

    def __init__(self, responses: BrokerResponses) -> None:
        self._responses = responses
        self._reassignments = responses.reassignments or {}
        self._copying = {broker for broker, logs in responses.logs.items() if logs.future}
        self._remote_bytes_of = _reported_remote_bytes(responses.logs.values())

    def __iter__(self) -> Iterator[TopicRow]:
        configs = self._responses.configs
        for topic in self._responses.topics:
            yield TopicRow(
                topic=topic.name,
                partitions=[self._partition(topic.name, p) for p in _described(topic)],
                configs=None if configs is None else configs.get(topic.name),
                internal=topic.is_internal or is_own_topic(topic.name),
                topic_id=topic_id_of(topic),
            )

    def _partition(self, topic: str, p: Any) -> PartitionRow:
        name = TopicPartition(topic, p.partition_index)
        replicas: list[int] = p.replica_nodes
        found = [self._found(topic, p, broker) for broker in replicas]
        moving = self._reassignments.get(name, _NOTHING_MOVES)
        return PartitionRow(
            partition=p.partition_index,
            leader=p.leader_id,
            replicas=replicas,
            isr=p.isr_nodes,
            sizes=[size for _, size in found],
            log_dirs=[log_dir for log_dir, _ in found],
            # metadata and reassignments were not read at the same time
            adding=[broker for broker in moving.adding if broker in replicas],
            removing=[broker for broker in moving.removing if broker in replicas],
            start_offset=self._responses.start_offsets.get(name),
            end_offset=self._responses.end_offsets.get(name),
            remote_bytes=self._remote_bytes(name, p, found),
            future=self._futures(name, replicas) if self._copying else [],
        )

    def _remote_bytes(self, name: TopicPartition, p: Any, found: Sequence[tuple[int | None, int | None]]) -> int | None:
        """Bytes only in remote storage: as reported by brokers, or else estimated by the bytes per record on disk."""
        replicas: list[int] = p.replica_nodes
        local_bytes = found[replicas.index(p.leader_id)][1] if p.leader_id in replicas else None
        reported = self._remote_bytes_of.get(name)
        if reported is not None:
            return max(reported - (local_bytes or 0), 0)
        responses = self._responses
        start, end = responses.start_offsets.get(name, -1), responses.end_offsets.get(name, -1)
        local_start = responses.local_start_offsets.get(name, -1)
        if min(start, local_start, end) < 0:
            return None
        if local_start <= start:
            return 0
        if local_bytes is None or local_start >= end:
            return None
        return round(local_bytes * (local_start - start) / (end - local_start))

    def _found(self, topic: str, p: Any, broker: int) -> tuple[int | None, int | None]:
        """Index of the log dir and bytes of a replica."""
        logs = self._responses.logs.get(broker)
        if logs is None:
            return _NOWHERE
        at = logs.current.get(topic, _NO_LOGS).get(p.partition_index)
        if at is None and broker in p.offline_replicas:
            return logs.only_offline_dir, None
        return at or (_NO_BYTES if self._is_diskless(topic) else _NOWHERE)

    def _is_diskless(self, topic: str) -> bool:
        configs = (self._responses.configs or {}).get(topic, {})
        return any(configs.get(key) == "true" for key in DISKLESS)

    def _futures(self, name: TopicPartition, replicas: Sequence[int]) -> list[FutureRow]:
        return [
            FutureRow(broker=broker, log_dir=at[0], bytes=at[1])
            for broker in replicas
            if broker in self._copying
            and (at := self._responses.logs[broker].future.get(name.topic, _NO_LOGS).get(name.partition))
        ]


def _reported_remote_bytes(logs: Iterable[BrokerLogs]) -> dict[TopicPartition, int]:
    """The most bytes in remote storage that a broker reports of each partition, without partitions of which none
    does."""
    found: dict[TopicPartition, int] = {}
    for each in logs:
        for topic, sizes in each.remote.items():
            for number, size_bytes in sizes.items():
                name = TopicPartition(topic, number)
                if size_bytes >= 0:
                    found[name] = max(size_bytes, found.get(name, 0))
    return found


def _described(topic: Any) -> list[Any]:
    """Partitions that have replicas; one that is being deleted may have none."""
    return [p for p in topic.partitions if p.replica_nodes]


def _committed(responses: BrokerResponses) -> CommittedOffsets | None:
    if not responses.groups:
        return None
    names = (TopicPartition(t.name, p.partition_index) for t in responses.topics for p in _described(t))
    row = {name: at for at, name in enumerate(names)}
    groups = tuple(sorted(responses.groups))
    entries = [
        (at, row[name], offset)
        for at, group in enumerate(groups)
        for name, offset in responses.groups[group].items()
        if name in row
    ]
    table = np.array(entries, np.int64).reshape(-1, 3)
    return CommittedOffsets(
        groups=groups,
        group=table[:, 0].astype(np.int32),
        partition=table[:, 1].astype(np.int32),
        offset=table[:, 2].copy(),
    )
