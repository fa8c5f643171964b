"""Log dirs and replica sizes of a broker, and moves between its log dirs (KIP-113, 827, 1066)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kafka.protocol.admin import AlterReplicaLogDirsRequest, DescribeLogDirsRequest

from kafkabal.chunks import chunked
from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.cluster_protocol import Fault, ReplicaLog, ReplicaOn
from kafkabal.clusters.kafka.error_mapping import (
    CLUSTER_AUTHORIZATION_FAILED,
    KAFKA_STORAGE_ERROR,
    NO_ERROR,
    check,
    fault_of,
    fault_of_error,
    not_authorized,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.request_chunks import by_topic
from kafkabal.errors import KafkabalError, NotAuthorizedError
from kafkabal.model import LogDirRow, TopicPartition

Logs = dict[str, dict[int, tuple[int, int]]]
"""Topic, partition -> index of the log dir, bytes."""

_PARTITIONS_A_REQUEST = 1000
"""If a request times out, nothing is known about its partitions: a thousand can be checked again."""
_REMOTE = "remote://"
"""Redpanda lists its data in an object store as a log dir of each broker; no move copies it."""
_MOST_NAMED_PARTITIONS = 100_000
"""Brokers reject a request with more than a million array elements (Kafka 4.4); responses have no such limit."""


@dataclass(frozen=True, slots=True)
class BrokerLogs:
    """The log dirs of one broker, as it reports them."""

    dirs: list[LogDirRow]
    current: Logs
    """The replicas."""
    future: Logs
    """Replicas being copied to another log dir; they do not count as replicas."""
    only_offline_dir: int | None = None
    """Index of the dir of the offline replicas, if only one is possible."""
    remote: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """Topic, partition -> bytes in an object store, as reported by the broker."""


def describe_log_dirs(
    client: KafkaClient, broker: int, deadline: Deadline, topics: Sequence[tuple[str, list[int]]] | None = None
) -> BrokerLogs:
    """Ask a broker for its log dirs and their replicas.

    Parameters
    ----------
    topics
        Names and partition numbers of the replicas; None for all.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe the cluster, which never returns an empty response here.
    """
    topic = DescribeLogDirsRequest.DescribableLogDirTopic
    named = None if topics is None else [topic(topic=name, partitions=numbers) for name, numbers in topics]
    response = client.call_broker(broker, DescribeLogDirsRequest(topics=named), deadline)
    check(response.error_code, f"describe the log dirs of broker {broker}", permission="Describe on the cluster")
    if not response.results:
        # before version 3 a refusal is an empty list, and no broker is without log dirs
        raise not_authorized(
            f"cannot describe the log dirs of broker {broker}: it reported none, as brokers before Kafka 3.2 do "
            "if the principal is not authorized to describe the cluster",
            "Describe on the cluster",
        )
    local: list[Any] = []
    remote: list[Any] = []
    for result in response.results:
        (remote if result.log_dir.startswith(_REMOTE) else local).append(result)
    for result in local:
        if result.error_code != KAFKA_STORAGE_ERROR:
            check(result.error_code, f"describe log dir {result.log_dir} of broker {broker}")
    return _read(local, remote)


def replica_logs(
    client: KafkaClient, brokers: Collection[int], partitions: Collection[TopicPartition]
) -> tuple[dict[ReplicaOn, ReplicaLog], dict[int, Fault]]:
    """The log dirs of these partitions on these brokers, and the brokers that did not respond."""
    # grouped once: for each of a thousand brokers it would take seconds of every observation
    topics = list(by_topic(partitions)) if len(partitions) <= _MOST_NAMED_PARTITIONS else None

    def ask(broker: int, deadline: Deadline) -> BrokerLogs:
        return describe_log_dirs(client, broker, deadline, topics)

    found: dict[ReplicaOn, ReplicaLog] = {}
    faults: dict[int, Fault] = {}
    names = frozenset(partitions)
    for broker, logs in client.for_each(brokers, ask).items():
        if isinstance(logs, NotAuthorizedError):
            raise logs
        if isinstance(logs, KafkabalError):
            faults[broker] = fault_of_error(logs)
        else:
            held = _as_replica_logs(broker, logs)
            found |= {replica: log for replica, log in held.items() if replica[:2] in names}
    return found, faults


def move_log_dirs(client: KafkaClient, targets: Mapping[ReplicaOn, str]) -> dict[ReplicaOn, Fault]:
    """Ask brokers to move replicas to these log dirs; returns those that failed.

    Raises
    ------
    NotAuthorizedError
        If the principal may not alter the cluster.
    """
    by_broker: dict[int, list[ReplicaOn]] = {}
    for replica in targets:
        by_broker.setdefault(replica.broker, []).append(replica)

    def ask(broker: int, deadline: Deadline) -> dict[ReplicaOn, Fault]:
        return _move_on_broker(client, broker, {r: targets[r] for r in by_broker[broker]}, deadline)

    faults: dict[ReplicaOn, Fault] = {}
    for broker, outcome in client.for_each(by_broker, ask).items():
        if isinstance(outcome, NotAuthorizedError):
            raise outcome
        if isinstance(outcome, KafkabalError):
            faults |= dict.fromkeys(by_broker[broker], fault_of_error(outcome))
        else:
            faults |= outcome
    return faults


def _read(results: Sequence[Any], remote: Sequence[Any] = ()) -> BrokerLogs:
    offline = [index for index, result in enumerate(results) if result.error_code]
    logs = BrokerLogs(
        [_dir_row(result) for result in results],
        {},
        {},
        only_offline_dir=offline[0] if len(offline) == 1 else None,
        remote={t.name: {p.partition_index: p.partition_size for p in t.partitions} for r in remote for t in r.topics},
    )
    for index, result in enumerate(results):
        for topic in result.topics:
            current: dict[int, tuple[int, int]] = {}
            for p in topic.partitions:
                if p.is_future_key:
                    logs.future.setdefault(topic.name, {})[p.partition_index] = (index, p.partition_size)
                else:
                    current[p.partition_index] = (index, p.partition_size)
            logs.current.setdefault(topic.name, {}).update(current)
    return logs


def _dir_row(result: Any) -> LogDirRow:
    state: Literal["online", "offline", "cordoned"] = "cordoned" if result.is_cordoned else "online"
    if result.error_code:
        return LogDirRow(path=result.log_dir, state="offline")
    total, usable = result.total_bytes, result.usable_bytes
    # Java reports 2^63 - 1 usable bytes where those of a file system overflow: that says nothing about the room
    is_plausible = 0 <= usable <= total or total <= 0 <= usable
    return LogDirRow(
        path=result.log_dir,
        total_bytes=total if total >= 0 else None,
        usable_bytes=usable if is_plausible else None,
        state=state,
    )


def _as_replica_logs(broker: int, logs: BrokerLogs) -> dict[ReplicaOn, ReplicaLog]:
    found: dict[ReplicaOn, ReplicaLog] = {}
    for topic, numbers in logs.current.items():
        futures = logs.future.get(topic, {})
        for number, (index, size_bytes) in numbers.items():
            going_to, copied_bytes = futures.get(number, (None, 0))
            found[ReplicaOn(topic, number, broker)] = ReplicaLog(
                log_dir=logs.dirs[index].path,
                size_bytes=size_bytes,
                future_log_dir=None if going_to is None else logs.dirs[going_to].path,
                future_bytes=copied_bytes,
            )
    return found


def _move_on_broker(
    client: KafkaClient, broker: int, targets: Mapping[ReplicaOn, str], deadline: Deadline
) -> dict[ReplicaOn, Fault]:
    faults: dict[ReplicaOn, Fault] = {}
    for chunk in chunked(targets.items(), _PARTITIONS_A_REQUEST):
        response = client.call_broker(broker, _move_request(dict(chunk)), deadline)
        for topic in response.results:
            for p in topic.partitions:
                if p.error_code == CLUSTER_AUTHORIZATION_FAILED:
                    # of all replicas alike: named one by one, each with Kafka's text, the reason would not be seen
                    check(p.error_code, "move replicas between log dirs", permission="Alter on the cluster")
                if p.error_code != NO_ERROR:
                    faults[ReplicaOn(topic.topic_name, p.partition_index, broker)] = fault_of(p.error_code)
    return faults


def _move_request(targets: Mapping[ReplicaOn, str]) -> Any:
    directory = AlterReplicaLogDirsRequest.AlterReplicaLogDir
    dirs = []
    for path in sorted(set(targets.values())):
        partitions = (TopicPartition(r.topic, r.partition) for r, target in targets.items() if target == path)
        topics = [
            directory.AlterReplicaLogDirTopic(name=name, partitions=numbers) for name, numbers in by_topic(partitions)
        ]
        dirs.append(directory(path=path, topics=topics))
    return AlterReplicaLogDirsRequest(dirs=dirs)
