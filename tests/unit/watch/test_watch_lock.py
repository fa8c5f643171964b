"""Two watches at once: the second is on standby without waiting, and takes over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from time import monotonic, sleep

import pytest

from kafkabal.clusters import ClusterLock, LockRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.watch import HealLevel, WatchLock, lock_to_heal

RETRY_S = 0.01


@pytest.fixture
def memory() -> InMemoryCluster:
    """Two brokers."""
    return InMemoryCluster.of(cluster(brokers(2), [topic("t", [1, 2])]))


@pytest.fixture
def second(memory: InMemoryCluster) -> Iterator[WatchLock]:
    """The lock of a second watch, which ends with the test."""
    lock = WatchLock(memory.connect("second"), RETRY_S)
    yield lock
    lock.release()


def _await_lock(lock: WatchLock) -> None:
    end_s = monotonic() + 60.0
    while lock.why_on_standby:
        assert monotonic() < end_s
        sleep(RETRY_S)


def test_a_second_watch_is_on_standby_and_takes_over(memory: InMemoryCluster, second: WatchLock) -> None:
    """It names the first at once, and once that has ended it learns that others may have acted, then that none has."""
    first = WatchLock(memory, RETRY_S)
    first.take_or_stand_by()
    second.take_or_stand_by()
    assert second.other.startswith("kafkabal on ")
    assert second.why_not_alone() == second.why_on_standby == f"another watch heals this cluster: {second.other}"
    assert not first.why_not_alone()

    first.release()
    _await_lock(second)

    assert not second.other
    answers = [second.why_not_alone()]
    while answers[-1]:  # the thread may end a moment after it has taken the lock
        answers.append(second.why_not_alone())
    assert answers[-2:] == ["this watch has just taken over", ""]
    with pytest.raises(BusyError):
        WatchLock(memory).take()


def test_a_lock_that_was_lost_for_a_while(memory: InMemoryCluster) -> None:
    """It is taken again, but first the watch learns that another may have held it in between."""
    lock = WatchLock(memory)
    lock.take_or_stand_by()
    assert not lock.why_not_alone()
    memory.kafka.parts.locks.clear()
    assert [lock.why_not_alone(), lock.why_not_alone()] == ["this watch lost its lock for a while", ""]


def test_a_lock_that_another_watch_has_taken(memory: InMemoryCluster, second: WatchLock) -> None:
    """A watch that was suspended for too long names the one that took over, and stands by for its end."""
    second.take_or_stand_by()
    memory.kafka.parts.locks.clear()
    other = WatchLock(memory, RETRY_S)
    other.take_or_stand_by()
    assert second.why_not_alone().startswith("another watch heals this cluster: ")

    other.release()
    _await_lock(second)


def test_standby_outlives_the_broker_that_keeps_the_lock(
    memory: InMemoryCluster, second: WatchLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the coordinator is unreachable no other watch is known; the watch takes the lock once it can."""
    granted = InMemoryCluster.lock

    def unreachable(*_: object) -> ClusterLock:
        raise UnreachableError("cannot reach broker2:9092: connection refused")

    monkeypatch.setattr(InMemoryCluster, "lock", unreachable)
    second.take_or_stand_by()
    assert second.why_on_standby == "cannot take the lock of watch: cannot reach broker2:9092: connection refused"
    assert not second.other
    monkeypatch.setattr(InMemoryCluster, "lock", granted)

    _await_lock(second)


@pytest.mark.parametrize("trusted_s", [0.0, 60.0])
def test_another_watch_is_taken_to_go_on_while_a_broker_dies(
    memory: InMemoryCluster, second: WatchLock, monkeypatch: pytest.MonkeyPatch, trusted_s: float
) -> None:
    """For two minutes after it was last seen to hold the lock; later there may be no other watch to post alerts."""

    def unreachable(*_: object) -> ClusterLock:
        raise UnreachableError("cannot reach broker2:9092: connection refused")

    monkeypatch.setattr("kafkabal.watch.watch_lock._TRUSTED_S", trusted_s)
    first = WatchLock(memory)
    first.take()
    with pytest.raises(BusyError):
        second.take()
    monkeypatch.setattr(InMemoryCluster, "lock", unreachable)
    with pytest.raises(UnreachableError):
        second.take()

    assert bool(second.other) is (trusted_s > 0)
    assert second.why_on_standby.startswith("another watch heals" if trusted_s else "cannot take the lock of watch: ")


def test_a_lock_that_hangs_delays_no_observation(
    memory: InMemoryCluster, second: WatchLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long an attempt takes, the answer is there at once; what is taken after the end is released."""
    first, granted, is_asked, may_answer = WatchLock(memory), InMemoryCluster.lock, threading.Event(), threading.Event()
    first.take_or_stand_by()
    second.take_or_stand_by()

    def hangs(cluster: InMemoryCluster, request: LockRequest) -> ClusterLock:
        is_asked.set()
        assert may_answer.wait(60.0)
        return granted(cluster, request)

    monkeypatch.setattr(InMemoryCluster, "lock", hangs)
    assert is_asked.wait(60.0)
    assert second.why_not_alone().startswith("another watch heals this cluster: ")
    first.release()
    threading.Timer(0.05, may_answer.set).start()
    second.release()

    WatchLock(memory.connect("third")).take()


def test_a_lock_that_cannot_be_granted_is_not_waited_for(
    memory: InMemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One check goes without it at once, and a watch that goes on stands by."""

    def lock(_: InMemoryCluster, request: LockRequest) -> ClusterLock:
        request.on_delay("Kafka cannot store the lock of the cluster yet", 75.0)
        raise AssertionError("waited for the lock")

    monkeypatch.setattr(InMemoryCluster, "lock", lock)
    with pytest.raises(UnreachableError, match="Kafka cannot store the lock of the cluster yet"):
        WatchLock(memory).take()


@pytest.mark.parametrize(("level", "is_taken"), [(HealLevel.NONE, False), (HealLevel.LEADERS, True)])
def test_only_a_watch_that_heals_takes_the_lock(memory: InMemoryCluster, level: HealLevel, *, is_taken: bool) -> None:
    """One that only reports would keep a watch that heals on standby."""
    with ExitStack() as at_end:
        lock = lock_to_heal(memory, level, at_end)
        assert (lock is not None) is is_taken
        with nullcontext() if not is_taken else pytest.raises(BusyError):
            WatchLock(memory.connect("second")).take()
