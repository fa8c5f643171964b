"""The lock: a single member in the group, kept alive by heartbeats, lost without them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.admin import DescribeGroupsResponse
from kafka.protocol.consumer import HeartbeatResponse, JoinGroupResponse, LeaveGroupResponse, SyncGroupResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse

from kafkabal.clusters import LockRequest
from kafkabal.clusters.clock import SystemClock
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.kafka.group_lock import GroupLock
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import (
    BusyError,
    NotAuthorizedError,
    RefusedByClusterError,
    UnnamedHolderError,
    UnreachableError,
)

_SESSION_S = 3.0


class Coordinator:
    """Keeps the group on broker 1, like Kafka."""

    def __init__(self, cluster: Any) -> None:
        self.member: str | None = None
        self.protocol: str | None = None
        self.owner = b""
        self.client_id = ""
        self.is_stable = True
        self.is_described = True
        self.heartbeat_code = 0
        self.find_code = 0
        cluster.answer("FindCoordinator", lambda request: FindCoordinatorResponse(error_code=self.find_code, node_id=1))
        cluster.answer("JoinGroup", self.join)
        cluster.answer("SyncGroup", lambda request: SyncGroupResponse(error_code=0, assignment=b""))
        cluster.answer("Heartbeat", lambda request: HeartbeatResponse(error_code=self.heartbeat_code))
        cluster.answer("LeaveGroup", self.leave)
        cluster.answer("DescribeGroups", self.describe)

    def join(self, request: Any) -> Any:
        """Admit the first member, with an id of ours."""
        if not request.member_id:
            return JoinGroupResponse(error_code=79, member_id="id-of-ours", protocol_name="", leader="", members=[])
        (offered,) = request.protocols
        if self.member is not None and offered.name != self.protocol:
            return JoinGroupResponse(error_code=23, member_id="", protocol_name="", leader="", members=[])
        self.member, self.protocol, self.owner = request.member_id, offered.name, bytes(offered.metadata)
        self.client_id = request.header.client_id
        return JoinGroupResponse(
            error_code=0,
            generation_id=1,
            member_id=self.member,
            protocol_name=self.protocol,
            leader=self.member,
            members=[],
        )

    def leave(self, request: Any) -> Any:
        """Remove the member."""
        self.member = None
        return LeaveGroupResponse(error_code=0, members=[])

    def describe(self, request: Any) -> Any:
        """Describe the members; what they joined with only of a stable group."""
        group = DescribeGroupsResponse.DescribedGroup
        member = group.DescribedGroupMember(
            member_id=self.member,
            client_id=self.client_id,
            client_host="/10.0.0.1",
            member_metadata=self.owner if self.is_stable else b"",
            member_assignment=b"",
        )
        return DescribeGroupsResponse(
            groups=[
                group(
                    error_code=0,
                    group_id="g",
                    group_state="Stable" if self.is_stable else "PreparingRebalance",
                    protocol_type="kafkabal",
                    protocol_data="",
                    members=[member] if self.is_described else [],
                )
            ]
        )


@pytest.fixture
def cluster(fake_cluster: Callable[..., Any]) -> Any:
    """One broker."""
    return fake_cluster(1)


@pytest.fixture
def coordinator(cluster: Any) -> Coordinator:
    """The coordinator of the group."""
    return Coordinator(cluster)


def _take(cluster: Any, owner: str = "me") -> GroupLock:
    settings = cluster.settings(request_timeout_s=3.0)
    return GroupLock(settings, SystemClock(), LockRequest(owner, _SESSION_S))


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_lock_is_held_as_long_as_heartbeats_are_answered(cluster: Any, coordinator: Coordinator) -> None:
    """Longer than a session, with a heartbeat never older than half a session."""
    lock = _take(cluster)
    _until(lambda: len(cluster.asked("Heartbeat")) > 12)
    assert lock.is_held()
    assert lock.seconds_since_heartbeat() < _SESSION_S / 2
    lock.release()


def test_the_first_lock_of_a_cluster_waits_until_groups_have_a_coordinator(
    cluster: Any, coordinator: Coordinator
) -> None:
    """It waits for the request timeout, not just for the part of a session that finding a coordinator again takes."""
    clock = FakeClock()
    clock.at(5 * _SESSION_S, lambda: setattr(coordinator, "find_code", 0))
    coordinator.find_code = 15
    lock = GroupLock(cluster.settings(request_timeout_s=30.0), clock, LockRequest("me", _SESSION_S))
    assert lock.is_held()
    assert clock.monotonic() >= 5 * _SESSION_S
    lock.release()
    coordinator.find_code = 15
    with pytest.raises(UnreachableError, match="coordinator of group __kafkabal-lock not available"):
        GroupLock(cluster.settings(request_timeout_s=30.0), clock, LockRequest("me", _SESSION_S))


def test_the_second_one_gets_the_name_of_the_holder(cluster: Any, coordinator: Coordinator) -> None:
    """The holder's name is reported."""
    lock = _take(cluster, "alice on host-a")
    with pytest.raises(BusyError, match="cluster locked by alice on host-a"):
        _take(cluster, "bob")
    assert lock.is_held()
    lock.release()


def test_a_holder_without_a_name_is_reported_by_its_address(cluster: Any, coordinator: Coordinator) -> None:
    """While the group rebalances, only client and host are known of one that is of an earlier version."""
    lock = _take(cluster, "me")
    coordinator.is_stable, coordinator.client_id = False, "kafkabal"
    with pytest.raises(BusyError, match=r"kafkabal at 10\.0\.0\.1"):
        _take(cluster, "bob")
    lock.release()


def test_a_holder_is_known_while_its_group_rebalances(cluster: Any, coordinator: Coordinator) -> None:
    """By its client id, in which the one of the settings comes first."""
    settings = cluster.settings(request_timeout_s=3.0, client_id="tools for trainers")
    lock = GroupLock(settings, SystemClock(), LockRequest("alice on host-a", _SESSION_S))
    coordinator.is_stable = False
    assert coordinator.client_id == "tools for trainers for alice on host-a"
    with pytest.raises(BusyError, match=r"cluster locked by alice on host-a\n"):
        _take(cluster, "bob")
    lock.release()


def test_a_holder_that_died_is_put_out_while_its_group_rebalances(cluster: Any, coordinator: Coordinator) -> None:
    """A process that is killed as it joins does not block others for a session."""
    settings = cluster.settings(request_timeout_s=3.0)
    lock = GroupLock(settings, SystemClock(), LockRequest("alice on host-a", _SESSION_S))
    coordinator.is_stable = False
    GroupLock(settings, SystemClock(), LockRequest("bob", _SESSION_S, is_gone="alice on host-a".__eq__)).release()
    lock.release()


def test_a_holder_that_is_not_described_yet_has_no_name(cluster: Any, coordinator: Coordinator) -> None:
    """It has a name soon, or is gone after its session, so that it can be waited for."""
    lock = _take(cluster, "alice on host-a")
    coordinator.is_described = False
    with pytest.raises(UnnamedHolderError, match="does not name yet"):
        _take(cluster, "bob")
    lock.release()


def test_a_holder_that_cannot_be_asked_for_is_not_waited_for(
    cluster: Any, coordinator: Coordinator, silence: object
) -> None:
    """A coordinator that does not describe its groups would give no name later either."""
    lock = _take(cluster, "alice on host-a")
    cluster.answer("DescribeGroups", lambda request: silence)
    with pytest.raises(BusyError, match="cluster locked by another kafkabal") as busy:
        _take(cluster, "bob")
    assert type(busy.value) is BusyError
    lock.release()


def test_a_released_lock_is_free_at_once(cluster: Any, coordinator: Coordinator) -> None:
    """Leaving tells the coordinator, and doing it twice does no harm."""
    lock = _take(cluster)
    lock.release()
    lock.release()
    assert not lock.is_held()
    assert coordinator.member is None
    _take(cluster, "next").release()


def test_a_member_that_the_coordinator_forgot_has_lost_it(cluster: Any, coordinator: Coordinator) -> None:
    """An unknown member knows that it has lost the lock, and does not evict the next holder when it releases."""
    lock = _take(cluster)
    coordinator.heartbeat_code = 25
    _until(lambda: not lock.is_held())
    lock.release()
    assert cluster.asked("LeaveGroup") == []


def test_a_coordinator_that_does_not_respond_ends_the_lock_after_a_session(
    cluster: Any, coordinator: Coordinator, silence: object
) -> None:
    """An unconfirmed lock is not held: its age grows, and when the session expires it is lost."""
    lock = _take(cluster)
    cluster.answer("Heartbeat", lambda request: silence)
    _until(lambda: lock.seconds_since_heartbeat() > _SESSION_S / 2)
    _until(lambda: not lock.is_held())
    lock.release()


def test_a_coordinator_that_is_away_for_a_moment_does_not_end_it(cluster: Any, coordinator: Coordinator) -> None:
    """Heartbeats continue when it is back, and the lock was never lost."""
    lock = _take(cluster)
    coordinator.heartbeat_code = 16
    _until(lambda: lock.seconds_since_heartbeat() > _SESSION_S / 4)
    coordinator.heartbeat_code = 0
    _until(lambda: lock.seconds_since_heartbeat() < _SESSION_S / 4)
    assert lock.is_held()
    lock.release()


def test_a_rebalance_is_joined_again(cluster: Any, coordinator: Coordinator) -> None:
    """During a rebalance of the group its member joins again."""
    lock = _take(cluster)
    joins = len(cluster.asked("JoinGroup"))
    coordinator.heartbeat_code = 27
    _until(lambda: len(cluster.asked("JoinGroup")) > joins)
    coordinator.heartbeat_code = 0
    assert lock.is_held()
    lock.release()


def test_a_coordinator_that_does_not_know_the_id_of_the_former_one(cluster: Any, coordinator: Coordinator) -> None:
    """A group that moves to another broker between two requests is joined again."""
    codes = [25]

    def join(request: Any) -> Any:
        if request.member_id and codes:
            return JoinGroupResponse(error_code=codes.pop(), member_id="", protocol_name="", leader="", members=[])
        return coordinator.join(request)

    cluster.answer("JoinGroup", join)
    lock = _take(cluster)
    assert lock.is_held()
    lock.release()


@pytest.mark.parametrize("code", [22, 27])
def test_a_group_that_is_not_complete_in_time_is_joined_again(
    cluster: Any, coordinator: Coordinator, code: int
) -> None:
    """A coordinator that could not store the group lets its member rejoin, with the same id."""
    codes = [code, code]
    cluster.answer("SyncGroup", lambda request: SyncGroupResponse(error_code=codes.pop() if codes else 0))
    lock = _take(cluster)
    assert lock.is_held()
    assert [request.member_id for request in cluster.asked("JoinGroup")] == ["", *["id-of-ours"] * 3]
    lock.release()


def test_a_group_that_never_completes_is_left(cluster: Any, coordinator: Coordinator) -> None:
    """Rejoining is given up in the end, and the remaining membership does not delay the next holder."""
    clock = FakeClock()
    cluster.answer("SyncGroup", lambda request: SyncGroupResponse(error_code=27))
    with pytest.raises(RefusedByClusterError, match="coordinator did not complete the group in time") as refused:
        GroupLock(cluster.settings(), clock, LockRequest("me", _SESSION_S))
    assert (refused.value.hint or "").startswith(
        "'kafkabal inspect' shows brokers, or a controller, that do not respond"
    )
    assert 60.0 < clock.monotonic() <= 75.0
    assert [request.members[0].member_id for request in cluster.asked("LeaveGroup")] == ["id-of-ours"]


def test_a_follower_that_is_cut_off_is_waited_out(cluster: Any, coordinator: Coordinator) -> None:
    """The coordinator writes again once Kafka no longer counts the follower as in sync: longer than a session, told
    after every attempt."""
    clock, reported = FakeClock(), []
    cluster.answer("SyncGroup", lambda request: SyncGroupResponse(error_code=27 if clock.monotonic() < 58.0 else 0))
    request = LockRequest("me", 30.0, on_delay=lambda reason, wait_s: reported.append((reason, wait_s)))
    lock = GroupLock(cluster.settings(), clock, request)
    assert lock.is_held()
    assert set(reported) == {("Kafka cannot store the lock of the cluster yet", 75.0)}
    lock.release()


def test_a_coordinator_that_is_down_is_given_a_session(cluster: Any, coordinator: Coordinator, hang_up: object) -> None:
    """The longer wait is only for a group that does not complete."""
    clock = FakeClock()
    cluster.answer("JoinGroup", lambda request: hang_up)
    with pytest.raises(UnreachableError):
        GroupLock(cluster.settings(), clock, LockRequest("me", 30.0))
    assert clock.monotonic() <= 30.0


def test_a_heartbeat_is_the_last_that_was_acknowledged(cluster: Any, coordinator: Coordinator) -> None:
    """Rejoining without success proves nothing: the age of the last heartbeat grows, and the lock is lost."""
    lock = _take(cluster)
    cluster.answer("SyncGroup", lambda request: SyncGroupResponse(error_code=27))
    coordinator.heartbeat_code = 27
    _until(lambda: not lock.is_held())
    assert lock.seconds_since_heartbeat() > _SESSION_S / 2
    lock.release()


@pytest.mark.parametrize("code", [22, 27])
def test_a_member_that_is_to_join_again_but_is_not_known_has_lost_it(
    cluster: Any, coordinator: Coordinator, code: int
) -> None:
    """Another holder may have come and gone meanwhile: it does not join as a new member."""
    lock = _take(cluster)
    joins = len(cluster.asked("JoinGroup"))
    unknown = JoinGroupResponse(error_code=25, member_id="", protocol_name="", leader="", members=[])
    cluster.answer("JoinGroup", lambda request: unknown)
    coordinator.heartbeat_code = code
    _until(lambda: not lock.is_held())
    assert [request.member_id for request in cluster.asked("JoinGroup")[joins:]] == ["id-of-ours"]
    lock.release()


def test_a_member_that_could_not_leave_is_put_out_by_the_next_lock(cluster: Any, coordinator: Coordinator) -> None:
    """It is known by its id, whatever else is reported of it."""
    abandoned: set[str] = set()
    settings = cluster.settings(request_timeout_s=3.0)
    lock = GroupLock(settings, SystemClock(), LockRequest("me", _SESSION_S), abandoned=abandoned)
    coordinator.find_code = 30
    lock.release()
    coordinator.find_code, coordinator.owner = 0, b""
    with pytest.raises(BusyError):
        _take(cluster, "another process")
    GroupLock(settings, SystemClock(), LockRequest("me", _SESSION_S), abandoned=abandoned).release()


def test_a_member_that_could_not_join_again_is_put_out_by_the_next_lock(cluster: Any, coordinator: Coordinator) -> None:
    """Its coordinator counts it as a member until its session expires; its own process need not wait for that."""
    abandoned: set[str] = set()
    settings = cluster.settings(request_timeout_s=3.0)
    lock = GroupLock(settings, SystemClock(), LockRequest("me", _SESSION_S), abandoned=abandoned)
    coordinator.heartbeat_code = 30
    _until(lambda: not lock.is_held())
    lock.release()
    GroupLock(settings, SystemClock(), LockRequest("me", _SESSION_S), abandoned=abandoned).release()


@pytest.mark.parametrize("kind", ["JoinGroup", "SyncGroup"])
def test_a_coordinator_that_dies_is_looked_up_again(
    fake_cluster: Callable[..., Any], kind: str, hang_up: object
) -> None:
    """It remains the coordinator until the controller notices; then the new one is asked again."""
    cluster = fake_cluster(2)
    coordinator, clock = Coordinator(cluster), FakeClock()
    dying = cluster.brokers[2]
    dying.answers[kind] = lambda request: hang_up
    node_ids = [2] * 8
    cluster.answer(
        "FindCoordinator",
        lambda request: FindCoordinatorResponse(error_code=0, node_id=node_ids.pop() if node_ids else 1),
    )
    lock = GroupLock(cluster.settings(request_timeout_s=30.0), clock, LockRequest("me", 30.0))
    assert lock.is_held()
    assert coordinator.member == "id-of-ours"
    assert dying.asked(kind)
    lock.release()


def test_a_cluster_without_groups_is_not_made_to_store_them(cluster: Any, coordinator: Coordinator) -> None:
    """A request for a coordinator makes Kafka create a topic; a command that only looks must not."""
    cluster.topics = [MetadataResponse.MetadataResponseTopic(error_code=3, name="__consumer_offsets", partitions=[])]
    with KafkaCluster(cluster.settings()) as opened:
        assert opened.lock_holders() == ()
        assert opened.group_operations("__kafkabal-lock") is None
    assert not cluster.asked("FindCoordinator")


def test_no_permission_is_reported(cluster: Any, coordinator: Coordinator) -> None:
    """Without Read on the group the lock cannot be acquired, and the error names the missing permission."""
    coordinator.find_code = 30
    with pytest.raises(NotAuthorizedError, match="__kafkabal-lock"):
        _take(cluster)


def test_a_coordinator_that_never_comes_is_reported_in_time(cluster: Any, coordinator: Coordinator) -> None:
    """Waiting for one is bounded."""
    coordinator.find_code = 15
    with pytest.raises(UnreachableError, match="coordinator of group __kafkabal-lock not available") as missing:
        _take(cluster)
    assert missing.value.hint == "'kafkabal inspect' shows which brokers are dead"


@pytest.mark.parametrize(("broker_timeout_s", "longest_s"), [(2.0, 12.0), (5.0, 15.0), (None, 30.0)])
def test_a_coordinator_that_does_not_respond_is_waited_for_as_long_as_a_takeover_takes(
    fake_cluster: Callable[..., Any], hang_up: object, broker_timeout_s: float | None, longest_s: float
) -> None:
    """The wait follows the timeout of a broker, is reported, and ends before any member has joined the group."""
    cluster, clock, reported = fake_cluster(2), FakeClock(), set[tuple[str, float]]()
    cluster.answer("FindCoordinator", lambda request: FindCoordinatorResponse(error_code=0, node_id=2))
    cluster.brokers[2].answers["FindCoordinator"] = lambda request: hang_up
    settings = cluster.settings(request_timeout_s=30.0, broker_timeout_s=broker_timeout_s)
    request = LockRequest("me", 30.0, on_delay=lambda reason, wait_s: reported.add((reason, wait_s)))
    with pytest.raises(UnreachableError, match="coordinator of group __kafkabal-lock not available: ") as error:
        GroupLock(settings, clock, request)
    assert longest_s - 2.0 <= clock.monotonic() <= longest_s
    assert reported == {(error.value.message, longest_s)}
    assert not cluster.asked("JoinGroup")


def test_a_coordinator_that_is_not_there_yet_is_reported_after_a_while(cluster: Any, coordinator: Coordinator) -> None:
    """The first lock of a cluster has to wait for one for a moment, which is no news."""
    coordinator.find_code, clock, at_s = 15, FakeClock(), list[float]()
    request = LockRequest("me", 30.0, on_delay=lambda reason, wait_s: at_s.append(clock.monotonic()))
    with pytest.raises(UnreachableError):
        GroupLock(cluster.settings(request_timeout_s=30.0), clock, request)
    assert 3.0 <= at_s[0] <= 4.0


def test_a_coordinator_that_cannot_be_asked_is_reported_with_the_reason(
    cluster: Any, coordinator: Coordinator, hang_up: object
) -> None:
    """It is retried until the time is up, and then the last error is reported."""
    cluster.answer("JoinGroup", lambda request: hang_up)
    with pytest.raises(UnreachableError, match="coordinator of group __kafkabal-lock not available: "):
        GroupLock(cluster.settings(), FakeClock(), LockRequest("me", _SESSION_S))
    assert len(cluster.asked("JoinGroup")) > 1
