"""``kafkabal demo``: its checks before it starts a cluster."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import ExitCode, OperationError


def test_a_second_demo_is_refused_while_one_runs(
    run_cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second demo would use the same sandbox and runs no command; another home has another sandbox."""
    ran: list[str] = []
    outcomes: list[Any] = []

    def run(_story: Any, *words: str) -> None:
        ran.append(" ".join(words[:2]))
        if len(ran) == 1:
            outcomes.append(run_cli("demo"))
            outcomes.append(run_cli("demo", environ={"KAFKABAL_SANDBOX_HOME": str(tmp_path / "elsewhere")}))
        if words[1] == "up":
            raise OperationError("no cluster in this test")

    monkeypatch.setattr("kafkabal.cli.commands.demo._Story.run", run)
    first = run_cli("demo")
    second, elsewhere = outcomes

    assert ran == ["sandbox up", "sandbox up", "sandbox down", "sandbox down"]
    assert first.code == elsewhere.code == ExitCode.FAILED
    assert second.code == ExitCode.BUSY
    refusal, hint = second.err.splitlines()
    assert "error: another kafkabal demo is running" in refusal
    assert "KAFKABAL_SANDBOX_HOME" in hint
    assert run_cli("demo").code == ExitCode.FAILED, "it is free again"


def test_demo_without_its_extra_starts_nothing(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing extra is reported once, before any command is shown or run."""
    monkeypatch.setitem(sys.modules, "psutil", None)
    refused = run_cli("demo")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        "kafkabal: error: missing Python package: psutil",
        "kafkabal: hint: pip install 'kafkabal[sandbox]'",
    ]
