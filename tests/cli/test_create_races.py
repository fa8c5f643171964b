"""``kafkabal create`` while others create the same topics."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import kafkabal.clusters
from kafkabal.clusters.cluster_protocol import Fault, Reading
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fault_injection import Call, FaultyCluster
from kafkabal.testing.cluster_builders import brokers, cluster, topic

VALIDATION, CREATION = 1, 2


@pytest.fixture
def memory() -> InMemoryCluster:
    """Three brokers and no topic."""
    return InMemoryCluster.of(cluster(brokers(3), []))


@pytest.fixture
def create(memory: InMemoryCluster, run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run ``kafkabal create``; others create topic ``a`` just before its request of the given number."""

    def run(*words: str, before: int, **environment: Any) -> Any:
        target = FaultyCluster(memory)

        def others(call: Call) -> None:
            if call.method == "create_topics" and call.method_number == before:
                memory.kafka.add_topic(topic("a", [1, 2], [2, 3]))

        target.before.append(others)
        monkeypatch.setattr(kafkabal.clusters, "connect", lambda *_: target)
        return run_cli("create", *words, "-b", "simulated:9092", **{"sleep": lambda _: None, **environment})

    return run


@pytest.mark.parametrize("before", [VALIDATION, CREATION])
def test_a_topic_that_appears_meanwhile_exists(create: Callable[..., Any], before: int) -> None:
    """The command that loses the race prints the same message and exit code, whenever it is."""
    lost = create("a", "-p", "2", "-r", "2", before=before)
    later = create("a", "-p", "2", "-r", "2", before=0)

    assert (lost.code, lost.err) == (2, later.err)
    assert later.err.startswith("kafkabal: error: topic a already exists\n")
    assert later.code == 2


@pytest.mark.parametrize(("before", "said"), [(VALIDATION, "topic: a.b"), (CREATION, "topics: a.b, a-b")])
@pytest.mark.parametrize("options", [[], ["--if-not-exists"]])
def test_a_topic_that_appears_meanwhile_collides(
    create: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, before: int, said: str, options: list[str]
) -> None:
    """Kafka does not distinguish a.b from a_b: the loser of this race gets the exit code of a name that is taken."""
    refused = {"a_b": Fault("INVALID_TOPIC_EXCEPTION", f"Topic 'a_b' collides with existing {said}")}
    calls = count(1)
    monkeypatch.setattr(InMemoryCluster, "create_topics", lambda *_, **__: refused if next(calls) == before else {})
    lost = create("a_b", "-p", "2", "-r", "2", *options, before=0)

    assert (lost.code, lost.out) == (2, "")
    error, hint = lost.err.splitlines()
    assert error == "kafkabal: error: topic a_b collides with a.b: Kafka treats '.' and '_' as equal in metric names"
    assert hint.startswith("kafkabal: hint: choose a name")


@pytest.mark.parametrize("before", [VALIDATION, CREATION])
def test_a_topic_that_appears_meanwhile_is_skipped_on_request(create: Callable[..., Any], before: int) -> None:
    """With --if-not-exists it is compared, as if it had existed when the cluster was read."""
    outcome = create("a", "-p", "3", "-r", "2", "--if-not-exists", before=before)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Nothing to create: all topics exist, and 1 differs.")
    assert "exists and differs, not changed: a: partitions is 2, expected 3" in outcome.out


def test_the_other_topics_of_a_file_are_created(
    create: Callable[..., Any], memory: InMemoryCluster, tmp_path: Path
) -> None:
    """The controller rejects the one that appeared, and nothing was created; the others are placed again."""
    file = tmp_path / "topics.yaml"
    file.write_text("topics: [{name: a, partitions: 2, replication_factor: 2}, {name: b, preset: training}]\n")

    outcome = create("-f", str(file), before=VALIDATION)

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("Created b: 10 partitions, 30 replicas.")
    assert {p.name.topic for p in memory.kafka.catch_up().partitions()} == {"a", "b"}


def test_topics_created_before_the_failure_are_named(create: Callable[..., Any], tmp_path: Path) -> None:
    """If one of two appears between validation and creation, the message says which of them was created."""
    file = tmp_path / "topics.yaml"
    file.write_text("topics: [{name: a, partitions: 2, replication_factor: 2}, {name: b, preset: training}]\n")

    outcome = create("-f", str(file), before=CREATION)

    assert outcome.code == 1
    assert outcome.err.splitlines() == [
        "kafkabal: error: cannot create 1 of 2 topics; created: b",
        "kafkabal: hint: run the same command again: topics that exist are compared, not changed",
        "  a: TOPIC_ALREADY_EXISTS: topic a already exists",
    ]


def test_a_topic_that_no_reading_shows_is_an_error(create: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning again ends after a minute, which it announces, though the brokers do not list the topic yet."""
    monkeypatch.setattr(InMemoryCluster, "read", lambda *_: Reading(cluster(brokers(3), [])))
    pauses: list[float] = []

    outcome = create("a", "-p", "3", "-r", "2", "--if-not-exists", before=VALIDATION, sleep=pauses.append)

    assert outcome.code == 1
    assert outcome.err.splitlines() == [
        "topic a already exists, but the brokers do not list it yet; waiting up to 1 min",
        "kafkabal: error: topic a already exists, but the brokers do not list it",
        "kafkabal: hint: run the same command again later: topics that exist are compared, not changed",
    ]
    assert 60.0 <= sum(pauses) < 70.0


@pytest.mark.parametrize("late_s", [0.2, 40.0])
def test_a_topic_that_brokers_list_late_is_waited_for(
    create: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, late_s: float
) -> None:
    """After an interrupted run that created many partitions, the next one compares them once the brokers list them."""
    read, slept = InMemoryCluster.read, [0.0]
    empty = Reading(cluster(brokers(3), []))
    monkeypatch.setattr(InMemoryCluster, "read", lambda *a: read(*a) if sum(slept) >= late_s else empty)

    outcome = create("a", "-p", "2", "-r", "2", "--if-not-exists", before=VALIDATION, sleep=slept.append)

    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "Nothing to do: all topics exist.")
    assert bool(outcome.err) is (late_s > 1.0)
