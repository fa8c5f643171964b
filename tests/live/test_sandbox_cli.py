"""The commands of the sandbox, against real processes."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.errors import ExitCode
from kafkabal.sandbox import take_down

NAME = f"cli-{os.getpid()}"


@pytest.fixture
def gone_afterwards(sandbox_home: Path) -> Iterator[None]:
    """Stop everything, even if the test fails."""
    yield
    if (sandbox_home / NAME).exists():
        take_down(NAME, home=sandbox_home)


@pytest.mark.usefixtures("gone_afterwards")
def test_up_kill_status_start_down(sandbox_home: Path) -> None:
    """A broker is started, killed, reported as killed, restarted and removed; programs can read the listing."""

    def run(*words: str) -> Any:
        out = io.StringIO()
        context = CommandContext(stdout=out, stderr=io.StringIO(), environ={"KAFKABAL_SANDBOX_HOME": str(sandbox_home)})
        assert main(["sandbox", *words, "--name", NAME], context) == ExitCode.DONE, context.stderr.getvalue()  # type: ignore[attr-defined]
        return json.loads(out.getvalue()) if "json" in words else out.getvalue()

    assert run("up", "--brokers", "1", "--racks", "0", "-o", "json")["nodes"][0]["state"] == "running"
    run("kill", "1")
    assert run("status", "-o", "json")["nodes"][0]["state"] == "killed"
    run("start", "1")
    assert "1 of 1 node running" in run("status")
    run("down")
    assert not (sandbox_home / NAME).exists()
