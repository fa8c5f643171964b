"""Topics, partitions, leaders and in-sync replicas as the metadata of the cluster has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.clusters.kafka.chunks import chunked
from kafkabal.clusters.kafka.errors import TOPIC_AUTHORIZATION_FAILED
from kafkabal.clusters.protocol import PartitionStatus, TopicPartition
from kafkabal.errors import NotAuthorizedError

if TYPE_CHECKING:
    from collections.abc import Collection

    from kafkabal.clusters.kafka.client import KafkaClient

_TOPICS_A_REQUEST = 2000
_NAMED_IN_A_MESSAGE = 3


def partition_status(client: KafkaClient, topics: Collection[str]) -> dict[TopicPartition, PartitionStatus]:
    """Leader, replicas and ISR of every partition of these topics; a topic that is gone has none.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe one of them.
    """
    found: dict[TopicPartition, PartitionStatus] = {}
    for names in chunked(sorted(topics), _TOPICS_A_REQUEST):
        answer = client.metadata(names)
        refused = [topic.name for topic in answer.topics if topic.error_code == TOPIC_AUTHORIZATION_FAILED]
        if refused:
            raise topics_refused(refused)
        for topic in answer.topics:
            for p in topic.partitions:
                found[TopicPartition(topic.name, p.partition_index)] = PartitionStatus(
                    leader=p.leader_id, replicas=tuple(p.replica_nodes), isr=tuple(p.isr_nodes)
                )
    return found


def topics_refused(topics: Collection[str]) -> NotAuthorizedError:
    """The error that names topics which the principal may not describe."""
    named = ", ".join(sorted(topics)[:_NAMED_IN_A_MESSAGE])
    more = len(topics) - _NAMED_IN_A_MESSAGE
    return NotAuthorizedError(
        f"not allowed to describe {len(topics)} topic{'s' * (len(topics) > 1)}: {named}"
        + (f" and {more} more" if more > 0 else ""),
        hint="grant DESCRIBE on topic '*'; docs/permissions.md lists what each command needs",
    )
