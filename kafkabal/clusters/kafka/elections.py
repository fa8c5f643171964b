"""Elections of preferred leaders (KIP-460)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafka.protocol.admin import ElectionType, ElectLeadersRequest

from kafkabal.chunks import chunked
from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.kafka.error_mapping import ELECTION_NOT_NEEDED, NO_ERROR, check, fault_of, fault_of_error
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.request_chunks import by_topic
from kafkabal.errors import UnreachableError
from kafkabal.model import TopicPartition

_PARTITIONS_A_REQUEST = 1000
"""The controller processes a request in one go, and other requests wait for it."""
_SUCCESS = (NO_ERROR, ELECTION_NOT_NEEDED)


def elect_preferred_leaders(client: KafkaClient, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Fault]:
    """Elect the first replica of each; returns those that failed; a replica that already leads counts as elected.

    If a chunk gets no response, its partitions count as failed; for the first chunk, the error is raised.
    """
    faults: dict[TopicPartition, Fault] = {}
    for at, chunk in enumerate(chunked(sorted(partitions), _PARTITIONS_A_REQUEST)):
        try:
            faults |= _elect(client, chunk)
        except UnreachableError as error:
            # raising it for a later chunk would lose the responses of the earlier ones
            if at == 0:
                raise
            faults |= dict.fromkeys(chunk, fault_of_error(error))
    return faults


def _elect(client: KafkaClient, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Fault]:
    request = ElectLeadersRequest(
        election_type=ElectionType.PREFERRED,
        topic_partitions=[
            ElectLeadersRequest.TopicPartitions(topic=name, partitions=numbers)
            for name, numbers in by_topic(partitions)
        ],
        timeout_ms=client.broker_timeout_ms,
    )
    response = client.call_controller(request, _codes)
    check(response.error_code, "elect preferred leaders", permission="Alter on the cluster")
    return {
        TopicPartition(result.topic, p.partition_id): fault_of(p.error_code, p.error_message)
        for result in response.replica_election_results
        for p in result.partition_result
        if p.error_code not in _SUCCESS
    }


def _codes(response: Any) -> set[int]:
    return {response.error_code, *(p.error_code for r in response.replica_election_results for p in r.partition_result)}
