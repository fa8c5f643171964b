"""A broker that hung executes a request once it continues, after the process was killed and its run has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kafkabal.clusters import ConfigChange, ConfigOperation, ConfigResource, Fault, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.model import FOLLOWER_RATE, LEADER_RATE
from tests.cli.simulated import SLOWLY, Crash, Simulation, half_empty_cluster, simulate

_BY_AN_OPERATOR = "7000000"
_LISTS = 2
"""The number of the request that lists throttled replicas, after the one that sets rates."""
_END = {"resume": ("rebalance", "resume", "--yes"), "cancel": ("rebalance", "cancel")}


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """A cluster on which a run takes minutes, with its own clock."""
    return simulate(half_empty_cluster(), run_cli, monkeypatch)


def _throttles(simulation: Simulation) -> dict[str, str]:
    parts = simulation.memory.kafka.parts
    found = [b.own_configs for b in parts.brokers.values()] + [t.configs for t in parts.topics.values()]
    return {key: value for configs in found for key, value in configs.items() if "throttled" in key}


def _kill_as_it_throttles(simulation: Simulation, monkeypatch: pytest.MonkeyPatch, nth: int) -> Callable[[], None]:
    """Let a run die at its n-th request for configs, which a broker that hangs has received; the result executes it."""
    sent: list[Sequence[ConfigChange]] = []
    alter = InMemoryCluster.alter_configs

    def die(cluster: InMemoryCluster, changes: Sequence[ConfigChange]) -> Any:
        sent.append(changes)
        if len(sent) == nth:
            raise Crash
        return alter(cluster, changes)

    with monkeypatch.context() as patched:
        patched.setattr(InMemoryCluster, "alter_configs", die)
        simulation.run(*SLOWLY)
    assert len(sent) == nth
    simulation.memory.kafka.clock.sleep(60.0)

    def execute() -> None:
        assert not simulation.memory.alter_configs(sent[-1])
        assert _throttles(simulation)

    return execute


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("end", _END)
def test_the_next_rebalance_restores_it(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, end: str, nth: int
) -> None:
    """Rates (first request) and lists (second) that were set after the run was complete or cancelled are restored and
    reported."""
    execute = _kill_as_it_throttles(simulation, monkeypatch, nth)
    assert simulation.run(*_END[end]).code == 0
    assert _throttles(simulation) == {}
    execute()
    done = simulation.run(*SLOWLY)
    assert done.code == 0, done.err
    assert "set by a request that arrived after its end: " in done.err
    assert _throttles(simulation) == {}
    assert "after its end" not in simulation.run(*SLOWLY).err


@pytest.mark.parametrize("fault", ["timeout", "REQUEST_TIMED_OUT"])
def test_a_request_that_was_sent_again(simulation: Simulation, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """A run that got no response sends its request again, completes and restores everything. When the broker that hung
    executes the first one, the next rebalance restores that too."""
    sent: list[Sequence[ConfigChange]] = []
    alter = InMemoryCluster.alter_configs

    def hang_once(cluster: InMemoryCluster, changes: Sequence[ConfigChange]) -> Any:
        sent.append(changes)
        if len(sent) == _LISTS:
            return {change.resource: Fault(fault, "no response", retriable=True) for change in changes}
        return alter(cluster, changes)

    with monkeypatch.context() as patched:
        patched.setattr(InMemoryCluster, "alter_configs", hang_once)
        assert simulation.run(*SLOWLY).code == 0
    assert _throttles(simulation) == {}
    assert not simulation.memory.alter_configs(sent[_LISTS - 1])
    assert _throttles(simulation)
    done = simulation.run(*SLOWLY)
    assert (done.code, "set by a request that arrived after its end: " in done.err) == (0, True), done.err
    assert _throttles(simulation) == {}


@pytest.mark.parametrize("end", _END)
def test_repair_restores_it(simulation: Simulation, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """``repair`` restores what status names, without --remove, and the run is as complete as before."""
    execute = _kill_as_it_throttles(simulation, monkeypatch, 1)
    simulation.run(*_END[end])
    before = simulation.run("rebalance", "status").out
    execute()
    assert simulation.run("rebalance", "status").code == 3
    repaired = simulation.run("rebalance", "repair")
    assert (repaired.code, "all throttles restored" in repaired.out) == (0, True), repaired.err
    assert _throttles(simulation) == {}
    assert simulation.run("rebalance", "status").out == before


def test_rates_of_an_operator_stay(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another rate on a broker that the request named stays, and so does the run's own rate where no request is
    unanswered."""
    _kill_as_it_throttles(simulation, monkeypatch, 1)
    assert simulation.run("rebalance", "cancel").code == 0
    _set(simulation, LEADER_RATE, _BY_AN_OPERATOR)
    done = simulation.run("rebalance", "--yes", "--throttle", "10MB/s", "--override-throttle")
    assert (done.code, "after its end" in done.err) == (0, False), done.err
    assert _throttles(simulation) == {LEADER_RATE: _BY_AN_OPERATOR}
    _set(simulation, FOLLOWER_RATE, "10000000")
    assert simulation.run(*SLOWLY).code == 0
    assert _throttles(simulation) == {LEADER_RATE: _BY_AN_OPERATOR, FOLLOWER_RATE: "10000000"}


def _set(simulation: Simulation, key: str, rate: str) -> None:
    change = ConfigChange(ConfigResource(ResourceKind.BROKER, "1"), key, rate, ConfigOperation.SET)
    assert not simulation.memory.alter_configs([change])


def test_nothing_is_restored_beside_a_reassignment(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another tool moves a partition, it may have set the same throttles: they stay until it has finished."""
    execute = _kill_as_it_throttles(simulation, monkeypatch, 1)
    simulation.run("rebalance", "cancel")
    execute()
    kafka = simulation.memory.kafka
    name = next(p.name for p in kafka.parts.partitions())
    assert not simulation.memory.alter_reassignments({name: (3, 2)})
    busy = simulation.run(*SLOWLY)
    assert (busy.code, "after its end" in busy.err) == (4, False), busy.err
    assert _throttles(simulation)
