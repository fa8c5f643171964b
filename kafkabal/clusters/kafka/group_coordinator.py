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
    UNKNOWN_TOPIC_OR_PARTITION,
    check,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient, pauses
from kafkabal.clusters.lock_request import OnLockDelay
from kafkabal.errors import UnreachableError

T = TypeVar("T")

_UNSETTLED = {COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR}
_GROUPS_TOPIC = "__consumer_offsets"
_ATTEMPTS = 3
"""A hanging broker gets a third of the time: another one takes over after ``broker.session.timeout.ms``, 9 s."""
_TAKEOVER_S = 12.0
"""Those 9 s and a margin: worth waiting for, however little time a single broker gets."""
_USUAL_S = 3.0
"""A group without a coordinator usually gets one within this time, the first one of a cluster included."""


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a consumer group."""

    member_id: str
    client_id: str
    host: str
    metadata: bytes
    """Metadata it joined with; empty while members are still joining."""


def may_have_groups(client: KafkaClient, deadline: Deadline) -> bool:
    """Whether a group may exist: not before the topic that stores them, which looking for a coordinator creates."""
    response = client.metadata([_GROUPS_TOPIC], deadline)
    return all(topic.error_code != UNKNOWN_TOPIC_OR_PARTITION for topic in response.topics)


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

    def ask(broker: int) -> Any | None:
        response = client.call_broker(broker, request, deadline.at_most(deadline.seconds / _ATTEMPTS))
        return None if _UNSETTLED & set(codes(response)) else response

    for pause_s in pauses():
        response, unreachable = _ask_coordinator(client, group, ask, deadline)
        if response is not None:
            return response
        if deadline.remaining_s < pause_s:
            raise _not_available(group, unreachable)
        client.clock.sleep(pause_s)
    raise AssertionError  # the pauses never end


def await_coordinator(client: KafkaClient, group: str, on_delay: OnLockDelay) -> None:
    """Wait until a group has a coordinator that responds.

    The first group of a cluster makes Kafka create the topic that stores groups, with 50 partitions by default. That
    takes longer than finding an existing coordinator: half a minute if brokers are busy. A coordinator that hangs is
    waited for until others would have been asked in its place, and at least until another one has taken over.

    Raises
    ------
    UnreachableError
        If there is none in time.
    NotAuthorizedError
        If the principal may not describe the group.
    """
    deadline = client.deadline()
    hanging = deadline.at_most(max(client.deadline_of_brokers().seconds, _TAKEOVER_S))
    of_broker_s = min(hanging.seconds / _ATTEMPTS, client.deadline_of_broker().seconds)
    begin_s = client.clock.monotonic()

    def ask(broker: int) -> Any:
        # any request would do: the broker only has to respond
        return client.call_broker(broker, _find_request(group), hanging.at_most(of_broker_s))

    for pause_s in pauses():
        response, unreachable = _ask_coordinator(client, group, ask, deadline)
        if response is not None:
            return
        limit, problem = hanging if unreachable else deadline, _not_available(group, unreachable)
        if limit.remaining_s < pause_s:
            raise problem
        if unreachable or client.clock.monotonic() - begin_s >= _USUAL_S:
            on_delay(problem.message, limit.seconds)
        client.clock.sleep(pause_s)


def describe_group(client: KafkaClient, group: str, deadline: Deadline) -> list[GroupMember]:
    """Return the members of a group."""
    request = DescribeGroupsRequest(groups=[group])
    response = call_coordinator(client, group, request, lambda a: [g.error_code for g in a.groups], deadline)
    return [
        GroupMember(member.member_id, member.client_id, member.client_host.lstrip("/"), bytes(member.member_metadata))
        for described in response.groups
        for member in described.members
    ]


def _ask_coordinator(
    client: KafkaClient, group: str, ask: Callable[[int], T | None], deadline: Deadline
) -> tuple[T | None, UnreachableError | None]:
    """The result of ``ask`` on the coordinator, None if there is none now; and why it cannot be reached."""
    found = client.call_any(_find_request(group), deadline.at_most(client.deadline_of_brokers().seconds))
    if found.error_code in _UNSETTLED:
        return None, None
    action = f"find the coordinator of group {group}"
    check(found.error_code, action, found.error_message, permission=f"Read on group {group}")
    try:
        return ask(found.node_id), None
    except UnreachableError as error:
        return None, error


def _find_request(group: str) -> Any:
    # up to version 3 the response is about a single key, which is all we need
    return FindCoordinatorRequest(key=group, key_type=0, max_version=3)


def _not_available(group: str, reason: UnreachableError | None) -> UnreachableError:
    message = f"coordinator of group {group} not available"
    if reason is None:
        return UnreachableError(message, hint="'kafkabal inspect' shows which brokers are dead")
    return UnreachableError(f"{message}: {reason.message}", hint=reason.hint)
