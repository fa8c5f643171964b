"""What the principal may do, as brokers report it (KIP-430): nothing is tried, so nothing is changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from kafka.protocol.admin import DescribeClusterRequest, DescribeGroupsRequest
from kafka.protocol.metadata import MetadataRequest

from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.kafka.error_mapping import NO_ERROR, fault_of
from kafkabal.clusters.kafka.group_coordinator import call_coordinator, may_have_groups
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.errors import NotAuthorizedError

# versions of MetadataRequest: operations are reported from 8 on, those on the cluster only up to 10
_METADATA_VERSION, _LAST_WITH_CLUSTER = 8, 10
# from version 6 on brokers report nothing for a group that does not exist yet
_GROUPS_VERSION, _LAST_GROUPS_VERSION = 3, 5


class Operation(StrEnum):
    """What an ACL can allow, by Kafka's names."""

    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    ALTER_CONFIGS = "AlterConfigs"


# codes of Kafka's AclOperation
_CODES: Mapping[int, Operation] = {
    3: Operation.READ,
    4: Operation.WRITE,
    5: Operation.CREATE,
    7: Operation.ALTER,
    8: Operation.DESCRIBE,
    10: Operation.DESCRIBE_CONFIGS,
    11: Operation.ALTER_CONFIGS,
}


def cluster_operations(client: KafkaClient) -> frozenset[Operation]:
    """Permitted operations on the cluster itself; empty for a principal that may not describe it.

    Raises
    ------
    MissingCapabilityError
        If the brokers are older than Kafka 2.3.
    """
    if client.supports(DescribeClusterRequest):
        response = client.call_any(DescribeClusterRequest(include_cluster_authorized_operations=True))
    else:
        response = client.call_any(
            MetadataRequest(
                topics=[],
                allow_auto_topic_creation=False,
                include_cluster_authorized_operations=True,
                min_version=_METADATA_VERSION,
                max_version=_LAST_WITH_CLUSTER,
            )
        )
    return _operations(response.authorized_operations)


def topic_operations(
    client: KafkaClient, topics: Collection[str] | None
) -> tuple[Mapping[str, frozenset[Operation]], Mapping[str, Fault]]:
    """Permitted operations on these topics (None: all that may be described), and the topics that failed."""
    named = None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    response = client.call_any(
        MetadataRequest(
            topics=named,
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
            min_version=_METADATA_VERSION,
        )
    )
    allowed = {t.name: _operations(t.authorized_operations) for t in response.topics if t.error_code == NO_ERROR}
    faults = {t.name: fault_of(t.error_code) for t in response.topics if t.error_code != NO_ERROR}
    return allowed, faults


def group_operations(client: KafkaClient, group: str) -> frozenset[Operation] | None:
    """Permitted operations on a consumer group, which need not exist; None if they are unknown before any does."""
    if not may_have_groups(client, client.deadline_of_brokers()):
        return None

    def codes(response: Any) -> list[int]:
        return [found.error_code for found in response.groups]

    request = DescribeGroupsRequest(
        groups=[group],
        include_authorized_operations=True,
        min_version=_GROUPS_VERSION,
        max_version=_LAST_GROUPS_VERSION,
    )
    try:
        response = call_coordinator(client, group, request, codes, client.deadline())
    except NotAuthorizedError:
        return frozenset()
    return frozenset().union(*(_operations(found.authorized_operations) for found in response.groups))


def _operations(codes: Collection[int] | None) -> frozenset[Operation]:
    """The operations of Kafka's codes that are used here; empty if the broker does not report them."""
    return frozenset(_CODES[code] for code in codes or () if code in _CODES)
