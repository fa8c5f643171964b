"""Commands that work on runs, with failing streams: their effect on the cluster does not depend on a reader."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.kafka_configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import brokers, cluster, partition
from tests.cli.simulated import Simulation, simulate

_NAMES = [TopicPartition("img", i) for i in range(4)]
_MOVED, _BEFORE = {(1, 3)}, {(1, 2)}


class _Gone(io.StringIO):
    """A stream that rejects all writes."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))


@pytest.fixture(params=["stdout", "both"])
def simulation(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Four partitions that another tool is moving from broker 2 to broker 3, with throttles, and failing streams."""
    rows = [partition(i, [1, 2], 10**9) for i in range(4)]
    memory = InMemoryCluster.of(cluster(brokers(4), [TopicRow(topic="img", partitions=rows)]), FakeClock())
    memory.alter_reassignments(dict.fromkeys(_NAMES, (1, 3)))
    parts = memory.kafka.parts
    for broker in (1, 2, 3):
        parts.brokers[broker].own_configs |= {LEADER_RATE: "200000000", FOLLOWER_RATE: "200000000"}
    parts.topics["img"].configs |= {LEADER_REPLICAS: "0:1,1:1,2:1,3:1", FOLLOWER_REPLICAS: "0:3,1:3,2:3,3:3"}

    def run(*words: str, **world: Any) -> int:
        streams = {name: io.StringIO() for name in ("stdout", "stderr")}
        streams |= {name: _Gone() for name in streams if request.param in (name, "both")}
        folders = {kind: tmp_path / kind for kind in ("config", "cache", "state")}
        return main(words, CommandContext(stdin=io.StringIO(), environ={}, folders=folders, **streams, **world))

    return simulate(memory, run, monkeypatch)


def _throttles(simulation: Simulation) -> dict[str, str]:
    parts = simulation.memory.kafka.parts
    found: dict[str, str] = {}
    for configs in (*(b.own_configs for b in parts.brokers.values()), parts.topics["img"].configs):
        found |= {key: value for key, value in configs.items() if "throttled" in key}
    return found


@pytest.mark.parametrize(("words", "replicas"), [(("--finish",), _MOVED), (("--cancel",), _BEFORE)])
@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
def test_adopt(simulation: Simulation, words: tuple[str, ...], replicas: Any, form: str) -> None:
    """Reassignments of another tool are taken over and completed, and its throttles removed."""
    code = simulation.run("rebalance", "adopt", *words, "--yes", "--remove-throttles", "-o", form)
    assert (set(simulation.replicas().values()), code) == (replicas, 0)
    assert _throttles(simulation) == {}


def test_rollback(simulation: Simulation) -> None:
    """A run is rolled back."""
    assert simulation.run("rebalance", "adopt", "--finish", "--yes") == 0
    (run_id,) = {key.split("/")[1] for key in simulation.memory.kafka.parts.records if key.startswith("run/")}
    assert simulation.run("rebalance", "rollback", run_id, "--yes") == 0
    assert set(simulation.replicas().values()) == _BEFORE


def test_throttles_of_unknown_origin(simulation: Simulation) -> None:
    """Throttles of unknown origin are removed although the list of them cannot be printed."""
    simulation.memory.kafka.clock.sleep(3600.0)
    assert simulation.run("rebalance", "repair", "--remove", "--yes") == 0
    assert _throttles(simulation) == {}


@pytest.mark.parametrize("word", ["resume", "cancel", "repair"])
def test_a_run_that_was_stopped(simulation: Simulation, word: str) -> None:
    """A stopped run is resumed, or its end is confirmed."""
    assert (
        simulation.run("rebalance", "adopt", "--finish", "--yes", "--max-runtime", "2s", "--on-interrupt", "detach")
        == 3
    )
    code = simulation.run("rebalance", word, *(() if word == "cancel" else ("--yes",)))
    expected = {"resume": _MOVED, "cancel": _BEFORE, "repair": _MOVED}
    simulation.memory.kafka.clock.sleep(3600.0)
    assert set(simulation.replicas().values()) == expected[word], code
