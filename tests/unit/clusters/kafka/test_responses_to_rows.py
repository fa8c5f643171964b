"""Rows of a state from the brokers' responses."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from kafkabal.clusters.kafka.broker_address import Address
from kafkabal.clusters.kafka.kafka_client import KnownBroker, KnownBrokers
from kafkabal.clusters.kafka.log_dirs import BrokerLogs
from kafkabal.clusters.kafka.responses_to_rows import BrokerResponses, assemble
from kafkabal.model.cluster_rows import LogDirRow


class _CountedRemote(dict[str, dict[int, int]]):
    """What a broker reports of an object store; counts how often it is looked at."""

    def __init__(self, sizes: dict[int, int]) -> None:
        super().__init__({"t": sizes})
        self.looks = 0

    def get(self, *of: Any) -> Any:
        """One topic's."""
        self.looks += 1
        return super().get(*of)

    def items(self) -> Any:
        """All topics'."""
        self.looks += 1
        return super().items()


def _remote_bytes(remote: dict[int, _CountedRemote], partitions: int) -> list[int]:
    topic = SimpleNamespace(
        name="t",
        topic_id=None,
        is_internal=False,
        partitions=[
            SimpleNamespace(partition_index=n, leader_id=1, replica_nodes=[1], isr_nodes=[1], offline_replicas=[])
            for n in range(partitions)
        ],
    )
    current = {"t": dict.fromkeys(range(partitions), (0, 10))}
    logs = {
        broker: BrokerLogs([LogDirRow(path="/d")], current if broker == 1 else {}, {}, remote=sizes)
        for broker, sizes in remote.items()
    }
    nodes = KnownBrokers("c", 1, {broker: KnownBroker(Address("h", 9092), None) for broker in remote})
    taken_at = datetime(2026, 11, 27, tzinfo=UTC)
    found: list[int] = assemble(
        BrokerResponses(source="kafka", taken_at=taken_at, nodes=nodes, topics=[topic], logs=logs)
    ).partitions.remote_bytes.tolist()
    return found


def test_what_each_broker_reports_of_an_object_store_is_gone_through_once() -> None:
    """The largest report counts, less what is on disk; brokers are not searched again for each partition."""
    for partitions in (5, 50):
        remote = {broker: _CountedRemote(dict.fromkeys(range(4), 100 * broker)) for broker in range(1, 4)}
        assert _remote_bytes(remote, partitions) == [290] * 4 + [-1] * (partitions - 4)
        assert [sizes.looks for sizes in remote.values()] == [1, 1, 1]
