"""The rows of a simulated cluster, as a reader of a real one would build them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkabal.clusters.cluster_protocol import NewTopic, ReplicaLog
from kafkabal.clusters.simulated.cluster_parts import (
    SimulatedBroker,
    SimulatedLog,
    SimulatedLogDir,
    SimulatedPartition,
)
from kafkabal.clusters.simulated.simulated_kafka import SimulatedKafka
from kafkabal.model import BrokerRow, FutureRow, LogDirRow, PartitionRow, TopicRow

_RECORD_BYTES = 1000
"""A round number: only differences of offsets matter."""


def broker_rows(kafka: SimulatedKafka) -> list[BrokerRow]:
    """One row per broker; a broker that does not respond shows no log dirs."""
    used_bytes = kafka.used_bytes()
    return [
        BrokerRow(
            broker=b.id,
            rack=b.rack,
            host=b.host,
            port=b.port,
            state="online" if b.registered else "dead",
            log_dirs=[_dir_row(d, used_bytes[b.id, d.path]) for d in b.log_dirs.values()] if b.responds else [],
        )
        for b in kafka.parts.brokers.values()
    ]


def topic_rows(kafka: SimulatedKafka, *, configs: bool, knows_reassignments: bool) -> Iterator[TopicRow]:
    """One row per topic; ``knows_reassignments``: with the replicas that are being added and removed."""
    reports = {broker.id: _LogDirReport(broker) for broker in kafka.parts.brokers.values()}
    for topic in kafka.parts.topics.values():
        yield TopicRow(
            topic=topic.name,
            partitions=[
                _partition_row(reports, p, knows_reassignments=knows_reassignments) for p in topic.partitions.values()
            ],
            configs=dict(topic.configs) if configs else None,
            internal=topic.internal,
            topic_id=topic.topic_id,
        )


def new_topic_row(topic: NewTopic) -> TopicRow:
    """The row of a newly created topic."""
    partitions = [
        PartitionRow(partition=i, leader=replicas[0], replicas=list(replicas), isr=list(replicas))
        for i, replicas in enumerate(topic.assignment)
    ]
    return TopicRow(topic=topic.name, partitions=partitions, configs=dict(topic.configs))


def replica_log(log: SimulatedLog) -> ReplicaLog:
    """A replica as its broker reports it."""
    return ReplicaLog(
        log_dir=log.log_dir,
        size_bytes=int(log.copied_bytes),
        future_log_dir=log.future_log_dir,
        future_bytes=int(log.future_bytes),
    )


def _dir_row(log_dir: SimulatedLogDir, used_bytes: int) -> LogDirRow:
    if not log_dir.online:
        return LogDirRow(path=log_dir.path, state="offline", volume=log_dir.path)
    known = log_dir.total_bytes >= 0
    usable = max(0, log_dir.total_bytes - used_bytes)
    return LogDirRow(
        path=log_dir.path,
        total_bytes=log_dir.total_bytes if known else None,
        usable_bytes=usable if known else None,
        state="cordoned" if log_dir.cordoned else "online",
        volume=log_dir.path,
    )


class _LogDirReport:
    """Which log dirs a broker reports, once a reading: it is asked for every replica of the cluster."""

    def __init__(self, broker: SimulatedBroker) -> None:
        indexes = {path: at for at, path in enumerate(broker.log_dirs)} if broker.responds else {}
        self.index = indexes
        self.online = {path: at for path, at in indexes.items() if broker.log_dirs[path].online}


def _partition_row(
    reports: Mapping[int, _LogDirReport], partition: SimulatedPartition, *, knows_reassignments: bool
) -> PartitionRow:
    sizes: list[int | None] = []
    log_dirs: list[int | None] = []
    future: list[FutureRow] = []
    for broker in partition.replicas:
        log, report = partition.logs.get(broker), reports[broker]
        log_dir = None if log is None else report.online.get(log.log_dir)
        sizes.append(None if log is None or log_dir is None else int(log.copied_bytes))
        log_dirs.append(log_dir)
        if log is not None and log.future_log_dir in report.index:
            at = report.index[log.future_log_dir]
            future.append(FutureRow(broker=broker, log_dir=at, bytes=int(log.future_bytes)))
    start_offset, end_offset = _offsets(partition)
    return PartitionRow(
        partition=partition.name.partition,
        leader=partition.leader,
        replicas=partition.replicas.copy(),
        isr=partition.isr.copy(),
        sizes=sizes,
        log_dirs=log_dirs,
        adding=partition.adding.copy() if knows_reassignments else [],
        removing=partition.removing.copy() if knows_reassignments else [],
        start_offset=start_offset,
        end_offset=end_offset,
        remote_bytes=partition.remote_bytes,
        in_bytes_per_s=partition.growth_bytes_per_s or None,
        future=future,
    )


def _offsets(partition: SimulatedPartition) -> tuple[int | None, int | None]:
    """The given offsets; a growing partition has records of one size from offset 0 on."""
    if partition.growth_bytes_per_s and partition.end_offset is None:
        return 0, int(partition.size_bytes / _RECORD_BYTES)
    return partition.start_offset, partition.end_offset
