"""Runs on a host in trouble: its process is suspended again and again, its clock is stepped, its memory is short, and
no program reads what it prints."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from kafkabal.plan.plan_file import write_plan
from tests.live.executor.hosts import SESSION_S
from tests.live.executor.scenery import LONGEST_S, MB
from tests.live.executor.stage import Stage, options

_ROUNDS = int(os.environ.get("ROUNDS", "20"))
_HOUR_S = 3600


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(1, _ROUNDS + 1))
def test_suspended_again_and_again(stage: Stage, seed: int) -> None:
    """There and back, suspended at random moments for less and for more than its session, a run completes.

    One that is suspended as it takes its lock may end before it changes anything, so this waits until it has begun."""
    random = Random(seed)
    for action in ("apply", "roll back"):
        known = len(stage.records()) if stage.journals() else 0
        process = stage.begin_when_free(options(5 * MB), action)
        stage.until(lambda known=known: bool(stage.journals()) and len(stage.records()) > known)
        while not process.has_ended:
            time.sleep(random.uniform(0.0, 1.5))
            process.send(signal.SIGSTOP)
            time.sleep(random.choice((0.1, 1.0, 0.5 * SESSION_S, 1.5 * SESSION_S)))
            process.send(signal.SIGCONT)
        code, said = process.end()
        assert code == 0, said
    stage.assert_as_at_start()


def test_clock_stepped_by_an_hour(stage: Stage) -> None:
    """Forth and back during a run, and its rollback by a host with the right time."""
    process = stage.begin(options(5 * MB), is_watched=True)
    assert process.clock is not None
    stage.until(stage.in_flight)
    for step_s in (_HOUR_S, -_HOUR_S, 0):
        process.clock.step_to(step_s)
        time.sleep(0.5)
    code, said = process.end()
    assert code == 0, said
    stage.assert_as_planned()
    stage.finish("roll back", host="two")
    stage.assert_as_at_start()


@pytest.mark.sweep
@pytest.mark.parametrize("spare_mb", [0, 2, 8, 32])
def test_memory_that_runs_short(stage: Stage, tmp_path: Path, spare_mb: int) -> None:
    """A run that gets no more memory from one moment on completes, or ends; then another host completes it."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    words = stage.command_line("apply", str(path), "--yes", "--force", "--throttle", "1MB")
    with subprocess.Popen(words, env=stage.environment_variables("one"), stderr=subprocess.PIPE, text=True) as process:
        stage.until(stage.in_flight)
        used = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        limit = used + spare_mb * MB
        resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))
        _, said = process.communicate(timeout=LONGEST_S)
    sys.stdout.write(f"{process.returncode}: {said}")
    if process.returncode != 0:
        stage.finish("resume", host="two")
    stage.assert_as_planned()


def test_fifo_without_a_reader(stage: Stage, tmp_path: Path) -> None:
    """A run whose standard error is a full FIFO completes, releases its lock, and is then ended by signals."""
    path, fifo = tmp_path / "plan.json", tmp_path / "fifo"
    write_plan(stage.plan, path)
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)  # for reading too: without a reader, it cannot be opened to write
    with suppress(BlockingIOError):
        while True:
            os.write(held, b"x" * 4096)
    words = stage.command_line("apply", str(path), "--yes", "--force", "--throttle", "50MB")
    with fifo.open("wb") as full:
        process = subprocess.Popen(
            words, env=stage.environment_variables("one"), stdout=subprocess.DEVNULL, stderr=full
        )
    stage.until(lambda: bool(stage.journals()) and stage.journal().state.outcome is not None)
    stage.assert_as_planned()
    stage.until(lambda: not stage.cluster.lock_holders())
    give_up_at = time.monotonic() + LONGEST_S
    while process.poll() is None:  # one that arrives as the run ends still asks the run to stop
        assert time.monotonic() < give_up_at, "signals do not end it"
        process.send_signal(signal.SIGTERM)
        time.sleep(1.0)
    os.close(held)
