"""Processes are found by their marks, and ended without affecting others."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kafkabal.errors import OperationError
from kafkabal.sandbox.process_table import ProcessTable, mark_of

SLEEP = "import time, sys; print('up', flush=True); time.sleep(60)"
GRACEFUL = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('down', flush=True)));" + SLEEP
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + SLEEP


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    """Return a table whose processes below ``tmp_path`` are gone after the test."""
    table = ProcessTable()
    yield table
    table.end(table.find(tmp_path).values(), signal.SIGKILL, grace_s=0)


def _spawn(table: ProcessTable, node_folder: Path, code: str = SLEEP) -> None:
    node_folder.mkdir(parents=True)
    log = node_folder / "log"
    table.spawn([sys.executable, "-c", code, mark_of(node_folder)], dict(os.environ), log)
    while not log.exists() or not log.read_text():
        time.sleep(0.01)


def test_the_processes_of_one_sandbox_are_found(tmp_path: Path, table: ProcessTable) -> None:
    """Another tool finds the processes by the sandbox's folder, but not those of a folder with a longer name."""
    _spawn(table, tmp_path / "box" / "broker-1")
    _spawn(table, tmp_path / "box-two" / "broker-1")
    assert set(ProcessTable().find(tmp_path / "box")) == {tmp_path / "box" / "broker-1"}


def test_locks_and_pipes_of_the_caller_are_not_kept(tmp_path: Path, table: ProcessTable) -> None:
    """A new process does not inherit the caller's pipes, so a pipe ends once the caller closes it."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    _spawn(table, tmp_path / "box" / "broker-1")
    os.close(writer)
    os.set_blocking(reader, False)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_paused_and_resumed(tmp_path: Path, table: ProcessTable) -> None:
    """A stopped process is reported as paused until it continues."""
    _spawn(table, tmp_path / "box" / "broker-1")
    (process,) = table.find(tmp_path / "box").values()
    for which, is_paused in ((signal.SIGSTOP, True), (signal.SIGCONT, False)):
        table.signal([process], which)
        while (view := table.stats_of(process)) is None or view.is_paused is not is_paused:
            time.sleep(0.01)
        assert view.rss_bytes > 0


@pytest.mark.parametrize("code", [SLEEP, STUBBORN])
def test_processes_that_do_not_stop_are_killed(code: str, tmp_path: Path, table: ProcessTable) -> None:
    """A process that ignores SIGTERM is killed and leaves no zombie."""
    _spawn(table, tmp_path / "box" / "broker-1", code)
    (process,) = table.find(tmp_path / "box").values()
    assert not table.has_ended(process)
    table.end([process], signal.SIGTERM, grace_s=0.2)
    assert table.has_ended(process)
    assert table.stats_of(process) is None
    assert table.find(tmp_path / "box") == {}
    assert not psutil.pid_exists(process.pid)


def test_a_paused_process_ends_gracefully(tmp_path: Path, table: ProcessTable) -> None:
    """A process that is paused continues, so that it can shut down on SIGTERM before it would be killed."""
    _spawn(table, tmp_path / "box" / "broker-1", GRACEFUL)
    (process,) = table.find(tmp_path / "box").values()
    table.signal([process], signal.SIGSTOP)

    table.end([process], signal.SIGTERM, grace_s=20)

    assert (tmp_path / "box" / "broker-1" / "log").read_text() == "up\ndown\n"


def test_a_child_that_ends_by_itself_is_reaped(tmp_path: Path, table: ProcessTable) -> None:
    """A process that crashed leaves no zombie."""
    _spawn(table, tmp_path / "box" / "broker-1", "print('up', flush=True)")
    (pid,) = table._children
    end_s = time.monotonic() + 60
    while table._children and time.monotonic() < end_s:  # it ends in its own time, and is found only a moment later
        table.find(tmp_path / "box")
    assert not table._children
    assert not psutil.pid_exists(pid)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """A missing program is named."""
    with pytest.raises(OperationError, match="cannot start /nowhere/java: No such file"):
        ProcessTable().spawn(["/nowhere/java"], {}, tmp_path / "log")
