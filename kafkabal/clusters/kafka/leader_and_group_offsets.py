"""Start and end offsets of partitions, from their leaders, and committed offsets of consumer and share groups.

Consumer groups commit offsets. Members of a share group share partitions (KIP-932), and its coordinator stores the
start offset of each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.protocol.admin import ListGroupsRequest
from kafka.protocol.consumer import ListOffsetsRequest, OffsetFetchRequest

from kafkabal.chunks import chunked
from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.cluster_protocol import FirstRecord
from kafkabal.clusters.kafka.error_mapping import GROUP_AUTHORIZATION_FAILED, NO_ERROR, check
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.messages import DescribeShareGroupOffsetsRequest
from kafkabal.clusters.kafka.request_chunks import by_topic
from kafkabal.model import TopicPartition

EARLIEST, LATEST, _EARLIEST_LOCAL = -2, -1, -4
_LOCAL_VERSION = 8
"""First version of ListOffsets that reports where the log on disk begins (KIP-405, Kafka 3.4)."""
PARTITIONS_A_REQUEST = 10_000
"""A response for 10,000 partitions has some 300 kB; each partition costs the leader a lookup in memory."""
# how long a leader may search tiered storage
_REMOTE_TIMEOUT_MS = 10_000
_GROUPS_A_REQUEST = 200
"""A response lists the offset of every partition of each group, of either kind: with 1,000 partitions each, 200,000
entries, a few MB."""
_FIRST_BATCHED_VERSION = 8
"""First version of OffsetFetch with several groups per request (KIP-709, Kafka 3.0)."""
# from version 10 on topics are identified by id
_LAST_VERSION_WITH_NAMES = 9


@dataclass(frozen=True, slots=True)
class LeaderOffsets:
    """Offsets of the partitions that a broker leads, without those that it did not report."""

    start: dict[TopicPartition, int] = field(default_factory=dict)
    end: dict[TopicPartition, int] = field(default_factory=dict)
    local_start: dict[TopicPartition, int] = field(default_factory=dict)
    """Where the log on disk begins: earlier records are only in remote storage. Empty if brokers do not report it."""


def leader_offsets(
    client: KafkaClient, leader: int, partitions: Collection[TopicPartition], deadline: Deadline
) -> LeaderOffsets:
    """Ask a leader for the start and end offsets of its partitions."""
    offsets = LeaderOffsets()
    asked = [(EARLIEST, offsets.start), (LATEST, offsets.end)]
    if client.supports(ListOffsetsRequest, _LOCAL_VERSION):
        asked.append((_EARLIEST_LOCAL, offsets.local_start))
    for chunk in chunked(sorted(partitions), PARTITIONS_A_REQUEST):
        topics = list(by_topic(chunk))
        # start and end in separate requests: Kafka rejects a partition that occurs twice in one
        for timestamp, into in asked:
            request = offsets_request((name, [(n, timestamp) for n in numbers]) for name, numbers in topics)
            topics_reported = client.call_broker(leader, request, deadline).topics
            into.update((partition, found.offset) for partition, found in _reported(topics_reported))
    return offsets


def first_records_since(
    client: KafkaClient, leader: int, since_s: Mapping[TopicPartition, float], deadline: Deadline
) -> dict[TopicPartition, FirstRecord]:
    """Ask a leader for the first record of each partition at or after a time; without partitions it did not report.

    Parameters
    ----------
    since_s
        Seconds since the epoch.
    """
    found = {}
    for chunk in chunked(sorted(since_s), PARTITIONS_A_REQUEST):
        request = offsets_request(
            (topic, [(n, max(0, round(since_s[TopicPartition(topic, n)] * 1000))) for n in numbers])
            for topic, numbers in by_topic(chunk)
        )
        for partition, first in _reported(client.call_broker(leader, request, deadline).topics):
            at_s = first.timestamp / 1000 if first.offset >= 0 else -1.0
            found[partition] = FirstRecord(first.offset, at_s)
    return found


def group_offsets(client: KafkaClient, broker: int, deadline: Deadline) -> dict[str, dict[TopicPartition, int]]:
    """Committed offsets of the groups that a broker coordinates: group, partition -> offset.

    For a share group, its start offset: all records before it are done.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe the groups.
    """
    listed = client.call_broker(broker, ListGroupsRequest(), deadline)
    check(listed.error_code, f"list the consumer groups of broker {broker}")
    share = {group.group_id for group in listed.groups if _is_share_group(group)}
    others = {group.group_id for group in listed.groups} - share
    return _committed_by(client, broker, others, deadline) | share_group_offsets(client, broker, share, deadline)


def share_group_offsets(
    client: KafkaClient, broker: int, groups: Collection[str], deadline: Deadline
) -> dict[str, dict[TopicPartition, int]]:
    """Start offsets of the share groups that a broker coordinates: group, partition -> offset.

    Brokers that list share groups but cannot describe their offsets (Kafka 4.0) return none.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe the groups.
    """
    if not groups or not client.supports(DescribeShareGroupOffsetsRequest):
        return {}
    found: dict[str, dict[TopicPartition, int]] = {}
    for names in chunked(sorted(groups), _GROUPS_A_REQUEST):
        for group in client.call_broker(broker, _share_offsets_request(names), deadline).groups:
            if group.error_code == GROUP_AUTHORIZATION_FAILED:
                check(group.error_code, f"read the offsets of share group {group.group_id}")
            if group.error_code == NO_ERROR:
                found[group.group_id] = dict(_share_starts(group.topics))
    return found


def _is_share_group(listed: Any) -> bool:
    """Whether it shares partitions among its members (KIP-932); brokers before Kafka 4.0 do not report types."""
    return str(getattr(listed, "group_type", None)).lower() == "share"


def _committed_by(
    client: KafkaClient, broker: int, names: Collection[str], deadline: Deadline
) -> dict[str, dict[TopicPartition, int]]:
    found: dict[str, dict[TopicPartition, int]] = {}
    for groups in chunked(sorted(names), _GROUPS_A_REQUEST):
        for group, topics in _fetch(client, broker, groups, deadline):
            offsets = ((partition, committed.committed_offset) for partition, committed in _reported(topics))
            found[group] = {partition: offset for partition, offset in offsets if offset >= 0}
    return found


def _reported(topics: Iterable[Any]) -> Iterator[tuple[TopicPartition, Any]]:
    """Partitions in a response, each with what it says of them; those with an error are left out."""
    for topic in topics:
        for p in topic.partitions:
            if p.error_code == NO_ERROR:
                yield TopicPartition(topic.name, p.partition_index), p


def offsets_request(
    topics: Iterable[tuple[str, list[tuple[int, int]]]],
    *,
    isolation_level: int = 0,
    timeout_ms: int = _REMOTE_TIMEOUT_MS,
) -> Any:
    """Request offsets: per topic the partition numbers, each with the timestamp that encodes the query."""
    kind = ListOffsetsRequest.ListOffsetsTopic
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[
            kind(
                name=name,
                partitions=[kind.ListOffsetsPartition(partition_index=n, timestamp=at) for n, at in partitions],
            )
            for name, partitions in topics
        ],
        timeout_ms=timeout_ms,
    )


def _fetch(
    client: KafkaClient, broker: int, groups: Sequence[str], deadline: Deadline
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Topics of each group; many groups per request if the brokers support it (Kafka 3.0, KIP-709)."""
    if client.supports(OffsetFetchRequest, _FIRST_BATCHED_VERSION):
        kind = OffsetFetchRequest.OffsetFetchRequestGroup
        request = OffsetFetchRequest(
            groups=[kind(group_id=group, topics=None) for group in groups], max_version=_LAST_VERSION_WITH_NAMES
        )
        for response in client.call_broker(broker, request, deadline).groups:
            if _has_offsets(response.group_id, response.error_code):
                yield response.group_id, response.topics
        return
    for group in groups:
        request = OffsetFetchRequest(group_id=group, topics=None, max_version=_FIRST_BATCHED_VERSION - 1)
        response = client.call_broker(broker, request, deadline)
        if _has_offsets(group, response.error_code):
            yield group, response.topics


def _has_offsets(group: str, code: int) -> bool:
    """Whether a group has offsets: not if it is deleted, moving, or of a kind without any; a hidden one is an error."""
    if code == GROUP_AUTHORIZATION_FAILED:
        check(code, f"read the committed offsets of group {group}")
    return code == NO_ERROR


def _share_offsets_request(groups: Sequence[str]) -> Any:
    kind = DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
    return DescribeShareGroupOffsetsRequest(groups=[kind(group_id=group, topics=None) for group in groups])


def _share_starts(topics: Sequence[Any]) -> Iterator[tuple[TopicPartition, int]]:
    """Partitions that a group has started to read; -1 marks the others."""
    for topic in topics:
        for p in topic.partitions:
            if p.error_code == NO_ERROR and p.start_offset >= 0:
                yield TopicPartition(topic.topic_name, p.partition_index), p.start_offset
