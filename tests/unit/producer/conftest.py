"""librdkafka's mock cluster, which speaks the protocol over loopback, and a reader of its metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafkabal.clusters.cluster_protocol import Reading, ReadRequest
from kafkabal.errors import KafkabalError
from kafkabal.producer import view_refresher
from kafkabal.producer.record_sender import RecordSender
from tests.mock_brokers import MockBrokers, reading_of

if TYPE_CHECKING:
    from confluent_kafka import Message

TOPIC = "images"
PARTITION_BYTES = 1000
"""What each partition holds, for a reader of metadata."""


@dataclass
class MockCluster:
    """Mock brokers and a topic; ``read`` gives what a real back end would."""

    mock: MockBrokers
    leaders: dict[int, int] = field(init=False)
    reads: list[ReadRequest] = field(default_factory=list)
    fails_with: KafkabalError | None = None

    def __post_init__(self) -> None:
        self.leaders = self.mock.leaders

    @property
    def client(self) -> dict[str, str | int | float | bool]:
        """Client configuration for these brokers."""
        return {"bootstrap.servers": self.mock.bootstrap_servers, "log_level": 2}

    def read(self, request: ReadRequest) -> Reading:
        """Metadata, with sizes that do not change."""
        self.reads.append(request)
        if self.fails_with:
            raise self.fails_with
        return reading_of(TOPIC, self.leaders, (1, 2, 3), PARTITION_BYTES)

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """End tests that wait inside librdkafka, too: it does not return for the signal by which others are ended."""
    for item in items:
        if "mock_cluster" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(method="thread"))


@pytest.fixture
def mock_cluster(monkeypatch: pytest.MonkeyPatch) -> MockCluster:
    """A fresh cluster for each test; each broker leads one or two partitions.

    It is read again only after ``kafkabal.refresh.ms``: its sizes do not grow, so a second reading would look as if
    brokers had lost what they acknowledged.
    """
    monkeypatch.setattr(view_refresher, "early_pauses_s", lambda _interval_s: ())
    return MockCluster(MockBrokers(TOPIC))


def send(
    sender: RecordSender, value: bytes, key: bytes | None = None, headers: Any = None, size_bytes: int = 0
) -> None:
    """Queue one record; its size is computed from its content unless given."""
    size_bytes = size_bytes or len(value) + len(key or b"") + sum(len(n) + len(data) for n, data in headers or ())
    sender.produce_many(
        [value], [size_bytes], keys=None if key is None else [key], headers=None if headers is None else [headers]
    )
