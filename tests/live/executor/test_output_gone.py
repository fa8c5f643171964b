"""Runs whose output goes away on real brokers: nothing stays in flight, and no throttle is left."""

from __future__ import annotations

import errno
import os
import pty
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.plan.plan_file import write_plan
from tests.full_pipe import full_pipe
from tests.live.executor.scenery import LONGEST_S
from tests.live.executor.stage import Stage

_ERRORS = (errno.EIO, errno.EPIPE, errno.ENOSPC)
_FAILING = Path(__file__).with_name("failing_output.py")
_NEVER = 10**6


@pytest.fixture
def words(stage: Stage, tmp_path: Path) -> list[str]:
    """A command whose moves stay in flight as long as a test needs."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    return stage.command_line("apply", str(path), "--yes", "--force", "--throttle", "100kB")


def _is_closed(stage: Stage) -> bool:
    return bool(stage.journals()) and stage.journal().state.outcome is not None


def test_terminal_that_closes(stage: Stage, words: list[str]) -> None:
    """If its terminal closes, a run cancels what is in flight, as on SIGTERM."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored if the tests themselves run under nohup
        os.execve(words[0], words, stage.environment_variables("one"))
    stage.until(stage.in_flight)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 143
    assert stage.journal().state.outcome is RunOutcome.STOPPED
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
    assert stage.journal().state.outcome is RunOutcome.STOPPED
    stage.assert_clean()


def _failing_at(stage: Stage, number: int, code: int, *words: str) -> tuple[int, int]:
    """Run a command whose output fails from one write on; returns its exit code and the number of attempted writes."""
    counted = stage.folder / "writes"
    python, _, _, *rest = stage.command_line(*words, "-o", "jsonl")
    done = subprocess.run(
        [python, str(_FAILING), str(number), str(code), *rest],
        env={**stage.environment_variables("one"), "WRITES_FILE": str(counted)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, int(counted.read_text())


def _there_and_back(stage: Stage, plan: Path, number: int, code: int) -> int:
    """Apply the plan and roll it back with failing output; returns the larger number of attempted writes."""
    there, n_there = _failing_at(stage, number, code, "apply", str(plan), "--yes", "--force", "--throttle", "50MB")
    assert there == 0, number
    stage.assert_as_planned()
    back, n_back = _failing_at(stage, number, code, "rollback", stage.journal().record.run_id, "--yes")
    assert back == 0, number
    stage.assert_as_at_start()
    return max(n_there, n_back)


@pytest.mark.parametrize(("number", "code"), [(1, errno.EIO), (12, errno.EPIPE), (25, errno.ENOSPC)])
def test_output_that_fails_in_the_middle(stage: Stage, tmp_path: Path, number: int, code: int) -> None:
    """A run whose streams fail at some write completes, there and back, as if nothing had happened."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    assert _there_and_back(stage, path, number, code) >= number


@pytest.mark.sweep
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("code", _ERRORS)
def test_output_that_fails_at_every_event(stage: Stage, tmp_path: Path, code: int) -> None:
    """A run completes, there and back, whichever of its writes fails."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    number, last = 1, _there_and_back(stage, path, _NEVER, code)
    while number <= last:
        _there_and_back(stage, path, number, code)
        number += 1


def test_reader_that_is_stopped(stage: Stage, tmp_path: Path) -> None:
    """A run whose output is not read completes, another host gets the lock, and the lines arrive once they are read."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    words = stage.command_line("apply", str(path), "--yes", "--force", "--throttle", "50MB")
    with full_pipe() as (reader, writer):
        process = subprocess.Popen(words, env=stage.environment_variables("one"), stdout=writer, stderr=writer)
        writer.close()
        stage.until(lambda: _is_closed(stage))
        assert stage.journal().state.outcome is RunOutcome.COMPLETE
        stage.assert_as_planned()
        stage.until(lambda: not stage.cluster.lock_holders())
        assert process.poll() is None, "it still has something to print"
        said = reader.readall()
        assert process.wait(LONGEST_S) == 0
    assert b"7 of 7 partitions moved" in said


def test_standard_streams_that_are_closed(stage: Stage, tmp_path: Path) -> None:
    """Without any output (``>&- 2>&-``), as some schedulers start commands, a run completes with exit 0."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    words = stage.command_line("apply", str(path), "--yes", "--force", "--throttle", "50MB")
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(words)} <&- >&- 2>&-"],
        env=stage.environment_variables("one"),
        timeout=LONGEST_S,
        check=False,
    )
    assert done.returncode == 0
    stage.assert_as_planned()
