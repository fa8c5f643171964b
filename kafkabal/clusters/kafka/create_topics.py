"""Creates topics, in requests small enough for the controller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest

from kafkabal.clusters.cluster_protocol import Fault, NewTopic
from kafkabal.clusters.kafka.error_mapping import NO_ERROR, fault_of, fault_of_error
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.request_chunks import weighed
from kafkabal.errors import UnreachableError

# a controller writes a record for each topic, partition and config, and rejects larger requests: POLICY_VIOLATION
_RECORDS_A_REQUEST = 10_000


def create_topics(client: KafkaClient, topics: Sequence[NewTopic], *, validate_only: bool) -> dict[str, Fault]:
    """Create topics with explicit assignments; returns those that failed.

    If a chunk gets no response, its topics count as failed; for the first chunk, the error is raised.
    """
    faults: dict[str, Fault] = {}
    for at, chunk in enumerate(weighed(topics, _records, _RECORDS_A_REQUEST)):
        try:
            faults |= _create(client, chunk, validate_only=validate_only)
        except UnreachableError as error:
            if at == 0:
                raise
            faults |= dict.fromkeys((topic.name for topic in chunk), fault_of_error(error))
    return faults


def _records(topic: NewTopic) -> int:
    return 1 + len(topic.assignment) + len(topic.configs)


def _create(client: KafkaClient, topics: Sequence[NewTopic], *, validate_only: bool) -> dict[str, Fault]:
    request = CreateTopicsRequest(
        topics=[_as_message(topic) for topic in topics],
        timeout_ms=client.broker_timeout_ms,
        validate_only=validate_only,
    )
    response = client.call_controller(request, lambda a: {topic.error_code for topic in a.topics})
    return {
        topic.name: fault_of(topic.error_code, topic.error_message)
        for topic in response.topics
        if topic.error_code != NO_ERROR
    }


def _as_message(topic: NewTopic) -> Any:
    kind = CreateTopicsRequest.CreatableTopic
    return kind(
        name=topic.name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            kind.CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
            for number, brokers in enumerate(topic.assignment)
        ],
        configs=[kind.CreatableTopicConfig(name=key, value=value) for key, value in sorted(topic.configs.items())],
    )
