"""The broker with the only copy of a moving partition dies: commands say so, and all is well once it is back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import UnreachableError
from kafkabal.model import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, TopicPartition
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
def test_a_move_that_cannot_be_cancelled(simulation: Simulation, tmp_path: Path, then: str) -> None:
    """``apply`` and ``cancel`` exit with 1; once the broker is back, ``resume`` or another ``cancel`` completes."""
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


def _configs(simulation: Simulation) -> list[dict[str, str]]:
    parts = simulation.memory.kafka.parts
    return [dict(where.own_configs) for where in parts.brokers.values()] + [
        dict(topic.configs) for topic in parts.topics.values()
    ]


@pytest.fixture
def crowd(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Four brokers with an operator's throttles; the first has one partition's only copy, and one of two of others."""
    rows = [
        TopicRow(topic="one", partitions=[partition(0, [1], 5 * GB)], configs={FOLLOWER_REPLICAS: "7:4"}),
        TopicRow(topic="two", partitions=[partition(n, [1, 2], GB) for n in range(2)]),
    ]
    simulation = simulate(InMemoryCluster.of(cluster(brokers(4), rows)), run_cli, monkeypatch)
    brokers_of = simulation.memory.kafka.parts.brokers
    brokers_of[2].own_configs[FOLLOWER_RATE] = "900000000"
    brokers_of[3].own_configs[LEADER_RATE] = "800000000"
    return simulation


def _move_only_copy(simulation: Simulation, tmp_path: Path) -> None:
    """Move partition one-0 from broker 1 to 2; broker 1 dies meanwhile."""
    kafka = simulation.memory.kafka
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "one", "partition": 0, "replicas": [2]}]}))
    kafka.clock.at(kafka.clock.monotonic() + 30.0, lambda: kafka.kill(1))
    applied = simulation.run("rebalance", "apply", str(plan), "--yes", "--throttle", "50MB")
    assert (applied.code, _WHY in applied.err) == (1, True)


_CRON = ("rebalance", "--repair-only", "--dead-after", "0", "--yes", "--throttle", "60MB")
"""Faster than the run that it takes over from: the rate of that one is not an operator's to be kept."""


def test_the_rest_is_repaired_meanwhile(crowd: Simulation, tmp_path: Path) -> None:
    """A later run takes over the move that cannot complete, repairs the rest, and restores all throttles at the end."""
    kafka, before = crowd.memory.kafka, _configs(crowd)
    _move_only_copy(crowd, tmp_path)

    first = crowd.run(*_CRON)
    assert first.code == 1
    assert _WHY in first.err
    assert "resuming it first" not in first.err
    assert "cannot finish or be cancelled until dead brokers return: one-0; this run takes over" in first.err
    assert "own lower throttle" not in first.err
    assert all(1 not in crowd.replicas()[f"two-{n}"] for n in range(2))
    assert "0:2" in kafka.parts.topics["one"].configs[FOLLOWER_REPLICAS].split(",")

    second = crowd.run(*_CRON)
    assert second.code == 3
    assert "not repaired: no in-sync replica of one-0 is online" in second.err

    kafka.start(1)
    last = crowd.run(*_CRON)
    assert last.code == 0, last.err
    assert crowd.replicas()["one-0"] == (2,)
    assert _configs(crowd) == before


def test_adopted_moves_can_be_rolled_back(crowd: Simulation, tmp_path: Path) -> None:
    """Rolling back the later run also returns the partition it took over, and every original value."""
    kafka, before = crowd.memory.kafka, _configs(crowd)
    placed = crowd.replicas()
    _move_only_copy(crowd, tmp_path)
    assert crowd.run(*_CRON).code == 1
    kafka.start(1)
    back = crowd.run("rebalance", "rollback", "--yes")
    assert back.code == 0, back.err
    assert crowd.replicas() == placed
    assert _configs(crowd) == before


def test_a_cancelled_run_is_not_taken_over(crowd: Simulation, tmp_path: Path) -> None:
    """A later run does not complete the move of a run that its user cancelled."""
    _move_only_copy(crowd, tmp_path)
    assert crowd.run("rebalance", "cancel").code == 1
    later = crowd.run(*_CRON)
    assert "resuming it first" in later.err
    crowd.memory.kafka.start(1)
    assert crowd.run(*_CRON).code == 0
    assert crowd.replicas()["one-0"] == (1,)


def test_other_reassignments_still_stop_a_run(crowd: Simulation, tmp_path: Path) -> None:
    """Only reassignments that were taken over count as ours."""
    _move_only_copy(crowd, tmp_path)
    crowd.memory.kafka.add_topic(TopicRow(topic="slow", partitions=[partition(0, [2], 9000 * GB)]))
    assert not crowd.memory.connect("x").alter_reassignments({TopicPartition("slow", 0): (3,)})
    refused = crowd.run(*_CRON)
    assert refused.code == 4
    assert "1 other reassignment in flight: slow-0" in refused.err


def test_a_broker_that_returns_during_the_repair_ends_it_with_0(crowd: Simulation, tmp_path: Path) -> None:
    """What the plan could not repair but the run then did is no finding."""
    kafka = crowd.memory.kafka
    _move_only_copy(crowd, tmp_path)
    kafka.clock.at(kafka.clock.monotonic() + 20.0, lambda: kafka.start(1))
    done = crowd.run(*_CRON)
    assert done.code == 0, done.err
    assert crowd.replicas()["one-0"] == (2,)


def test_a_cluster_that_cannot_be_read_at_the_end_keeps_the_finding(
    crowd: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the cluster cannot be read at the end, what the plan could not repair is reported, with a warning."""
    kafka = crowd.memory.kafka
    _move_only_copy(crowd, tmp_path)
    kafka.clock.at(kafka.clock.monotonic() + 20.0, lambda: kafka.start(1))

    def unreachable(*_: object) -> None:
        raise UnreachableError("no broker responds")

    monkeypatch.setattr("kafkabal.cli.framework.cluster_access.read_cluster", unreachable)
    done = crowd.run(*_CRON)
    assert done.code == 3
    assert "cannot check what is still broken: no broker responds" in done.err
    assert "not repaired: no in-sync replica of one-0 is online" in done.err


def test_a_drain_reports_its_broker_although_something_stays_broken(crowd: Simulation) -> None:
    """A partition that nothing can repair does not hide whether the drained broker is safe to stop."""
    kafka = crowd.memory.kafka
    kafka.add_topic(TopicRow(topic="lost", partitions=[partition(0, [3], GB)]))
    kafka.kill(3)
    done = crowd.run("rebalance", "--drain", "1", "--dead-after", "0", "--yes", "--throttle", "none")
    assert done.code == 3
    assert "broker 1 is safe to stop" in done.err
    assert "not repaired: no in-sync replica of lost-0 is online" in done.err


def test_a_plan_file_is_judged_by_the_cluster_too(crowd: Simulation, tmp_path: Path) -> None:
    """A plan that is applied after the dead broker has returned leaves nothing broken."""
    kafka, plan = crowd.memory.kafka, str(tmp_path / "plan.json")
    kafka.kill(1)
    assert crowd.run("rebalance", "plan", "--repair-only", "--out", plan).code == 0
    kafka.start(1)
    kafka.clock.sleep(60.0)
    done = crowd.run("rebalance", "apply", plan, "--yes", "--throttle", "none", "--skip-drifted")
    assert done.code == 0, done.err
