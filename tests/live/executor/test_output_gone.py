"""Runs whose output goes away on real brokers: nothing stays in flight, and no throttle is left."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from kafkabal.executor.state.run_states import Outcome
from kafkabal.plan.plan_file import write_plan
from tests.live.executor.stage import Stage


@pytest.fixture
def words(stage: Stage, tmp_path: Path) -> list[str]:
    """A command whose moves stay in flight for as long as a test needs."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    return stage.command_line("apply", str(path), "--yes", "--force", "--throttle", "100kB")


def _is_closed(stage: Stage) -> bool:
    return bool(stage.journals()) and stage.journal().state.outcome is not None


def test_terminal_that_closes(stage: Stage, words: list[str]) -> None:
    """A run whose terminal closes cancels what is in flight, as on SIGTERM."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests themselves run under nohup
        os.execve(words[0], words, stage.environment_variables("one"))
    stage.until(stage.in_flight)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 143
    assert stage.journal().state.outcome is Outcome.STOPPED
    stage.assert_clean()


@pytest.mark.parametrize("reader", ["tee /dev/null", "head -1"])
def test_reader_that_goes_away(stage: Stage, words: list[str], reader: str) -> None:
    """With ``2>&1 | tee`` and Ctrl-C, and with ``2>&1 | head -1``, the run ends by its policy."""
    line = f"{shlex.join(words)} 2>&1 | {reader}"
    with subprocess.Popen(
        ["bash", "-c", line],
        env=stage.environment_variables("one"),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as shell:
        stage.until(stage.in_flight)
        os.killpg(shell.pid, signal.SIGINT)
        stage.until(lambda: _is_closed(stage))
    assert stage.journal().state.outcome is Outcome.STOPPED
    stage.assert_clean()
