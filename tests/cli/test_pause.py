"""A run that an operator has paused, and the commands that meet it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import ExitCode
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from tests.cli.simulated import Simulation, simulate

_SLOWLY = ("rebalance", "--yes", "--throttle", "10MB/s")


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Four brokers, two of them empty: a run takes minutes."""
    rows = [partition(i, [1, 2], GB) for i in range(4)]
    memory = InMemoryCluster.of(cluster(brokers(4), [TopicRow(topic="img", partitions=rows)]))
    return simulate(memory, run_cli, monkeypatch)


@pytest.mark.parametrize("words", [("--yes", "-q"), ("--dry-run",), ("rollback",)])
def test_who_meets_a_paused_run_is_told_so(simulation: Simulation, words: tuple[str, ...]) -> None:
    """Exit 75 names the paused run, when it paused, and the commands that end the pause, instead of advice to wait."""
    clock, met = simulation.memory.kafka.clock, []
    begin_s = clock.monotonic()
    clock.at(begin_s + 10, lambda: simulation.run("rebalance", "pause", "--wait", "1s"))
    clock.at(begin_s + 60, lambda: met.append(simulation.run("rebalance", *words)))
    clock.at(begin_s + 70, lambda: met.append(simulation.run("rebalance", "resume", "--yes")))
    assert simulation.run(*_SLOWLY).code == ExitCode.DONE

    busy, resumed = met
    error, hint = busy.err.splitlines()
    assert (busy.code, resumed.code) == (ExitCode.BUSY, ExitCode.DONE)
    run_id = resumed.err.split()[1]
    assert error.startswith(f"kafkabal: error: run {run_id} is paused, since 2026-01-01T00:00:13Z or earlier: cluster ")
    assert "locked by " in error
    there = "--bootstrap-server simulated:9092"
    commands = [f"'kafkabal rebalance {word} {there}'" for word in ("resume", "cancel")]
    assert hint.endswith(f"continue with {commands[0]}, or end it with {commands[1]}")


def test_a_run_that_moves_is_waited_for(simulation: Simulation) -> None:
    """As long as nothing is paused, only the holder of the lock is named."""
    clock, met = simulation.memory.kafka.clock, []
    clock.at(clock.monotonic() + 60, lambda: met.append(simulation.run("rebalance", "--yes", "-q")))
    assert simulation.run(*_SLOWLY).code == ExitCode.DONE
    assert (met[0].code, "paused" in met[0].err) == (ExitCode.BUSY, False)
    assert met[0].err.startswith("kafkabal: error: cluster locked by ")
