"""``kafkabal create`` on a real cluster, checked with Kafka's own tools."""

from __future__ import annotations

import io
import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.sandbox import Sandbox

_LINE = re.compile(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\d+)\s+Replicas: ([\d,]+)")


@pytest.fixture
def create(three_brokers: Sandbox, tmp_path: Path) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """Run ``kafkabal create`` with JSON output."""

    def run(*words: str) -> tuple[int, dict[str, Any], str]:
        out, err = io.StringIO(), io.StringIO()
        context = CommandContext(
            stdout=out, stderr=err, environ={}, folders=dict.fromkeys(("config", "cache", "state"), tmp_path)
        )
        code = main(["create", *words, "--profile", str(three_brokers.profile_path), "-o", "json"], context)
        return code, json.loads(out.getvalue() or "{}"), err.getvalue()

    return run


@pytest.fixture
def topic(three_brokers: Sandbox) -> Iterator[str]:
    """An unused topic name, deleted afterwards."""
    name = f"create-{uuid.uuid4().hex[:8]}"
    yield name
    three_brokers.kafka_tool("TopicCommand", "--delete", "--if-exists", "--topic", f"{name}.*")


def described(sandbox: Sandbox, topic: str, partitions: int) -> list[list[int]]:
    """Replicas of each partition as TopicCommand prints them, once all have appeared."""
    end = time.monotonic() + 30
    while True:
        text = sandbox.kafka_tool("TopicCommand", "--describe", "--topic", topic).stdout
        found = {int(m[2]): [int(b) for b in m[4].split(",")] for m in _LINE.finditer(text) if m[1] == topic}
        if len(found) == partitions:
            return [found[partition] for partition in range(partitions)]
        assert time.monotonic() < end, text


def log_dirs(sandbox: Sandbox, topic: str) -> dict[tuple[int, int], str]:
    """(Partition, broker) -> log dir as LogDirsCommand prints it."""
    text = sandbox.kafka_tool("LogDirsCommand", "--describe", "--topic-list", topic).stdout
    brokers = json.loads(text.splitlines()[-1])["brokers"]
    return {
        (int(p["partition"].rpartition("-")[2]), b["broker"]): d["logDir"]
        for b in brokers
        for d in b["logDirs"]
        for p in d["partitions"]
    }


def test_replicas_and_log_dirs_are_those_that_were_announced(
    create: Callable[..., tuple[int, dict[str, Any], str]], three_brokers: Sandbox, topic: str
) -> None:
    """Kafka's tools report the placement of the dry run, including log dirs."""
    words = (topic, "-p", "6", "-r", "2", "--partition-bytes", "1MB", "--config", "retention.ms=86400000")
    _, announced, _ = create(*words, "--dry-run")
    code, created, err = create(*words)

    assert code == 0, err
    assert created["assignment"] == announced["assignment"]
    assert described(three_brokers, topic, 6) == [row["replicas"] for row in created["assignment"]]
    wanted = {
        (row["partition"], broker): path
        for row in created["assignment"]
        for broker, path in zip(row["replicas"], row["log_dirs"], strict=True)
    }
    assert log_dirs(three_brokers, topic) == wanted
    assert "retention.ms=86400000" in three_brokers.kafka_tool("TopicCommand", "--describe", "--topic", topic).stdout


def test_one_topic_that_the_controller_refuses_prevents_all(
    create: Callable[..., tuple[int, dict[str, Any], str]], three_brokers: Sandbox, topic: str, tmp_path: Path
) -> None:
    """One bad config in a topics file is named, and the good topic next to it is not created either."""
    file = tmp_path / "topics.yaml"
    file.write_text(
        f"topics:\n- {{name: {topic}, partitions: 1, replication_factor: 1}}\n"
        f"- {{name: {topic}-bad, partitions: 1, replication_factor: 1, configs: {{no.such.config: '1'}}}}\n"
    )
    code, _, err = create("-f", str(file))

    assert code == 1
    assert "no topic created: the controller rejects 1 of 2 topics" in err
    assert f"{topic}-bad: INVALID_CONFIG" in err
    assert topic not in three_brokers.kafka_tool("TopicCommand", "--list").stdout.split()


def test_a_file_of_topics_is_idempotent(
    create: Callable[..., tuple[int, dict[str, Any], str]], three_brokers: Sandbox, topic: str, tmp_path: Path
) -> None:
    """The second run finds the topics as requested; a changed request is reported but not applied."""
    file = tmp_path / "topics.yaml"
    line = f"topics: [{{name: {topic}, partitions: 3, replication_factor: 3, configs: {{retention.ms: '60000'}}}}]"
    file.write_text(line)
    assert create("-f", str(file))[0] == 0
    described(three_brokers, topic, 3)
    _, again, _ = create("-f", str(file))
    file.write_text(line.replace("60000", "70000"))
    _, changed, _ = create("-f", str(file))

    assert [row["state"] for row in again["topics"]] == ["exists"]
    assert [row["state"] for row in changed["topics"]] == ["differs"]
    assert changed["notes"] == [f"exists and differs, not changed: {topic}: retention.ms is 60000, expected 70000"]
