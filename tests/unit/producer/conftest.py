"""librdkafka's mock cluster, which speaks the protocol over loopback, and a reader of its metadata."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition, cimpl

from kafkabal.clusters.cluster_protocol import Reading, ReadRequest
from kafkabal.errors import KafkabalError
from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.producer.record_sender import RecordSender

if TYPE_CHECKING:
    from confluent_kafka import Message

TOPIC = "images"
LIBRDKAFKA = ctypes.CDLL(cimpl.__file__)
LIBRDKAFKA.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p


@dataclass
class MockCluster:
    """Three brokers and a topic of four partitions; ``read`` gives what a real back end would."""

    owner: Producer
    bootstrap: str
    leaders: dict[int, int]
    reads: list[ReadRequest] = field(default_factory=list)
    fails_with: KafkabalError | None = None

    @property
    def client(self) -> dict[str, str | int | float | bool]:
        """Client configuration for these brokers."""
        return {"bootstrap.servers": self.bootstrap, "log_level": 2}

    def read(self, request: ReadRequest) -> Reading:
        """Metadata, with sizes that do not change."""
        self.reads.append(request)
        if self.fails_with:
            raise self.fails_with
        partitions = [
            PartitionRow(partition=p, leader=leader, replicas=[max(leader, 1)], sizes=[1000], log_dirs=[0])
            for p, leader in self.leaders.items()
        ]
        dirs = [LogDirRow(path="/d", total_bytes=10**9, usable_bytes=10**8)]
        return Reading(
            build_cluster(
                HeaderRow(kafkabal_snapshot=1, cluster_id="mock", taken_at="2026-01-01T00:00:00Z"),
                [BrokerRow(broker=b, log_dirs=dirs) for b in (1, 2, 3)],
                [TopicRow(topic=TOPIC, partitions=partitions)],
            )
        )

    def delay(self, broker: int, by_ms: int) -> None:
        """Let a broker respond this much later from now on."""
        assert LIBRDKAFKA.rd_kafka_mock_broker_set_rtt(_handle(self.owner), broker, by_ms) == 0

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def messages(self, count: int, timeout_s: float = 20.0) -> list[Message]:
        """The first ``count`` records of the topic, in the order in which they are read."""
        consumer = Consumer({**self.client, "group.id": "test", "enable.auto.commit": False})
        try:
            consumer.assign([TopicPartition(TOPIC, p, 0) for p in self.leaders])
            return [m for m in consumer.consume(count, timeout_s) if m.error() is None]
        finally:
            consumer.close()


@pytest.fixture
def mock_cluster() -> Iterator[MockCluster]:
    """A fresh cluster for each test: each broker leads one or two partitions, not random ones as the mock would."""
    owner = Producer({"test.mock.num.brokers": 3, "log_level": 2})
    owner.list_topics(TOPIC, timeout=10)
    while not (partitions := owner.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions):
        owner.poll(0.01)
    for partition in partitions:
        assert (
            LIBRDKAFKA.rd_kafka_mock_partition_set_leader(_handle(owner), TOPIC.encode(), partition, partition % 3 + 1)
            == 0
        )
    metadata = owner.list_topics(TOPIC, timeout=10)
    partitions = metadata.topics[TOPIC].partitions
    bootstrap = ",".join(f"{b.host}:{b.port}" for b in metadata.brokers.values())
    yield MockCluster(owner, bootstrap, {p: info.leader for p, info in sorted(partitions.items())})
    owner.purge()
    owner.flush(0)


def _handle(owner: Producer) -> ctypes.c_void_p:
    """The mock cluster of a client in librdkafka."""
    # the client's handle is the first thing in its object
    client = ctypes.c_void_p.from_address(id(owner) + object.__basicsize__)
    return ctypes.c_void_p(LIBRDKAFKA.rd_kafka_handle_mock_cluster(client))


def send(
    sender: RecordSender, value: bytes, key: bytes | None = None, headers: Any = None, size_bytes: int = 0
) -> None:
    """Queue one record; its size is computed from its content unless given."""
    size_bytes = size_bytes or len(value) + len(key or b"") + sum(len(n) + len(data) for n, data in headers or ())
    sender.produce_many(
        [value], [size_bytes], keys=None if key is None else [key], headers=None if headers is None else [headers]
    )
