"""Whether each broker responds at its advertised address, which versions it supports, and the controller's time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka.protocol.admin import DescribeQuorumRequest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.kafka.controller_quorum import quorum_request
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.errors import KafkabalError

_TIMESTAMPS_VERSION = 1
"""First version of DescribeQuorum that reports when a replica last fetched (KIP-836)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerReachability:
    """How a broker responds at its advertised address."""

    address: str
    response_s: float | None
    """None if it does not respond."""
    release: str = ""
    """The Kafka version whose requests it supports, such as ``4.1``; later versions without new requests look the
    same."""
    versions: Mapping[int, tuple[int, int]]
    """Lowest and highest version by kind of request."""
    error: KafkabalError | None = None


def reach_brokers(client: KafkaClient, deadline_s: float) -> Mapping[int, BrokerReachability]:
    """Ask every registered broker, at its advertised listener, which versions it supports."""
    client.metadata(())
    nodes = client.nodes().by_id

    def ask(broker: int, deadline: Deadline) -> BrokerReachability:
        begin_s = client.clock.monotonic()
        spoken = client.versions_of(broker, deadline)
        return BrokerReachability(
            address=str(nodes[broker].address),
            response_s=client.clock.monotonic() - begin_s,
            release=".".join(map(str, spoken.broker_version)),
            versions=dict(spoken.api_versions),
        )

    found = client.for_each(nodes, ask, deadline_s)
    return {
        broker: BrokerReachability(address=str(nodes[broker].address), response_s=None, versions={}, error=response)
        if isinstance(response, KafkabalError)
        else response
        for broker, response in found.items()
    }


def controller_time_s(client: KafkaClient) -> float | None:
    """Time of the active KRaft controller's clock, in seconds since the epoch; None if it does not report it.

    The controller includes its time when it reports the progress of each voter (KIP-836).
    """
    if not client.supports(DescribeQuorumRequest, _TIMESTAMPS_VERSION):
        return None
    response = client.call_any(quorum_request())
    stamps = [
        voter.last_caught_up_timestamp
        for topic in response.topics or ()
        for partition in topic.partitions
        for voter in partition.current_voters
        if voter.replica_id == partition.leader_id
    ]
    return stamps[0] / 1000 if stamps and stamps[0] > 0 else None
