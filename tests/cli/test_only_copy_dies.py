"""A broker with the only copy of what is being moved dies: commands say so, and all is in order once it is back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from tests.cli.simulated import Simulation, simulate

_WHY = "one-0: no leader to copy from: broker 1 is dead"


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Two brokers, the first of which has the only replica of a partition."""
    rows = [TopicRow(topic="one", partitions=[partition(0, [1], 5 * GB)])]
    return simulate(InMemoryCluster.of(cluster(brokers(2), rows)), run_cli, monkeypatch)


@pytest.mark.parametrize("then", ["resume", "cancel"])
def test_a_move_that_nobody_can_cancel(simulation: Simulation, tmp_path: Path, then: str) -> None:
    """``apply`` and ``cancel`` end with 1; once the broker is back ``resume`` or another ``cancel`` ends the cancel."""
    kafka = simulation.memory.kafka
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "one", "partition": 0, "replicas": [2]}]}))
    kafka.clock.at(kafka.clock.monotonic() + 30.0, lambda: kafka.kill(1))

    applied = simulation.run("rebalance", "apply", str(plan), "--yes", "--throttle", "50MB")
    assert applied.code == 1
    assert _WHY in applied.err
    cancelled = simulation.run("rebalance", "cancel")
    assert cancelled.code == 1
    assert (
        "1 of its reassignments cannot be cancelled; still set: the throttle of one-0, still in flight" in cancelled.err
    )

    kafka.start(1)
    ended = simulation.run("rebalance", then, *(("--yes",) if then == "resume" else ()))
    assert ended.code == 0, ended.err
    assert simulation.replicas() == {"one-0": (1,)}
    assert not kafka.parts.moving
    assert not any(b.own_configs for b in kafka.parts.brokers.values())
    assert not kafka.parts.topics["one"].configs
