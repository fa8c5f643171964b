"""Which cluster a command uses if none is given."""

from __future__ import annotations

import io
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import command_settings
from kafkabal.errors import UsageError
from kafkabal.sandbox import Node, Role, SandboxSpec
from kafkabal.sandbox.sandbox_profile import write_profile
from kafkabal.sandbox.sandbox_record import SandboxRecord, write_record


def _recorded(home: Path, name: str, port: int, created_at_s: float) -> None:
    nodes = (Node(1, Role.BROKER_AND_CONTROLLER, "r0", {"PLAINTEXT": port}),)
    record = SandboxRecord(name, SandboxSpec(brokers=1), "id", created_at_s, nodes)
    (home / name).mkdir(parents=True)
    write_record(record, home / name)
    write_profile(record, home / name, home / name / "profile.yaml")


@pytest.mark.parametrize(("names", "warns"), [(["old", "new"], True), (["new"], False), ([], False)])
def test_the_newest_sandbox_is_taken(tmp_path: Path, names: list[str], warns: bool) -> None:
    """The newest of several sandboxes is used; a message says so, and how to select another."""
    reported = io.StringIO()
    context = CommandContext(
        stderr=reported, environ={}, folders={kind: tmp_path / kind for kind in ("config", "cache", "state")}
    )
    home = tmp_path / "state" / "sandboxes"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for created_at_s, name in enumerate(names):
            _recorded(home, name, port, created_at_s)
        settings = command_settings({"bootstrap_servers": None}, context)
    assert settings.bootstrap_servers == ((f"127.0.0.1:{port}",) if names else ())
    other = home / "old" / "profile.yaml"
    expected = f"several sandboxes are up; using the newest, new (choose with --profile {other})"
    assert reported.getvalue() == (f"kafkabal: warning: {expected}\n" if warns else "")


@pytest.mark.parametrize(
    ("words", "named", "warns"),
    [
        (("--workload", "uneven"), "", False),
        (("--topic", "t"), "", True),
        (("--topic", "t", "--profile"), "new", False),
    ],
)
def test_only_a_command_that_needs_a_cluster_says_which_sandbox_it_is(
    run_cli: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    named: str,
    *,
    warns: bool,
) -> None:
    """route-simulate with a cluster of its own uses none of several sandboxes; a named one is no news."""

    def refuse(*_: object) -> None:
        raise UsageError("not now")

    monkeypatch.setattr("kafkabal.cli.commands.route_simulate.open_cluster", refuse)
    home = tmp_path / "state" / "sandboxes"
    with socket.create_server(("127.0.0.1", 0)) as server:
        for created_at_s, name in enumerate(("old", "new")):
            _recorded(home, name, server.getsockname()[1], created_at_s)
        asked = ("route-simulate", "--policy", "random", "--records", "10", *words)
        profile = [str(home / named / "profile.yaml")] if named else []
        found = run_cli(*asked, *profile)

    assert ("not now" in found.err) == ("--topic" in words)
    assert ("several sandboxes are up" in found.err) == warns
