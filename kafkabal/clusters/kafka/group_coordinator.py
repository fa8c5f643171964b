"""Finds the coordinator of a consumer group, and lists the group's members."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.kafka.error_mapping import (
    COORDINATOR_LOAD_IN_PROGRESS,
    COORDINATOR_NOT_AVAILABLE,
    NOT_COORDINATOR,
    check,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient, pauses
from kafkabal.errors import UnreachableError

T = TypeVar("T")

_UNSETTLED = {COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR}
_ATTEMPTS = 3
"""A hanging broker gets a third of the time: another one takes over after ``broker.session.timeout.ms``, 9 s."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a consumer group."""

    member_id: str
    client_id: str
    host: str
    metadata: bytes
    """Metadata it joined with; empty while members are still joining."""


def call_coordinator(
    client: KafkaClient, group: str, request: Any, codes: Callable[[Any], Iterable[int]], deadline: Deadline
) -> Any:
    """Send a request to the coordinator of a group, waiting while a new one takes over.

    A dead coordinator remains the coordinator until the controller notices. So if it cannot be reached, or does not
    respond, it is looked up and asked again. The request must be repeatable.

    Raises
    ------
    UnreachableError
        If no coordinator responds in time.
    NotAuthorizedError
        If the principal may not describe the group.
    """

    def answer(broker: int) -> Any | None:
        response = client.call_broker(broker, request, deadline.at_most(deadline.seconds / _ATTEMPTS))
        return None if _UNSETTLED & set(codes(response)) else response

    return _ask_coordinator(client, group, answer, deadline)


def await_coordinator(client: KafkaClient, group: str, deadline: Deadline) -> None:
    """Wait until a group has a coordinator.

    The first group of a cluster makes Kafka create the topic that stores groups, with 50 partitions by default. That
    takes longer than finding an existing coordinator: half a minute if brokers are busy.

    Raises
    ------
    UnreachableError
        If there is none in time.
    NotAuthorizedError
        If the principal may not describe the group.
    """
    _ask_coordinator(client, group, lambda broker: broker, deadline)


def describe_group(client: KafkaClient, group: str, deadline: Deadline) -> list[GroupMember]:
    """Return the members of a group."""
    request = DescribeGroupsRequest(groups=[group])
    response = call_coordinator(client, group, request, lambda a: [g.error_code for g in a.groups], deadline)
    return [
        GroupMember(member.member_id, member.client_id, member.client_host.lstrip("/"), bytes(member.member_metadata))
        for described in response.groups
        for member in described.members
    ]


def _ask_coordinator(client: KafkaClient, group: str, ask: Callable[[int], T | None], deadline: Deadline) -> T:
    """The result of ``ask`` on the coordinator, once there is one and it is ready; until then ``ask`` returns None."""
    for pause_s in pauses():
        broker, code, message = _find_coordinator(client, group, deadline)
        unreachable: UnreachableError | None = None
        if code not in _UNSETTLED:
            check(code, f"find the coordinator of group {group}", message, permission=f"Read on group {group}")
            try:
                answer = ask(broker)
            except UnreachableError as error:
                answer, unreachable = None, error
            if answer is not None:
                return answer
        if deadline.remaining_s < pause_s:
            raise _not_available(group, unreachable)
        client.clock.sleep(pause_s)
    raise AssertionError  # the pauses never end


def _not_available(group: str, reason: UnreachableError | None) -> UnreachableError:
    message = f"coordinator of group {group} not available"
    if reason is None:
        return UnreachableError(message, hint="'kafkabal inspect' shows which brokers are dead")
    return UnreachableError(f"{message}: {reason.message}", hint=reason.hint)


def _find_coordinator(client: KafkaClient, group: str, deadline: Deadline) -> tuple[int, int, str | None]:
    # up to version 3 the response is about a single key, which is all we need
    response = client.call_any(FindCoordinatorRequest(key=group, key_type=0, max_version=3), deadline)
    return response.node_id, response.error_code, response.error_message
