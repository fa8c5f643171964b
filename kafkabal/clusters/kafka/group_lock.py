"""A lock that is valid across all hosts: membership in a consumer group that admits only one member.

A classic group accepts a new member only if it supports a protocol that all members have in common. Every process
brings a unique protocol name, so the first one in keeps the others out, without any topic, until it leaves or misses
heartbeats for its session. The coordinator responds with ``INCONSISTENT_GROUP_PROTOCOL`` at once.
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import replace
from typing import Any

from kafka.protocol.consumer import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest

from kafkabal.clusters.clock import Clock, Deadline
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
    may_have_groups,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient, pauses
from kafkabal.clusters.lock_request import LockRequest, OnLockDelay, ignore_lock_delay
from kafkabal.config import ConnectionSettings
from kafkabal.errors import BusyError, KafkabalError, RefusedByClusterError, UnnamedHolderError, UnreachableError

LOCK_GROUP = "__kafkabal-lock"
_PROTOCOL_TYPE = "kafkabal"
_NOT_STORED = "Kafka cannot store the lock of the cluster yet"
_UNSETTLED = frozenset({REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION})
"""The group rebalances; its member joins again under its id.

This also happens if the coordinator could not write in time that the group is complete: a broker that died counts as in
sync for some more seconds.
"""
_WHY_NOT_STORED = (
    "'kafkabal inspect' shows brokers, or a controller, that do not respond: it cannot be stored without them"
)
_COMPLETE_WITHIN_S = 75.0
"""How long a new lock may take if its coordinator cannot store the complete group because a follower is cut off:
30 s until that one counts as lagging (``replica.lag.time.max.ms``), 15 s until the leader looks (every half of that),
and two attempts of 5 s to write (``offsets.commit.timeout.ms``) with 3 s before each to join
(``group.initial.rebalance.delay.ms``), with a margin. A session of 30 s is too short for that."""
_HEARTBEATS_A_SESSION = 10
"""Three times as many as Kafka advises: the fence needs one in the first half of the session, and some may get lost."""
_CLIENT_ID_END = " for "
"""Separates the client id of the settings, which determines quotas, from the owner of the lock."""
# how long release waits for the last heartbeat: without it the next holder would wait for a whole session
_LAST_HEARTBEAT_S = 5.0
# how long leaving may take, which delays the end of a command
_LEAVE_S = 10.0
# timeout of finding the holder of the lock: a coordinator that died is replaced after 9 s
_FIND_HOLDER_WITHIN_S = 12.0


class GroupLock:
    """Membership in the group, kept alive by a thread with its own connections.

    Parameters
    ----------
    abandoned
        Ids of members that locks of this process could not remove from the group because its coordinator was down;
        shared by all locks. The next lock removes them, as it would otherwise have to wait for their sessions.

    Raises
    ------
    BusyError
        If another process holds the lock; names the holder, unless it is an UnnamedHolderError.
    NotAuthorizedError
        If the principal may not read the group.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        clock: Clock,
        request: LockRequest,
        *,
        abandoned: set[str] | None = None,
    ) -> None:
        self._group = f"{LOCK_GROUP}-{request.purpose}" if request.purpose else LOCK_GROUP
        # members are described with their client ids in every state of the group, but with their metadata only in a
        # stable one: a process that dies during a rebalance is known by its client id alone
        named = replace(settings, client_id=f"{settings.client_id}{_CLIENT_ID_END}{request.owner}")
        self._client = KafkaClient(named, clock)
        self._clock = clock
        self._owner = request.owner
        self._session_s = request.session_s
        self._is_gone = request.is_gone
        self._abandoned = set() if abandoned is None else abandoned
        self._protocol = f"kafkabal-{uuid.uuid4().hex}"
        self._member = ""
        self._generation = -1
        self._lost = False
        self._released = threading.Event()
        self._last_heartbeat_s = clock.monotonic()
        try:
            await_coordinator(self._client, self._group, request.on_delay)
            self._join_as_new_member(request.on_delay)
        except BaseException:
            self._leave_group()
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
        """False once the coordinator has said so, or cannot have received a heartbeat for a whole session."""
        return not self._lost and not self._released.is_set() and self.seconds_since_heartbeat() < self._session_s

    def release(self) -> None:
        """Leave the group, so that the next holder need not wait; harmless if the lock is lost or already released."""
        if self._released.is_set():
            return
        self._released.set()
        self._thread.join(_LAST_HEARTBEAT_S)
        if self._lost or self._thread.is_alive():
            # it may still count as a member, for example because it could not join again in time
            self._abandoned.add(self._member)
        else:
            self._leave_group()
        self._client.close()

    def _leave_group(self) -> None:
        """Leave the group; if that does not get through, the next lock of this process removes the member."""
        if not self._member:
            return
        try:
            self._leave(self._member, self._client.deadline_of_brokers().at_most(_LEAVE_S))
        except KafkabalError:
            self._abandoned.add(self._member)

    def _join_as_new_member(self, on_delay: OnLockDelay) -> None:
        """Join, again if the coordinator has changed meanwhile: the new one does not know ids of the previous one."""
        deadline = self._client.deadline(max(_COMPLETE_WITHIN_S, self._session_s))
        for pause_s in pauses():
            code = self._join(deadline, on_delay)
            if code != UNKNOWN_MEMBER_ID or deadline.remaining_s < pause_s:
                break
            self._member = ""
            self._clock.sleep(pause_s)
        self._check_joined(code)

    def _join_again(self) -> None:
        """Join under the same id. A coordinator that does not know the id may have let another member in meanwhile."""
        self._check_joined(self._join(self._client.deadline(self._session_s)))

    def _check_joined(self, code: int) -> None:
        check(
            code,
            f"join the consumer group {self._group}",
            "the coordinator did not complete the group in time" if code in _UNSETTLED else None,
            hint=_WHY_NOT_STORED if code in _UNSETTLED else None,
            permission=f"Read on group {self._group}",
        )

    def _join(self, deadline: Deadline, on_delay: OnLockDelay = ignore_lock_delay) -> int:
        """Join until the group is complete; returns the error code."""
        for pause_s in pauses():
            # only a group that does not complete is worth more than a session: a coordinator that is down is replaced
            code = self._join_once(deadline.at_most(self._session_s))
            if code not in _UNSETTLED or deadline.remaining_s < pause_s:
                return code
            on_delay(_NOT_STORED, deadline.seconds)
            self._clock.sleep(pause_s)
        raise AssertionError  # the pauses never end

    def _join_once(self, deadline: Deadline) -> int:
        """Become a member, then its leader as the only member, and complete the group; returns the error code."""
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
        """Leave the group on behalf of dead holders and former members of this process; returns whether there were any.

        The request names the member, so that a holder that came after the dead one is never removed.
        """
        gone = [member.member_id for member in self._members() or () if self._is_known_gone(member)]
        for member_id in gone:
            self._leave(member_id, deadline)
        return bool(gone)

    def _is_known_gone(self, member: GroupMember) -> bool:
        return member.member_id in self._abandoned or self._is_gone(_owner_of(member))

    def _members(self) -> list[GroupMember] | None:
        """The members that the coordinator describes; None if it does not respond, or may not be asked."""
        try:
            return describe_group(self._client, self._group, self._client.deadline_of_brokers())
        except KafkabalError:
            return None

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
        expiry = f"if it crashed, its lock expires within {self._session_s:g} s"
        if members is not None and not members:
            # what the coordinator describes lags behind what it decides on, until its followers have it too
            return UnnamedHolderError("cluster locked by a process that Kafka does not name yet", hint=expiry)
        names = " and ".join(map(_name, members or ()))
        return BusyError(f"cluster locked by {names or 'another kafkabal'}", hint=f"wait for it to finish; {expiry}")

    def _keep(self) -> None:
        """Send heartbeats until the lock is released or lost; retry a coordinator that is down for a while."""
        while not self._lost and not self._released.wait(self._session_s / _HEARTBEATS_A_SESSION):
            try:
                self._beat()
            except UnreachableError:
                continue
            except KafkabalError:
                self._lost = True

    def _beat(self) -> None:
        request = HeartbeatRequest(group_id=self._group, generation_id=self._generation, member_id=self._member)
        # counted from sending: the coordinator did not start the session earlier, however long the response took
        sent_s = self._clock.monotonic()
        # the session must leave time for another heartbeat after this one
        deadline = self._client.deadline(max(self._session_s / 2, self._client.settings.connect_timeout_s))
        code = self._call(request, deadline).error_code
        # a member that does not join again during a rebalance is removed, and the lock is lost
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
    """The current holders of a cluster's lock, as they name themselves.

    Raises
    ------
    NotAuthorizedError
        If the principal may not describe the group.
    """
    deadline = client.deadline_of_brokers().at_most(_FIND_HOLDER_WITHIN_S)
    return tuple(map(_name, describe_group(client, LOCK_GROUP, deadline))) if may_have_groups(client, deadline) else ()


def _name(member: GroupMember) -> str:
    return _owner_of(member) or f"{member.client_id} at {member.host}"


def _owner_of(member: GroupMember) -> str:
    """The name of a holder; empty if it has none, or if it is of an earlier version during a rebalance."""
    _, separator, owner = member.client_id.rpartition(_CLIENT_ID_END)
    return member.metadata.decode(errors="replace") or (owner if separator else "")
