"""The racks of consumers, if they report them to their coordinator.

Members of groups with the consumer protocol (KIP-848) send their ``client.rack`` in heartbeats; those of classic groups
send it only in fetch requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from kafka.protocol.admin import ListGroupsRequest

from kafkabal.chunks import chunked
from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.cluster_protocol import ConsumerRacks
from kafkabal.clusters.kafka.error_mapping import NO_ERROR, check
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.messages import ConsumerGroupDescribeRequest
from kafkabal.errors import KafkabalError

_GROUPS_A_REQUEST = 200
"""A response lists every member with its assignment: 200 groups of 100 members are a few MB."""


def consumer_racks(client: KafkaClient) -> ConsumerRacks:
    """The consumer racks of all groups; brokers that do not respond, or may not be asked, are left out."""
    can_describe = client.supports(ConsumerGroupDescribeRequest)

    def ask(broker: int, deadline: Deadline) -> ConsumerRacks:
        return _of_broker(client, broker, deadline, can_describe=can_describe)

    client.metadata(())
    responses = client.for_each(client.nodes().by_id, ask).values()
    found = [response for response in responses if not isinstance(response, KafkabalError)]
    stated: Counter[str] = Counter()
    for each in found:
        stated.update(each.members_by_rack)
    return ConsumerRacks(
        members_by_rack=dict(sorted(stated.items())),
        without_rack=tuple(sorted(member for each in found for member in each.without_rack)),
        classic_groups=sum(each.classic_groups for each in found),
    )


def _of_broker(client: KafkaClient, broker: int, deadline: Deadline, *, can_describe: bool) -> ConsumerRacks:
    listed = client.call_broker(broker, ListGroupsRequest(), deadline)
    check(listed.error_code, f"list the consumer groups of broker {broker}")
    # only groups with an embedded consumer protocol read; brokers before Kafka 4.0 do not report types
    kinds = {group.group_id: str(getattr(group, "group_type", None) or "classic").lower() for group in listed.groups}
    classic = [g.group_id for g in listed.groups if kinds[g.group_id] == "classic" and g.protocol_type == "consumer"]
    described = sorted(name for name, kind in kinds.items() if kind == "consumer") if can_describe else []
    members = [
        (group.group_id, member)
        for names in chunked(described, _GROUPS_A_REQUEST)
        for group in _described(client, broker, names, deadline)
        for member in group.members
    ]
    return ConsumerRacks(
        members_by_rack=Counter(member.rack_id for _, member in members if member.rack_id),
        without_rack=tuple(
            f"{group}/{member.client_id} ({member.client_host.lstrip('/')})"
            for group, member in members
            if not member.rack_id
        ),
        classic_groups=len(classic),
    )


def _described(client: KafkaClient, broker: int, names: Sequence[str], deadline: Deadline) -> Iterator[Any]:
    request = ConsumerGroupDescribeRequest(group_ids=list(names), include_authorized_operations=False)
    return (group for group in client.call_broker(broker, request, deadline).groups if group.error_code == NO_ERROR)
