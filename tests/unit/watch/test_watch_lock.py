"""Two watches at once: the second waits, says so once, and takes over."""

from __future__ import annotations

import pytest

from kafkabal.clusters import ClusterLock, LockRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.executor import StopReason, StopSwitch
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.watch import WatchLock


@pytest.fixture
def memory() -> InMemoryCluster:
    """Two brokers."""
    return InMemoryCluster.of(cluster(brokers(2), [topic("t", [1, 2])]))


def test_a_second_watch_waits_and_takes_over(memory: InMemoryCluster) -> None:
    """The second watch names the first once and starts when it has ended; the first cannot start again meanwhile."""
    first, naps, said = WatchLock(memory, lambda _: None), list[float](), list[str]()
    first.take()

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if sum(naps) > 60.0:
            first.release()

    second = WatchLock(memory.connect("second"), nap)
    assert second.wait(StopSwitch(), said.append)
    assert len(said) == 1
    assert said[0].startswith("another watch runs on this cluster: ")
    assert 60.0 < sum(naps) <= 70.0
    assert second.confirm()
    assert not first.confirm()
    assert first.other
    with pytest.raises(BusyError):
        first.take()


def test_a_lock_that_was_lost_for_a_while(memory: InMemoryCluster) -> None:
    """It is taken again, but first the watch learns that another may have held it in between."""
    lock = WatchLock(memory, lambda _: None)
    lock.take()
    assert lock.confirm()
    lock.release()
    assert [lock.confirm(), lock.confirm()] == [False, True]


def test_a_watch_that_waits_outlives_the_broker_that_keeps_the_lock(
    memory: InMemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the coordinator is unreachable the second watch keeps trying, reports it once, and takes over later."""
    said, naps = list[str](), list[float]()
    take = WatchLock.take

    def unreachable(_: WatchLock) -> None:
        raise UnreachableError("cannot reach broker2:9092: connection refused")

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if sum(naps) > 12.0:
            monkeypatch.setattr(WatchLock, "take", take)

    monkeypatch.setattr(WatchLock, "take", unreachable)
    lock = WatchLock(memory, nap)
    assert lock.wait(StopSwitch(), said.append)
    assert lock.confirm()
    assert said == ["cannot take the lock of watch: cannot reach broker2:9092: connection refused; retrying"]


def test_a_lock_that_cannot_be_granted_is_not_waited_for(
    memory: InMemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One check goes without it at once, and a watch on standby waits where a signal takes effect."""

    def lock(_: InMemoryCluster, request: LockRequest) -> ClusterLock:
        request.on_delay("Kafka cannot store the lock of the cluster yet", 75.0)
        raise AssertionError("waited for the lock")

    monkeypatch.setattr(InMemoryCluster, "lock", lock)
    with pytest.raises(UnreachableError, match="Kafka cannot store the lock of the cluster yet"):
        WatchLock(memory, lambda _: None).take()


def test_a_watch_that_waits_is_stopped_by_a_signal(memory: InMemoryCluster) -> None:
    """A signal ends a waiting watch within half a second, without any observation."""
    WatchLock(memory, lambda _: None).take()
    stop = StopSwitch()

    def nap(_: float) -> None:
        stop.request(StopReason.TERMINATE)

    assert not WatchLock(memory.connect("second"), nap).wait(stop, lambda _: None)


def test_a_watch_does_not_wait_for_itself(memory: InMemoryCluster) -> None:
    """A lock that the end of the last watch of this process has taken again is that of the next one."""
    lock, said = WatchLock(memory, lambda _: None), list[str]()
    lock.take()
    lock.release()
    assert not lock.confirm()

    stop = StopSwitch()

    def on_wait(reason: str) -> None:
        said.append(reason)
        stop.request(StopReason.TERMINATE)

    assert lock.wait(stop, on_wait)
    assert said == []
