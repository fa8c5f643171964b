"""A broker that dies for good: detected, waited for, repaired by the plain command, and finally drained."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.sandbox import Sandbox, SandboxSpec, up

Run = Callable[..., tuple[int, str, str]]
_DEAD = 4


@pytest.fixture(scope="module")
def _brokers(sandbox_home: Path) -> Iterator[Sandbox]:
    with up(SandboxSpec(brokers=4, racks=1), f"repair-{os.getpid()}", home=sandbox_home) as made:
        ring = [[1 + (i + k) % 4 for k in range(3)] for i in range(8)]
        admin = AdminClient({"bootstrap.servers": made.bootstrap_servers})
        topics = [
            NewTopic("img", 8, replica_assignment=ring),
            NewTopic("pair", 4, replica_assignment=[r[:2] for r in ring[:4]]),
        ]
        for future in admin.create_topics(topics).values():
            future.result(30)
        producer = Producer({"bootstrap.servers": made.bootstrap_servers, "acks": "all"})
        for number in range(400):
            producer.produce("img", b"x" * 20_000, partition=number % 8)
        producer.flush(60)
        yield made


@pytest.fixture
def sandbox(_brokers: Sandbox) -> Sandbox:
    """Four brokers, each partition of two topics on two or three of them; those that a test has killed are back."""
    _brokers.start()
    return _brokers


@pytest.fixture
def kafkabal(sandbox: Sandbox, tmp_path: Path) -> Run:
    """Run a command against the cluster, once all replicas are in sync."""

    def run(*words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        folders = {kind: tmp_path / kind for kind in ("config", "cache", "state")}
        context = CommandContext(stdout=out, stderr=err, environ={}, folders=folders)
        return main([*words, "--profile", str(sandbox.profile_path)], context), out.getvalue(), err.getvalue()

    _until(lambda: not _facts(run)["n_under_replicated_partitions"])
    return run


def _facts(kafkabal: Run) -> dict[str, object]:
    found: dict[str, object] = json.loads(kafkabal("inspect", "-o", "json")[1])
    return found


def _replicas(kafkabal: Run) -> dict[str, str]:
    """Brokers of each partition, including internal topics."""
    rows = csv.DictReader(io.StringIO(kafkabal("inspect", "--by", "partition", "--top", "0", "-o", "csv")[1]))
    return {f"{row['topic']}-{row['partition']}": row["replicas"] for row in rows}


def _until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    end_s = monotonic() + seconds
    while not holds():
        assert monotonic() < end_s
        sleep(1)


def test_a_dead_broker_is_repaired_and_then_drained(sandbox: Sandbox, kafkabal: Run, tmp_path: Path) -> None:
    """The plain command repairs after the grace, without a warning; a later drain of the broker has nothing to do."""
    assert kafkabal("rebalance", "--yes", "--throttle", "none")[0] == 0  # makes Kafka create its internal topics
    sandbox.kill(_DEAD)
    _until(lambda: _facts(kafkabal)["n_dead_brokers"] == 1)
    code, _, err = kafkabal("rebalance", "--yes", "--dead-after", "1h", "--throttle", "50MB")
    assert (code, "may come back" in err) == (3, True), err
    assert kafkabal("inspect", "--check", "-q")[0] == 3

    done = kafkabal("rebalance", "--yes", "-q", "--dead-after", "1s", "--throttle", "50MB")
    assert done == (0, "", ""), done[2]
    # brokers report the last new in-sync replicas a moment later
    _until(lambda: _facts(kafkabal)["n_under_replicated_partitions"] == 0)
    assert _facts(kafkabal)["n_offline_partitions"] == 0

    code, _, err = kafkabal("rebalance", "--yes", "--drain", str(_DEAD), "--dead-after", "0")
    assert (code, f"broker {_DEAD} holds no replicas" in err) == (0, True), err
    assert kafkabal("rebalance", "repair", "-q")[0] == 0
    assert kafkabal("rebalance", "--yes", "-q") == (0, "", "")


@pytest.mark.sweep
@pytest.mark.parametrize("words", [("--repair-only", "--dead-after", "0"), ("--drain", str(_DEAD))])
def test_a_dead_broker_is_repaired_by_other_commands(sandbox: Sandbox, kafkabal: Run, words: tuple[str, ...]) -> None:
    """No replica of a restarted broker moves; those of a dead one are all repaired, also internal ones, unforced."""
    assert kafkabal("rebalance", "--yes", "--throttle", "none")[0] == 0
    before = _replicas(kafkabal)
    sandbox.kill(_DEAD)
    _until(lambda: _facts(kafkabal)["n_dead_brokers"] == 1)
    assert kafkabal("rebalance", "--yes", "-q", "--dead-after", "1h")[0] == 3
    sandbox.start(_DEAD)
    _until(lambda: _facts(kafkabal)["n_under_replicated_partitions"] == 0)
    assert _replicas(kafkabal) == before
    sandbox.kill(_DEAD)
    _until(lambda: _facts(kafkabal)["n_dead_brokers"] == 1)
    done = kafkabal("rebalance", "--yes", "-q", "--throttle", "50MB", *words)
    assert done[0] == 0, done[2]
    _until(lambda: _facts(kafkabal)["n_under_replicated_partitions"] == 0)


def test_a_repair_that_begins_as_a_broker_dies(sandbox: Sandbox, kafkabal: Run) -> None:
    """The broker coordinates the lock's group, or stores it: it counts as live a few seconds longer; no lock is
    lost."""
    assert kafkabal("rebalance", "--yes", "--throttle", "none")[0] == 0  # makes Kafka create its internal topics
    repair = ("rebalance", "--repair-only", "--yes", "-q", "--dead-after", "0", "--throttle", "50MB")
    for dying in (2, 3):  # one of them at least holds a replica of the group; broker 1 is the controller
        sandbox.kill(dying)
        assert kafkabal(*repair) == (0, "", "")
        assert kafkabal(*repair) == (0, "", "")
        sandbox.start(dying)
        _until(lambda: not _facts(kafkabal)["n_under_replicated_partitions"])
