"""Topics, partitions, leaders and in-sync replicas, as the cluster's metadata reports them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Collection
from typing import Any
from uuid import UUID

from kafkabal.chunks import chunked
from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.cluster_protocol import PartitionStatus, TopicDescription
from kafkabal.clusters.kafka.error_mapping import (
    INVALID_TOPIC,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    check,
    not_authorized,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.config import is_topic_name
from kafkabal.errors import NotAuthorizedError, UnreachableError
from kafkabal.model import TopicPartition
from kafkabal.wording import counted_noun, first_of

_TOPICS_A_REQUEST = 2000
"""A metadata response for 2,000 topics takes some MB; without a limit, that of a large cluster would hold up all other
requests."""
_NAMED_IN_A_MESSAGE = 3
"""How many to name: enough to look one up; a message is one line."""


def partition_status(
    client: KafkaClient, topics: Collection[str], deadline: Deadline | None = None
) -> dict[TopicPartition, PartitionStatus]:
    """Leader, replicas and ISR of every partition of these topics; a deleted topic has none.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe one of them.
    """
    found: dict[TopicPartition, PartitionStatus] = {}
    for names in chunked(sorted(topics), _TOPICS_A_REQUEST):
        response = client.metadata(names, deadline)
        refused = [topic.name for topic in response.topics if topic.error_code == TOPIC_AUTHORIZATION_FAILED]
        if refused:
            raise topics_refused(refused)
        for topic in response.topics:
            for p in topic.partitions:
                found[TopicPartition(topic.name, p.partition_index)] = PartitionStatus(
                    leader=p.leader_id,
                    replicas=tuple(p.replica_nodes),
                    isr=tuple(p.isr_nodes),
                    topic_id=topic_id_of(topic),
                )
    return found


def describe_topic(client: KafkaClient, topic: str, deadline: Deadline) -> TopicDescription | None:
    """The description of a topic from any broker that responds; None if the topic does not exist.

    Raises
    ------
    UnreachableError
        If no broker responds in time.
    NotAuthorizedError
        If the principal may not describe it.
    """
    if not is_topic_name(topic):  # it may be one that cannot even be sent
        return None
    response = client.metadata([topic], deadline)
    if not response.brokers:
        raise UnreachableError("the responding broker has no cluster metadata yet")
    (found,) = response.topics
    if found.error_code in (UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC):
        return None
    check(found.error_code, f"describe topic {topic}", permission=f"Describe on topic {topic}")
    return TopicDescription(
        cluster_id=response.cluster_id or "",
        topic_id=_as_kafka_writes_it(found.topic_id),
        partitions=len(found.partitions),
    )


def topics_refused(topics: Collection[str]) -> NotAuthorizedError:
    """The error that names topics which the principal may not describe."""
    named = first_of(sorted(topics), _NAMED_IN_A_MESSAGE)
    return not_authorized(
        f"not authorized to describe {counted_noun(len(topics), 'topic')}: {named}", "Describe on topic '*'"
    )


def topic_id_of(topic: Any) -> str:
    """Id of a topic in kafka-python's ``MetadataResponse``; empty if the brokers report none."""
    return _as_kafka_writes_it(topic.topic_id) if topic.topic_id else ""


def _as_kafka_writes_it(topic_id: UUID | None) -> str:
    """16 bytes as 22 characters; brokers older than topic ids report all zeros."""
    packed = bytes(16) if topic_id is None else topic_id.bytes
    return urlsafe_b64encode(packed).rstrip(b"=").decode()
