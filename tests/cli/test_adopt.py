"""Taking over reassignments of another tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.kafka_configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import brokers, cluster, partition
from tests.cli.simulated import Simulation, simulate

_MB = 10**6
_NAMES = [TopicPartition("img", i) for i in range(4)]


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Four partitions that another tool is moving from broker 2 to broker 3, slowly."""
    rows = [partition(i, [1, 2], 1000 * _MB) for i in range(4)]
    memory = InMemoryCluster.of(cluster(brokers(4), [TopicRow(topic="img", partitions=rows)]))
    memory.alter_reassignments(dict.fromkeys(_NAMES, (1, 3)))
    return simulate(memory, run_cli, monkeypatch)


def _configs(simulation: Simulation) -> list[dict[str, str]]:
    parts = simulation.memory.kafka.parts
    return [dict(b.own_configs) for b in parts.brokers.values()] + [dict(t.configs) for t in parts.topics.values()]


def test_they_are_listed_and_left_alone(simulation: Simulation) -> None:
    """Without an option that says what to do, nothing changes."""
    found = json.loads(simulation.run("rebalance", "adopt", "-o", "json").out)
    assert [(r["previous_replicas"], r["replicas"]) for r in found["reassignments"]] == [([1, 2], [1, 3])] * 4
    assert len(simulation.memory.reassignments()) == 4
    assert not list(simulation.memory.kafka.parts.records)


def test_they_are_finished_under_a_throttle(simulation: Simulation) -> None:
    """The reassignments end at the other tool's targets, the throttle is restored, and history lists the run."""
    before = _configs(simulation)
    done = simulation.run("rebalance", "adopt", "--finish", "--yes", "--throttle", "200MB")
    assert done.code == 0, done.err
    assert set(simulation.replicas().values()) == {(1, 3)}
    assert _configs(simulation) == before
    assert not simulation.memory.reassignments()
    (run,) = json.loads(simulation.run("rebalance", "history", "-o", "json").out)["runs"]
    assert (run["reason"], run["outcome"]) == ("adopted from another tool", "complete")


@pytest.mark.parametrize(("words", "rate"), [((), "200 MB/s"), (("--throttle", "50MB"), "50 MB/s")], ids=str)
def test_they_are_rolled_back_at_a_throttle(simulation: Simulation, words: tuple[str, ...], rate: str) -> None:
    """A rollback runs at the run's throttle, or at the one given."""
    assert simulation.run("rebalance", "adopt", "--finish", "--yes", "--throttle", "200MB").code == 0
    (run,) = json.loads(simulation.run("rebalance", "history", "-o", "json").out)["runs"]
    back = simulation.run("rebalance", "rollback", run["run_id"], "--yes", *words)
    assert back.code == 0, back.err
    assert f"at {rate} per broker" in back.err
    assert set(simulation.replicas().values()) == {(1, 2)}


def test_they_are_cancelled(simulation: Simulation) -> None:
    """Every partition is back where it was before the other tool started."""
    done = simulation.run("rebalance", "adopt", "--cancel", "--yes")
    assert not simulation.memory.reassignments(), done.err
    assert set(simulation.replicas().values()) == {(1, 2)}
    assert simulation.run("rebalance", "adopt", "--cancel", "--yes").code == 0


@pytest.mark.parametrize(("word", "replicas"), [("--finish", (1, 3)), ("--cancel", (1, 2))])
def test_throttles_of_the_other_tool_are_named(simulation: Simulation, word: str, replicas: tuple[int, ...]) -> None:
    """Throttles that the other tool will no longer remove are named with a command that removes all of them."""
    before = _configs(simulation)
    _set_throttles(simulation)
    done = simulation.run("rebalance", "adopt", word, "--yes")
    assert done.code == 0, done.err
    assert set(simulation.replicas().values()) == {replicas}
    assert "8 throttles that kafkabal did not set remain on broker 1, broker 2, broker 3, topic img" in done.err
    assert "'kafkabal rebalance repair --remove --bootstrap-server simulated:9092' deletes them" in done.err
    assert simulation.run("rebalance", "repair", "--remove", "--yes").code == 0
    assert _configs(simulation) == before


@pytest.fixture
def throttled(simulation: Simulation) -> Simulation:
    """The other tool has set throttles, and an operator has set one on an unrelated broker."""
    _set_throttles(simulation)
    return simulation


def _set_throttles(simulation: Simulation) -> None:
    parts = simulation.memory.kafka.parts
    for broker in (1, 2, 3):
        parts.brokers[broker].own_configs |= {LEADER_RATE: "200000000", FOLLOWER_RATE: "200000000"}
    parts.brokers[4].own_configs[LEADER_RATE] = "300000000"
    parts.topics["img"].configs |= {LEADER_REPLICAS: "0:1,1:1,2:1,3:1", FOLLOWER_REPLICAS: "0:3,1:3,2:3,3:3"}


_OPERATORS = [{}, {}, {}, {LEADER_RATE: "300000000"}, {}]
"""Throttles of brokers 1 to 4 and the topic once those of the other tool are gone."""


@pytest.mark.parametrize("word", ["--finish", "--cancel"])
def test_throttles_of_the_other_tool_are_removed(throttled: Simulation, word: str) -> None:
    """All of the tool's throttles are gone in the end, also after a rollback; the operator's stays."""
    done = throttled.run("rebalance", "adopt", word, "--yes", "--remove-throttles", "--throttle", "300MB")
    assert (done.code, "remain" in done.err) == (0, False), done.err
    assert _configs(throttled) == _OPERATORS
    (run,) = json.loads(throttled.run("rebalance", "history", "-o", "json").out)["runs"]
    back = throttled.run("rebalance", "rollback", run["run_id"], "--yes")
    assert back.code == 0, back.err
    assert set(throttled.replicas().values()) == {(1, 2)}
    assert _configs(throttled) == _OPERATORS


def test_throttles_that_are_set_meanwhile_are_not_removed(throttled: Simulation) -> None:
    """A rate that an operator sets during the run does not belong to the other tool: it stays, and is named."""
    clock, parts = throttled.memory.kafka.clock, throttled.memory.kafka.parts
    clock.at(clock.monotonic() + 2.0, lambda: parts.brokers[2].own_configs.update({LEADER_RATE: "150000000"}))
    done = throttled.run("rebalance", "adopt", "--finish", "--yes", "--remove-throttles")
    assert done.code == 0, done.err
    assert _configs(throttled) == [{}, {LEADER_RATE: "150000000"}, *_OPERATORS[2:]]
    assert "1 throttle that kafkabal did not set" in done.err


@pytest.mark.parametrize("answers", ["y\ny\n", "y\nn\n"])
def test_a_terminal_is_asked_whether_to_remove_throttles(throttled: Simulation, answers: str) -> None:
    """The second prompt counts the other tool's throttles; answering no leaves them in place."""
    done = throttled.run("rebalance", "adopt", "--cancel", stdin=answers)
    assert done.code == 0, done.err
    assert "also delete 8 throttles that kafkabal did not set on broker 1, broker 2, broker 3, topic img?" in done.err
    assert (_configs(throttled) == _OPERATORS) is (answers == "y\ny\n")


def test_without_a_terminal_yes_is_required(simulation: Simulation) -> None:
    """Without a terminal nothing is taken over without --yes."""
    assert simulation.run("rebalance", "adopt", "--cancel").code == 2
    assert simulation.run("rebalance", "adopt", "--cancel", "--finish").code == 2
    assert len(simulation.memory.reassignments()) == 4


def test_one_that_was_interrupted_is_listed_as_a_run(simulation: Simulation) -> None:
    """adopt names the open run, resume reports what is left, and status reports no problem in the end."""
    clock = simulation.memory.kafka.clock
    began_s = clock.monotonic()
    _set_throttles(simulation)
    words = ("--finish", "--yes", "--throttle", "20MB", "--remove-throttles")
    with simulation.crashing_when(lambda: clock.monotonic() > began_s + 4.0):
        adopting = simulation.run("rebalance", "adopt", *words)
    assert adopting.code == 1
    assert "take them over with" not in adopting.out
    assert simulation.memory.reassignments()  # the session of its lock has expired, but the copies go on
    listed = simulation.run("rebalance", "adopt")
    assert "no reassignment of another tool in flight" in listed.out
    status = "kafkabal rebalance status --bootstrap-server simulated:9092"
    assert f", which is open, are not listed: '{status}' shows them" in listed.out
    assert "0 B" not in listed.out
    asked = simulation.run("rebalance", "resume")
    assert "img-0: 1,2 to 1,3, " in asked.err
    assert "0 B between brokers" not in asked.err
    assert simulation.run("rebalance", "resume", "--yes").code == 0
    assert simulation.run("rebalance", "status").code == 0
    assert _configs(simulation) == _OPERATORS  # as the interrupted run was asked to


@pytest.mark.parametrize("words", [("--finish", "--yes"), ("--cancel", "--yes")])
def test_a_run_that_takes_them_over_is_reported_as_a_run(simulation: Simulation, words: tuple[str, ...]) -> None:
    """With -o json the document has one shape, whether or not there was a reassignment; -o jsonl has only JSON."""
    for has_run in (True, False):
        done = simulation.run("rebalance", "adopt", *words, "-o", "json")
        document = json.loads(done.out)
        assert (done.code, document["run_id"] is not None) == (0, has_run)
        assert document["kafkabal"]["command"] == f"rebalance adopt {words[0]}"
    lines = simulation.run("rebalance", "adopt", *words, "-o", "jsonl").out.splitlines()
    documents = [json.loads(line) for line in lines]
    assert documents[0]["kafkabal"]["command"] == f"rebalance adopt {words[0]}"


def test_a_list_has_no_events(simulation: Simulation) -> None:
    """It was a table among JSON Lines."""
    refused = simulation.run("rebalance", "adopt", "-o", "jsonl")
    assert (refused.code, refused.out) == (2, "")
    assert "-o jsonl requires --finish or --cancel" in refused.err
