"""How far share groups have come (KIP-932): members share partitions, and the coordinator keeps where each begins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from kafkabal.chunks import chunked
from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.kafka.error_mapping import GROUP_AUTHORIZATION_FAILED, NO_ERROR, check
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.messages import DescribeShareGroupOffsetsRequest
from kafkabal.model import TopicPartition

_GROUPS_A_REQUEST = 200
"""As for consumer groups: the response lists the offset of every partition."""


def share_group_offsets(
    client: KafkaClient, broker: int, groups: Collection[str], deadline: Deadline
) -> dict[str, dict[TopicPartition, int]]:
    """The start offsets of the share groups that a broker coordinates: group, partition -> offset.

    Brokers that list share groups but cannot describe their offsets (Kafka 4.0) give none.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe the groups.
    """
    if not groups or not client.supports(DescribeShareGroupOffsetsRequest):
        return {}
    found: dict[str, dict[TopicPartition, int]] = {}
    for names in chunked(sorted(groups), _GROUPS_A_REQUEST):
        for group in client.call_broker(broker, _request(names), deadline).groups:
            if group.error_code == GROUP_AUTHORIZATION_FAILED:
                check(group.error_code, f"read how far share group {group.group_id} has come")
            if group.error_code == NO_ERROR:
                found[group.group_id] = dict(_starts(group.topics))
    return found


def _request(groups: Sequence[str]) -> Any:
    kind = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    return DescribeShareGroupOffsetsRequest(groups=[kind(group_id=group, topics=None) for group in groups])


def _starts(topics: Sequence[Any]) -> Iterator[tuple[TopicPartition, int]]:
    """Partitions that a group has begun with; -1 stands for one that it has not."""
    for topic in topics:
        for p in topic.partitions:
            if p.error_code == NO_ERROR and p.start_offset >= 0:
                yield TopicPartition(topic.topic_name, p.partition_index), p.start_offset
