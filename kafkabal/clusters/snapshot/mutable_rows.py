"""The rows of a snapshot, with a cluster's operations: each takes effect completely and at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec.structs

from kafkabal.clusters.cluster_protocol import Fault, NewTopic, ReplicaOn
from kafkabal.model import (
    BrokerRow,
    ClusterState,
    LogDirRow,
    PartitionRow,
    TopicPartition,
    TopicRow,
    broker_rows,
    build_cluster,
    header_row,
    topic_rows,
)

_UNKNOWN_PARTITION = Fault("UNKNOWN_TOPIC_OR_PARTITION", "no such partition in the snapshot")


class MutableRows:
    """The contents of a snapshot, row by row."""

    def __init__(self, state: ClusterState) -> None:
        self._header = header_row(state)
        self._brokers = {row.broker: row for row in broker_rows(state)}
        self._topics: dict[str, TopicRow] = {}
        self._partitions: dict[str, dict[int, PartitionRow]] = {}
        self._replicas_in: Counter[tuple[int, int]] = Counter()
        """(broker, index of its log dir) -> replicas."""
        self._wishes: dict[ReplicaOn, int] = {}
        """Log dir requests for replicas that the broker does not have yet (KIP-113)."""
        for topic in topic_rows(state):
            self._add(topic)

    def state(self) -> ClusterState:
        """Build the current state from the rows."""
        rows = (
            msgspec.structs.replace(topic, partitions=list(self._partitions[name].values()))
            for name, topic in self._topics.items()
        )
        return build_cluster(self._header, list(self._brokers.values()), rows)

    def partitions(self, topic: str) -> Iterator[tuple[TopicPartition, PartitionRow]]:
        """Yield the partitions of a topic; none if it is unknown."""
        for number, row in self._partitions.get(topic, {}).items():
            yield TopicPartition(topic, number), row

    def partition(self, name: TopicPartition) -> PartitionRow | None:
        """One partition, None if there is none."""
        return self._partitions.get(name.topic, {}).get(name.partition)

    def broker(self, broker: int) -> BrokerRow | None:
        """A registered broker, None if there is none."""
        row = self._brokers.get(broker)
        return row if row is not None and row.state == "online" else None

    def create(self, topic: NewTopic, *, validate_only: bool) -> Fault | None:
        """Add a topic without data."""
        if topic.name in self._topics:
            return Fault("TOPIC_ALREADY_EXISTS", f"topic {topic.name} already exists")
        if len({len(replicas) for replicas in topic.assignment}) > 1:
            return Fault("INVALID_REPLICA_ASSIGNMENT", "partitions differ in their number of replicas")
        for replicas in topic.assignment:
            if fault := self._assignment_fault(replicas):
                return fault
        if not validate_only:
            self._add(TopicRow(topic=topic.name, partitions=[], configs=dict(topic.configs)))
            for number, replicas in enumerate(topic.assignment):
                empty = PartitionRow(partition=number, replicas=[], sizes=[], log_dirs=[], start_offset=0, end_offset=0)
                self._place(topic.name, empty, list(replicas), size_bytes=0)
        return None

    def reassign(
        self, name: TopicPartition, target: tuple[int, ...], *, allow_replication_factor_change: bool
    ) -> Fault | None:
        """Assign these replicas to a partition."""
        row = self.partition(name)
        if row is None:
            return _UNKNOWN_PARTITION
        if fault := self._assignment_fault(target):
            return fault
        now = len(row.replicas) - len(row.removing)
        if len(target) != now and not allow_replication_factor_change:
            return Fault("INVALID_REPLICATION_FACTOR", f"would change the replication factor: {now} to {len(target)}")
        self._place(name.topic, row, list(target), _copy_bytes(row))
        return None

    def cancel(self, name: TopicPartition) -> Fault | None:
        """Cancel a reassignment in flight."""
        row = self.partition(name)
        if row is None:
            return _UNKNOWN_PARTITION
        if not row.adding and not row.removing:
            return Fault("NO_REASSIGNMENT_IN_PROGRESS", f"no reassignment in flight: {name}")
        self._place(name.topic, row, [b for b in row.replicas if b not in row.adding], _copy_bytes(row))
        return None

    def move(self, replica: ReplicaOn, path: str) -> Fault | None:
        """Move a replica to another log dir of its broker, now or when the replica is created there."""
        broker = self.broker(replica.broker)
        if broker is None:
            return Fault("unreachable", f"broker {replica.broker} is not registered with the cluster", retriable=True)
        paths = [log_dir.path for log_dir in broker.log_dirs]
        if path not in paths:
            return Fault("LOG_DIR_NOT_FOUND", f"broker {replica.broker} has no log dir {path}")
        if any(log_dir.state == "offline" for log_dir in broker.log_dirs):
            return Fault("KAFKA_STORAGE_ERROR", f"a log dir of broker {replica.broker} is offline", retriable=True)
        row = self.partition(TopicPartition(replica.topic, replica.partition))
        if row is None or replica.broker not in row.replicas:
            self._wishes[replica] = paths.index(path)
            message = f"no replica of {replica.topic}-{replica.partition} on broker {replica.broker}"
            kind = "UNKNOWN_TOPIC_OR_PARTITION" if row is None else "REPLICA_NOT_AVAILABLE"
            return Fault(kind, message, retriable=True)
        self._put(replica.topic, row, row.replicas.index(replica.broker), paths.index(path))
        return None

    def elect(self, name: TopicPartition) -> Fault | None:
        """Make the first replica the leader."""
        row = self.partition(name)
        if row is None:
            return _UNKNOWN_PARTITION
        first = row.replicas[0]
        if self.broker(first) is None or first not in _isr(row):
            return Fault("PREFERRED_LEADER_NOT_AVAILABLE", f"broker {first} is not in sync", retriable=True)
        self._partitions[name.topic][name.partition] = msgspec.structs.replace(row, leader=first)
        return None

    def _add(self, topic: TopicRow) -> None:
        self._topics[topic.topic] = topic
        self._partitions[topic.topic] = {row.partition: row for row in topic.partitions}
        for row in topic.partitions:
            self._replicas_in.update((b, d) for b, d in zip(row.replicas, _log_dirs(row), strict=True) if d is not None)

    def _assignment_fault(self, replicas: tuple[int, ...]) -> Fault | None:
        if not replicas or len(set(replicas)) != len(replicas):
            return Fault("INVALID_REPLICA_ASSIGNMENT", "replica list empty or with duplicates")
        strangers = [broker for broker in replicas if self.broker(broker) is None]
        if strangers:
            return Fault("INVALID_REPLICA_ASSIGNMENT", f"broker {strangers[0]} is not registered")
        return None

    def _place(self, topic: str, row: PartitionRow, target: list[int], size_bytes: int | None) -> None:
        """Replace the replicas of a partition; kept ones keep their log dir and size."""
        old = {b: (d, s) for b, d, s in zip(row.replicas, _log_dirs(row), _sizes(row), strict=True)}
        new = {
            b: old[b] if b in old else (self._dir_for(ReplicaOn(topic, row.partition, b)), size_bytes) for b in target
        }
        for broker, (log_dir, bytes_) in old.items():
            if broker not in new:
                self._take(broker, log_dir, -1, bytes_)
        for broker, (log_dir, bytes_) in new.items():
            if broker not in old:
                self._take(broker, log_dir, 1, bytes_)
        isr = [b for b in target if b in _isr(row) or b not in old]
        self._partitions[topic][row.partition] = msgspec.structs.replace(
            row,
            replicas=target,
            log_dirs=[new[b][0] for b in target],
            sizes=[new[b][1] for b in target],
            isr=isr,
            leader=row.leader if row.leader in target else next(iter(isr), -1),
            adding=[],
            removing=[],
            future=[copy for copy in row.future if copy.broker in new],
        )

    def _put(self, topic: str, row: PartitionRow, at: int, log_dir: int) -> None:
        broker, dirs, size = row.replicas[at], _log_dirs(row), _sizes(row)[at]
        self._take(broker, dirs[at], -1, size)
        self._take(broker, log_dir, 1, size)
        dirs[at] = log_dir
        self._partitions[topic][row.partition] = msgspec.structs.replace(
            row, log_dirs=dirs, future=[copy for copy in row.future if copy.broker != broker]
        )

    def _dir_for(self, replica: ReplicaOn) -> int | None:
        """The requested dir, or else the one with the fewest replicas, as brokers choose."""
        dirs = self._brokers[replica.broker].log_dirs
        usable = [index for index, log_dir in enumerate(dirs) if log_dir.state == "online"]
        fewest = min(usable, key=lambda index: self._replicas_in[replica.broker, index], default=None)
        return self._wishes.pop(replica, fewest)

    def _take(self, broker: int, log_dir: int | None, replicas: int, size_bytes: int | None) -> None:
        """Add (1) or remove (-1) a replica in the counts of a log dir, and its bytes on the dirs of the volume."""
        if log_dir is None:
            return
        self._replicas_in[broker, log_dir] += replicas
        row = self._brokers[broker]
        volume = row.log_dirs[log_dir].volume
        used = replicas * (size_bytes or 0)
        dirs = [
            msgspec.structs.replace(d, usable_bytes=_within_total(d, d.usable_bytes - used))
            if d.usable_bytes is not None and (index == log_dir or (volume is not None and d.volume == volume))
            else d
            for index, d in enumerate(row.log_dirs)
        ]
        self._brokers[broker] = msgspec.structs.replace(row, log_dirs=dirs)


def _within_total(log_dir: LogDirRow, usable_bytes: int) -> int:
    """A volume may be reported to hold less than its replicas do, as on a file system that compresses."""
    most = usable_bytes if log_dir.total_bytes is None else log_dir.total_bytes
    return max(0, min(usable_bytes, most))


def _isr(row: PartitionRow) -> list[int]:
    return row.replicas if row.isr is None else row.isr


def _log_dirs(row: PartitionRow) -> list[int | None]:
    return [None] * len(row.replicas) if row.log_dirs is None else list(row.log_dirs)


def _sizes(row: PartitionRow) -> list[int | None]:
    return [None] * len(row.replicas) if row.sizes is None else row.sizes


def _copy_bytes(row: PartitionRow) -> int | None:
    """Size of a new copy: the leader's size, or else the largest known one."""
    sizes = dict(zip(row.replicas, _sizes(row), strict=True))
    of_leader = sizes.get(row.leader)
    return of_leader if of_leader is not None else max((s for s in sizes.values() if s is not None), default=None)
