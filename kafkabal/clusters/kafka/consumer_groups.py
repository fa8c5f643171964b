"""Which broker coordinates a consumer group, and who is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.kafka.broker_requests import KafkaClient, pauses
from kafkabal.clusters.kafka.error_mapping import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    check,
)
from kafkabal.errors import UnreachableError

_UNSETTLED = {COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR}


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a consumer group."""

    member_id: str
    client_id: str
    host: str
    metadata: bytes
    """What it joined with; empty while the group is being settled."""


def call_coordinator(
    client: KafkaClient, group: str, request: Any, codes: Callable[[Any], Iterable[int]], deadline: Deadline
) -> Any:
    """Put a request to the coordinator of a group, waiting while one is being appointed.

    Raises
    ------
    UnreachableError
        If none is there in time.
    NotAuthorizedError
        If the principal may not describe the group.
    """
    for pause_s in pauses():
        broker, code, message = _find_coordinator(client, group, deadline)
        if code not in _UNSETTLED:
            check(code, f"find the coordinator of group {group}", message)
            response = client.call_broker(broker, request, deadline)
            if not _UNSETTLED & set(codes(response)):
                return response
        if deadline.remaining_s < pause_s:
            raise UnreachableError(f"coordinator of group {group} not available")
        client.clock.sleep(pause_s)
    raise AssertionError  # the pauses never end


def describe_group(client: KafkaClient, group: str, deadline: Deadline) -> list[GroupMember]:
    """Return the members of a group."""
    request = DescribeGroupsRequest(groups=[group])
    response = call_coordinator(client, group, request, lambda a: [g.error_code for g in a.groups], deadline)
    return [
        GroupMember(member.member_id, member.client_id, member.client_host.lstrip("/"), bytes(member.member_metadata))
        for described in response.groups
        for member in described.members
    ]


def _find_coordinator(client: KafkaClient, group: str, deadline: Deadline) -> tuple[int, int, str | None]:
    # up to version 3 the response is about one key, which is all that is needed
    response = client.call_any(FindCoordinatorRequest(key=group, key_type=0, max_version=3), deadline)
    return response.node_id, response.error_code, response.error_message
