"""librdkafka's mock brokers: inside this process, over loopback, without disks."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Iterable, Mapping
from typing import Any, Final

from confluent_kafka import Producer, cimpl

from kafkabal.clusters.cluster_protocol import Reading
from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.rows_to_state import build_cluster

_TIMEOUT_S: Final = 10


class MockBrokers:
    """Brokers 1 to ``brokers``, which lead the partitions of one topic in turn; they live as long as this object.

    librdkafka alone would place leaders at random: of four partitions all may have the same one.
    """

    def __init__(self, topic: str, *, partitions: int = 4, brokers: int = 3) -> None:
        # a signal that the thread of the brokers handles ends it, and then its memory is used and freed again
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._owner = Producer({"test.mock.num.brokers": brokers, "log_level": 2})
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._librdkafka: Any = ctypes.CDLL(cimpl.__file__)
        self._librdkafka.rd_kafka_handle_mock_cluster.restype = ctypes.c_void_p
        self.leaders = {partition: partition % brokers + 1 for partition in range(partitions)}
        """By partition."""
        self._call("rd_kafka_mock_topic_create", topic.encode(), partitions, 1)
        for partition, leader in self.leaders.items():
            self._call("rd_kafka_mock_partition_set_leader", topic.encode(), partition, leader)
        found = self._owner.list_topics(topic, timeout=_TIMEOUT_S).brokers.values()
        self.bootstrap_servers = ",".join(f"{broker.host}:{broker.port}" for broker in found)

    def delay(self, broker: int, by_ms: int) -> None:
        """Let a broker respond this much later from now on."""
        self._call("rd_kafka_mock_broker_set_rtt", broker, by_ms)

    def _call(self, function: str, *arguments: int | bytes) -> None:
        # the client's handle is the first thing in its object
        client = ctypes.c_void_p.from_address(id(self._owner) + object.__basicsize__)
        cluster = ctypes.c_void_p(self._librdkafka.rd_kafka_handle_mock_cluster(client))
        error = getattr(self._librdkafka, function)(cluster, *arguments)
        if error:
            raise RuntimeError(f"{function}: librdkafka's error {error}")


def reading_of(topic: str, leaders: Mapping[int, int], brokers: Iterable[int], partition_bytes: int) -> Reading:
    """What a real back end would read of brokers that report only metadata: partitions of one replica and one size."""
    dirs = [LogDirRow(path="/d", total_bytes=10**12, usable_bytes=10**12)]
    partitions = [
        PartitionRow(partition=p, leader=leader, replicas=[max(leader, 1)], sizes=[partition_bytes], log_dirs=[0])
        for p, leader in sorted(leaders.items())
    ]
    return Reading(
        build_cluster(
            HeaderRow(kafkabal_snapshot=1, cluster_id="mock", taken_at="2026-01-01T00:00:00Z"),
            [BrokerRow(broker=b, log_dirs=dirs) for b in brokers],
            [TopicRow(topic=topic, partitions=partitions)],
        )
    )
