"""Elections of leaders: in steps, attempted some times with growing pauses, and reported with their reasons."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.clusters import Fault, PartitionStatus
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.executor.reassign.leader_elections import elect_preferred, restore_leaders
from kafkabal.executor.run_options import RunLimits, RunOptions, Timeouts
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.model import TopicPartition
from kafkabal.plan import Placement
from tests.unit.executor.conftest import planned_partition

_ELSEWHERE = "moved by another tool, or another leader elected, since planning"


def _name(number: int) -> TopicPartition:
    return TopicPartition("t", number)


class _Cluster:
    """Partitions whose leader is elected by a request, unless it is refused, and whose replicas can be reordered."""

    def __init__(self, **state: tuple[tuple[int, ...], int]) -> None:
        self.state = {int(name[1:]): state for name, state in state.items()}
        self.refused: dict[int, str] = {}
        self.deaf: set[int] = set()
        """Partitions whose elections are accepted and change nothing."""
        self.requests: list[Any] = []
        self.stops_after: int | None = None
        self.clock = FakeClock()

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """All of them, if the topic is asked for."""
        found = self.state.items() if "t" in topics else ()
        return {_name(n): PartitionStatus(leader=leader, replicas=r, isr=r) for n, (r, leader) in found}

    def elect(self, names: Collection[TopicPartition]) -> dict[TopicPartition, Fault]:
        """Elect the first replica."""
        self.requests.append([name.partition for name in names])
        for number in (name.partition for name in names):
            if number not in self.refused and number not in self.deaf:
                replicas, _ = self.state[number]
                self.state[number] = replicas, replicas[0]
        return {name: Fault(self.refused[name.partition], "") for name in names if name.partition in self.refused}

    def reassign(self, orders: Any, *, changes_replication_factor: bool) -> None:
        """Take over the order."""
        assert not changes_replication_factor
        for name, order in orders.items():
            self.requests.append((name.partition, order))
            self.state[name.partition] = order, self.state[name.partition][1]

    def context(self, elections_per_s: int = 100) -> Any:
        """What elections need of a run."""
        return SimpleNamespace(
            cluster=self,
            effects=self,
            clock=self.clock,
            options=RunOptions(limits=RunLimits(elections_per_s=elections_per_s), timeouts=Timeouts(poll_s=2.0)),
            retries=SimpleNamespace(until_success=lambda call: call()),
            should_stop=lambda: self.stops_after is not None and len(self.requests) >= self.stops_after,
        )


def _planned(number: int, replicas: tuple[int, ...]) -> RunPartition:
    return planned_partition((1, 2), replicas, number=number)


def _previous(number: int, replicas: tuple[int, ...], leader: int) -> RunPartition:
    before = Placement(replicas=replicas, leader=leader, log_dirs=("any",) * len(replicas))
    return RunPartition(
        topic="t", partition=number, previous=before, replicas=(8, 9), log_dirs=("any",) * 2, copy_bytes=1
    )


def test_preferred_leaders() -> None:
    """Only of partitions in place with another leader; one request, and nothing to wait for."""
    cluster = _Cluster(t0=((3, 2), 2), t1=((4, 2), 4), t2=((5, 2), 2))
    planned = [_planned(0, (3, 2)), _planned(1, (4, 2)), _planned(2, (5, 2)), _planned(3, (6, 2))]
    assert elect_preferred(cluster.context(), planned) == {}
    assert cluster.requests == [[0, 2]]
    assert cluster.clock.monotonic() == 0.0
    assert elect_preferred(cluster.context(), []) == {}
    assert len(cluster.requests) == 1


def test_an_election_that_fails() -> None:
    """Five attempts, each after a longer pause; the reason is the last answer, or that another process is at work."""
    cluster = _Cluster(t0=((3, 2), 2), t1=((4, 2), 2), t2=((2, 5), 2))
    cluster.refused, cluster.deaf = {0: "PREFERRED_LEADER_NOT_AVAILABLE"}, {1}
    planned = [_planned(0, (3, 2)), _planned(1, (4, 2)), _planned(2, (5, 2))]
    failed = elect_preferred(cluster.context(), planned)
    assert failed == {
        _name(0): str(Fault("PREFERRED_LEADER_NOT_AVAILABLE", "")),
        _name(1): _ELSEWHERE,
        _name(2): _ELSEWHERE,
    }
    # 2 is on its brokers in another order, so its preferred leader is not that of the plan
    assert cluster.requests == [[0, 1]] * 5
    assert cluster.clock.monotonic() == 2.0 + 4.0 + 6.0 + 8.0


def test_elections_in_steps() -> None:
    """Elections are requested in steps of the given number, one step a second."""
    cluster = _Cluster(**{f"t{n}": ((3, 2), 2) for n in range(5)})
    assert elect_preferred(cluster.context(2), [_planned(n, (3, 2)) for n in range(5)]) == {}
    assert cluster.requests == [[0, 1], [2, 3], [4]]
    assert cluster.clock.monotonic() == 2.0


@pytest.mark.parametrize(("stops_after", "attempted"), [(0, 0), (1, 2), (2, 4)])
def test_a_stop_between_steps(stops_after: int, attempted: int) -> None:
    """What was not attempted says so; a refusal says why."""
    cluster = _Cluster(**{f"t{n}": ((3, 2), 2) for n in range(5)})
    cluster.refused, cluster.stops_after = {0: "REFUSED"}, stops_after
    failed = elect_preferred(cluster.context(2), [_planned(n, (3, 2)) for n in range(5)])
    expected = dict.fromkeys(range(attempted, 5), "election not attempted")
    # a stop before the second attempt: it is unknown yet whether the first would succeed at the next
    expected |= {0: "election not attempted"}
    assert {name.partition: why for name, why in failed.items()} == expected


def test_previous_leaders() -> None:
    """One that was not the first of its replicas is put first, elected, and the order restored; others are left."""
    cluster = _Cluster(t0=((1, 2, 3), 1), t1=((1, 2), 1), t2=((2, 1), 2), t3=((7, 8), 7), t5=((0, 2), 2))
    before = [
        _previous(0, (1, 2, 3), 3),
        _previous(1, (1, 2), 1),
        _previous(2, (1, 2), 1),
        _previous(4, (1, 2), -1),
        _previous(5, (0, 2), 0),
    ]
    assert restore_leaders(cluster.context(), before) == {}
    # 5 appears to be in order, but metadata may lag
    reordered = [(0, (3, 1, 2)), (2, (1, 2)), (5, (0, 2))]
    assert cluster.requests == [*reordered, [0, 2, 5], (0, (1, 2, 3)), (2, (1, 2)), (5, (0, 2))]
    assert cluster.state[0] == ((1, 2, 3), 3)
    assert cluster.state[2] == ((1, 2), 1)
    assert restore_leaders(cluster.context(), []) == {}


def test_previous_leaders_that_are_not_elected() -> None:
    """After five attempts; a partition that is elsewhere by now is not reordered. Orders are restored in any case."""
    cluster = _Cluster(t0=((1, 2), 1), t1=((1, 5), 1), t2=((1, 2), 1))
    cluster.refused, cluster.deaf = {0: "REFUSED"}, {2}
    before = [_previous(n, (1, 2), 2) for n in range(3)]
    assert restore_leaders(cluster.context(), before) == {
        _name(0): str(Fault("REFUSED", "")),
        _name(1): _ELSEWHERE,
        _name(2): _ELSEWHERE,
    }
    assert [r for r in cluster.requests if isinstance(r, list)] == [[0, 2]] * 5
    assert {n: replicas for n, (replicas, _) in cluster.state.items()} == {0: (1, 2), 1: (1, 5), 2: (1, 2)}
    assert cluster.clock.monotonic() == 2.0 + 4.0 + 6.0 + 8.0


@pytest.mark.parametrize("stops_after", [0, 1])
def test_a_stop_while_leaders_are_restored(stops_after: int) -> None:
    """The orders that were changed are restored all the same; what was refused before the stop says why."""
    cluster = _Cluster(t0=((1, 2), 1), t1=((1, 2), 1))
    cluster.refused, cluster.deaf, cluster.stops_after = {0: "REFUSED"}, {1}, stops_after
    failed = restore_leaders(cluster.context(), [_previous(n, (1, 2), 2) for n in range(2)])
    assert failed == {
        _name(0): "election not attempted" if not stops_after else str(Fault("REFUSED", "")),
        _name(1): "election not attempted",
    }
    assert len([r for r in cluster.requests if isinstance(r, list)]) == stops_after
    assert {n: replicas for n, (replicas, _) in cluster.state.items()} == {0: (1, 2), 1: (1, 2)}


def test_a_stop_between_steps_of_restored_leaders() -> None:
    """What the step before it has elected is not lost, and the rest was not attempted."""
    cluster = _Cluster(**{f"t{n}": ((1, 2), 1) for n in range(3)})
    cluster.stops_after = 4  # three orders and one step
    failed = restore_leaders(cluster.context(1), [_previous(n, (1, 2), 2) for n in range(3)])
    assert failed == {_name(1): "election not attempted", _name(2): "election not attempted"}
    assert cluster.state == {0: ((1, 2), 2), 1: ((1, 2), 1), 2: ((1, 2), 1)}


def test_refusals_in_several_steps() -> None:
    """Each step's are reported."""
    cluster = _Cluster(**{f"t{n}": ((3, 2), 2) for n in range(3)})
    cluster.refused = {0: "ONE", 1: "TWO"}
    failed = elect_preferred(cluster.context(1), [_planned(n, (3, 2)) for n in range(3)])
    assert failed == {_name(0): str(Fault("ONE", "")), _name(1): str(Fault("TWO", ""))}
