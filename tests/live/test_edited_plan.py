"""A plan file that was edited by hand."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.sandbox import Sandbox, WaitLimit
from tests.live.topic_deletion import delete_topic


@pytest.fixture
def pair(three_brokers: Sandbox) -> Iterator[str]:
    """A topic with one partition on two brokers."""
    name, servers = f"pair-{os.getpid()}", three_brokers.bootstrap_servers
    admins = [AdminClient({"bootstrap.servers": server}) for server in servers.split(",")]
    admins[0].create_topics([NewTopic(name, 1, replica_assignment=[[1, 2]])])[name].result(30)
    # brokers learn of a new topic one after the other
    assert WaitLimit(deadline_s=60.0).until(lambda: all(name in a.list_topics(timeout=30).topics for a in admins))
    yield name
    delete_topic(servers, name)


def test_a_plan_edited_by_hand_is_refused(three_brokers: Sandbox, pair: str, tmp_path: Path) -> None:
    """A plan that lowers a replication factor changes nothing unless that is allowed by its name."""

    def apply(*words: str) -> tuple[int, str]:
        err, folders = io.StringIO(), {kind: tmp_path / kind for kind in ("config", "cache", "state")}
        context = CommandContext(stdout=io.StringIO(), stderr=err, environ={}, folders=folders)
        profile = str(three_brokers.profile_path)
        return main(["rebalance", "apply", str(path), *words, "--profile", profile], context), err.getvalue()

    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": [{"topic": pair, "partition": 0, "replicas": [1]}]}))
    for words in (("--yes",), ("--dry-run",)):
        code, said = apply(*words)
        assert code == 4
        assert f"{pair}-0 from 2 to 1" in said
        assert "--allow replication-factor" in said
    code, said = apply("--yes", "--allow", "replication-factor")
    assert code == 0, said
