"""A lock that holds over all hosts: membership in a consumer group that admits only one.

A classic group takes a new member only if it supports a protocol that all members have in common. Every process
brings a protocol name of its own, so the first one in keeps the others out, without any topic, until it leaves or is
silent for its session. The coordinator responds with ``INCONSISTENT_GROUP_PROTOCOL`` at once.
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace
from typing import Any

from kafka.protocol.consumer import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest

from kafkabal.clusters.clock import Clock, Deadline
from kafkabal.clusters.cluster_protocol import IsGone, nobody_is_gone
from kafkabal.clusters.kafka.error_mapping import (
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NO_ERROR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    check,
)
from kafkabal.clusters.kafka.group_coordinator import (
    GroupMember,
    await_coordinator,
    call_coordinator,
    describe_group,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient, pauses
from kafkabal.config import ConnectionSettings
from kafkabal.errors import BusyError, KafkabalError, RefusedByClusterError, UnreachableError

LOCK_GROUP = "__kafkabal-lock"
_PROTOCOL_TYPE = "kafkabal"
_UNSETTLED = frozenset({REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION})
"""The group rebalances; its member joins again under its id.

So it does where the coordinator could not write in time that the group is complete: the broker that died counts as in
sync for some seconds more.
"""
_HEARTBEATS_A_SESSION = 10
"""Three times as many as Kafka advises: the fence wants one in the first half of the session, and some may get lost."""
_CLIENT_ID_END = " for "
"""Between the client id of the settings, which quotas go by, and the owner of the lock."""
# how long the end of a heartbeat is waited for on release: the next holder would wait for a whole session
_LAST_HEARTBEAT_S = 5.0
# and how long leaving may take, which keeps a command from its end
_LEAVE_S = 10.0
# how long it is tried to learn who holds the lock: a coordinator that died is replaced after 9 s
_LOOK_S = 12.0


class GroupLock:
    """Membership in the group, kept alive by a thread with connections of its own.

    Parameters
    ----------
    owner
        Who holds it, for those who are kept out.
    session_s
        After so long without a heartbeat the coordinator lets the next one in.
    abandoned
        Ids of members that locks of this process could not take off the group, shared by all of them: their
        coordinator was away. They are put out by the next lock, which would have to wait for their sessions.

    Raises
    ------
    BusyError
        If another process holds it; it names the holder.
    NotAuthorizedError
        If the principal may not read the group.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        clock: Clock,
        owner: str,
        session_s: float,
        purpose: str = "",
        is_gone: IsGone = nobody_is_gone,
        *,
        abandoned: set[str] | None = None,
    ) -> None:
        self._group = f"{LOCK_GROUP}-{purpose}" if purpose else LOCK_GROUP
        # members are described with their client ids in every state of the group, but with what they joined with only
        # in a stable one: a process that dies amid a rebalance is known by its client id alone
        named = replace(settings, client_id=f"{settings.client_id}{_CLIENT_ID_END}{owner}")
        self._client = KafkaClient(named, clock)
        self._clock = clock
        self._owner = owner
        self._session_s = session_s
        self._is_gone = is_gone
        self._abandoned = set() if abandoned is None else abandoned
        self._protocol = f"kafkabal-{uuid.uuid4().hex}"
        self._member = ""
        self._generation = -1
        self._lost = False
        self._released = threading.Event()
        self._last_heartbeat_s = clock.monotonic()
        try:
            await_coordinator(self._client, self._group, self._client.deadline())
            self._join_anew()
        except BaseException:
            self._let_go()
            self._client.close()
            raise
        self._thread = threading.Thread(target=self._keep, name="kafkabal-lock", daemon=True)
        self._thread.start()

    @property
    def scope(self) -> str:
        """Every host that reaches the same cluster."""
        return f"consumer group {self._group}"

    def seconds_since_heartbeat(self) -> float:
        """Age of the last heartbeat that the coordinator acknowledged, counted from when it was sent."""
        return self._clock.monotonic() - self._last_heartbeat_s

    def is_held(self) -> bool:
        """False once the coordinator has said so, or cannot have heard of us for a whole session."""
        return not self._lost and not self._released.is_set() and self.seconds_since_heartbeat() < self._session_s

    def release(self) -> None:
        """Leave the group, so that the next one need not wait; harmless when it is lost or released already."""
        if self._released.is_set():
            return
        self._released.set()
        self._thread.join(_LAST_HEARTBEAT_S)
        if self._lost or self._thread.is_alive():
            # it may still count as a member, such as where it could not join again in time
            self._abandoned.add(self._member)
        else:
            self._let_go()
        self._client.close()

    def _let_go(self) -> None:
        """Leave the group; where that does not get through, the next lock of this process puts the member out."""
        if not self._member:
            return
        try:
            self._leave(self._member, self._client.deadline(_LEAVE_S))
        except KafkabalError:
            self._abandoned.add(self._member)

    def _join_anew(self) -> None:
        """Join, and again where the coordinator has changed meanwhile: the new one knows no id that the former gave."""
        deadline = self._client.deadline(self._session_s)
        for pause_s in pauses():
            code = self._join(deadline)
            if code != UNKNOWN_MEMBER_ID or deadline.remaining_s < pause_s:
                break
            self._member = ""
            self._clock.sleep(pause_s)
        self._check_joined(code)

    def _join_again(self) -> None:
        """Join under the same id. A coordinator that does not know it may have let another in meanwhile."""
        self._check_joined(self._join(self._client.deadline(self._session_s)))

    def _check_joined(self, code: int) -> None:
        check(code, f"join the consumer group {self._group}", permission=f"READ on group {self._group}")

    def _join(self, deadline: Deadline) -> int:
        """Join until the group is complete; the error code of what failed."""
        for pause_s in pauses():
            code = self._join_once(deadline)
            if code not in _UNSETTLED or deadline.remaining_s < pause_s:
                return code
            self._clock.sleep(pause_s)
        raise AssertionError  # the pauses never end

    def _join_once(self, deadline: Deadline) -> int:
        """Become a member, then its leader by being alone, and complete the group; the error code of what failed."""
        response = self._ask_to_join_as_member(deadline)
        if response.error_code == INCONSISTENT_GROUP_PROTOCOL and self._evict_gone(deadline):
            response = self._ask_to_join_as_member(deadline)
        if response.error_code == INCONSISTENT_GROUP_PROTOCOL:
            raise self._busy()
        if response.error_code != NO_ERROR:
            return int(response.error_code)
        self._member, self._generation = response.member_id, response.generation_id
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self._generation,
            member_id=self._member,
            protocol_type=_PROTOCOL_TYPE,
            protocol_name=self._protocol,
            assignments=[SyncGroupRequest.SyncGroupRequestAssignment(member_id=self._member, assignment=b"")],
        )
        sent_s = self._clock.monotonic()
        code = int(self._call(request, deadline).error_code)
        if code == NO_ERROR:
            self._last_heartbeat_s = sent_s
        return code

    def _ask_to_join_as_member(self, deadline: Deadline) -> Any:
        response = self._ask_to_join(deadline)
        if response.error_code == MEMBER_ID_REQUIRED:
            self._member = response.member_id
            response = self._ask_to_join(deadline)
        return response

    def _evict_gone(self, deadline: Deadline) -> bool:
        """Leave the group on behalf of holders that have died or were this process; whether there were any.

        Leaving names the member, so that a holder which came after the one that died is never put out.
        """
        gone = [member.member_id for member in self._members() if self._is_known_gone(member)]
        for member_id in gone:
            self._leave(member_id, deadline)
        return bool(gone)

    def _is_known_gone(self, member: GroupMember) -> bool:
        return member.member_id in self._abandoned or self._is_gone(_owner_of(member))

    def _members(self) -> list[GroupMember]:
        try:
            return describe_group(self._client, self._group, self._client.deadline())
        except KafkabalError:
            return []

    def _ask_to_join(self, deadline: Deadline) -> Any:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=self._protocol, metadata=self._owner.encode())
        return self._call(
            JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=int(self._session_s * 1000),
                rebalance_timeout_ms=int(self._session_s * 1000),
                member_id=self._member,
                protocol_type=_PROTOCOL_TYPE,
                protocols=[protocol],
            ),
            deadline,
        )

    def _busy(self) -> BusyError:
        members = self._members()
        names = list(map(_name, members))
        return BusyError(
            f"cluster locked by {' and '.join(names) or 'another kafkabal'}",
            hint=f"wait for it to finish; if it crashed, its lock expires within {self._session_s:g} s",
        )

    def _keep(self) -> None:
        """Send heartbeats until the lock is released or lost; a coordinator that is away for a while is asked again."""
        while not self._lost and not self._released.wait(self._session_s / _HEARTBEATS_A_SESSION):
            try:
                self._beat()
            except UnreachableError:
                continue
            except KafkabalError:
                self._lost = True

    def _beat(self) -> None:
        request = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member)
        # counted from when it was sent: the session on the coordinator began no earlier, whatever the response took
        sent_s = self._clock.monotonic()
        # while it lasts, the session must allow for another heartbeat
        deadline = self._client.deadline(max(self._session_s / 2, self._client.settings.connect_timeout_s))
        code = self._call(request, deadline).error_code
        # a member that does not join again while its group rebalances is put out, and the lock is lost
        if code in _UNSETTLED:
            self._join_again()
        elif code == NO_ERROR:
            self._last_heartbeat_s = sent_s
        else:
            raise RefusedByClusterError(f"lost the lock: error {code}")

    def _leave(self, member_id: str, deadline: Deadline) -> None:
        member = LeaveGroupRequest.MemberIdentity(member_id=member_id)
        self._call(LeaveGroupRequest(group_id=self._group, member_id=member_id, members=[member]), deadline)

    def _call(self, request: Any, deadline: Deadline) -> Any:
        return call_coordinator(self._client, self._group, request, lambda response: (response.error_code,), deadline)


def lock_holders(client: KafkaClient) -> tuple[str, ...]:
    """Who holds the lock of a cluster now, as they named themselves.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe the group.
    """
    return tuple(map(_name, describe_group(client, LOCK_GROUP, client.deadline().at_most(_LOOK_S))))


def _name(member: GroupMember) -> str:
    return _owner_of(member) or f"{member.client_id} at {member.host}"


def _owner_of(member: GroupMember) -> str:
    """How a holder names itself; empty where it has no name, or is of an earlier version amid a rebalance."""
    _, separator, owner = member.client_id.rpartition(_CLIENT_ID_END)
    return member.metadata.decode(errors="replace") or (owner if separator else "")
