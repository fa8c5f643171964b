"""Starts, lists and cancels reassignments (KIP-455), guarding the replication factor (KIP-860)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest

from kafkabal.chunks import chunked
from kafkabal.clusters.cluster_protocol import Fault, Reassignment
from kafkabal.clusters.kafka.error_mapping import (
    INVALID_REPLICA_ASSIGNMENT,
    INVALID_REPLICATION_FACTOR,
    NO_ERROR,
    UNKNOWN_TOPIC_OR_PARTITION,
    check,
    fault_of,
    fault_of_error,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.metadata import partition_status
from kafkabal.clusters.kafka.request_chunks import by_topic
from kafkabal.errors import UnreachableError
from kafkabal.model import TopicPartition

Targets = Mapping[TopicPartition, tuple[int, ...] | None]

GUARD_VERSION = 1
"""First version of the request that can reject a change of the replication factor."""
_PARTITIONS_A_REQUEST = 1000
"""The controller writes a record for each, and rejects more than 10,000 in one request."""


def list_reassignments(client: KafkaClient, broker_s: float | None = None) -> dict[TopicPartition, Reassignment]:
    """All reassignments in flight.

    Parameters
    ----------
    broker_s
        Seconds that the controller may take; None: as long as one of the brokers that are asked, and longer
        while brokers say that the controller changes.
    """
    request = ListPartitionReassignmentsRequest(topics=None, timeout_ms=client.broker_timeout_ms)
    deadline = None if broker_s is None else client.deadline(min(broker_s, client.settings.request_timeout_s))
    response = client.call_controller(request, lambda a: (a.error_code,), deadline, may_repeat=True)
    check(response.error_code, "list reassignments", response.error_message, permission="Describe on the cluster")
    return {
        TopicPartition(topic.name, p.partition_index): Reassignment(
            replicas=tuple(p.replicas), adding=tuple(p.adding_replicas), removing=tuple(p.removing_replicas)
        )
        for topic in response.topics
        for p in topic.partitions
    }


def alter_reassignments(
    client: KafkaClient, targets: Targets, *, allow_replication_factor_change: bool
) -> dict[TopicPartition, Fault]:
    """Start reassignments, or cancel those whose target is None; returns those that failed.

    If a chunk gets no response, its partitions count as failed; for the first chunk, the error is raised.
    """
    faults: dict[TopicPartition, Fault] = {}
    # before 4.1 the controller accepts any number of replicas: a list computed from metadata that includes a move in
    # flight would raise the factor permanently (KIP-860)
    if not allow_replication_factor_change and not client.supports(AlterPartitionReassignmentsRequest, GUARD_VERSION):
        faults = _factor_changes(client, targets)
    requested = [(partition, target) for partition, target in targets.items() if partition not in faults]
    for at, chunk in enumerate(chunked(requested, _PARTITIONS_A_REQUEST)):
        try:
            faults |= _alter(client, dict(chunk), allow_replication_factor_change=allow_replication_factor_change)
        except UnreachableError as error:
            # raising it for a later chunk would lose the responses of the earlier ones, whose moves would seem not
            # started
            if at == 0:
                raise
            faults |= dict.fromkeys((partition for partition, _ in chunk), fault_of_error(error))
    return faults


def _alter(
    client: KafkaClient, targets: Targets, *, allow_replication_factor_change: bool
) -> dict[TopicPartition, Fault]:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=client.broker_timeout_ms,
        allow_replication_factor_change=allow_replication_factor_change,
        topics=[
            topic(
                name=name,
                partitions=[
                    topic.ReassignablePartition(partition_index=number, replicas=_ids(targets, name, number))
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(targets)
        ],
    )
    response = client.call_controller(request, _codes)
    check(response.error_code, "alter reassignments", response.error_message, permission="Alter on the cluster")
    return {
        TopicPartition(t.name, p.partition_index): fault_of(p.error_code, p.error_message)
        for t in response.responses
        for p in t.partitions
        if p.error_code != NO_ERROR
    }


def _ids(targets: Targets, topic: str, partition: int) -> list[int] | None:
    target = targets[TopicPartition(topic, partition)]
    return None if target is None else list(target)


def _codes(response: Any) -> set[int]:
    return {response.error_code, *(p.error_code for t in response.responses for p in t.partitions)}


def _factor_changes(client: KafkaClient, targets: Targets) -> dict[TopicPartition, Fault]:
    """Targets that brokers without the guard would wrongly accept: those with a different number of replicas."""
    running = list_reassignments(client)
    now = partition_status(client, {partition.topic for partition in targets})
    current = {name: status.replicas for name, status in now.items()}
    # for moves in flight, metadata lists old and new replicas together
    current |= {name: reassignment.target for name, reassignment in running.items()}
    return factor_changes(targets, current)


def factor_changes(targets: Targets, current: Mapping[TopicPartition, tuple[int, ...]]) -> dict[TopicPartition, Fault]:
    """The partitions whose number of replicas would change, and those that cannot be compared."""
    faults: dict[TopicPartition, Fault] = {}
    for name, target in targets.items():
        if target is not None and name not in current:
            faults[name] = fault_of(UNKNOWN_TOPIC_OR_PARTITION)
        elif target is not None and len(set(target)) < len(target):
            # the error of later controllers, which check this before they count
            faults[name] = fault_of(INVALID_REPLICA_ASSIGNMENT, "names a broker twice")
        elif target is not None and len(target) != len(current[name]):
            message = f"would change the replication factor: {len(current[name])} to {len(target)}"
            faults[name] = fault_of(INVALID_REPLICATION_FACTOR, message)
    return faults
