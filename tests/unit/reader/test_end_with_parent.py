"""Processes of readers end with their parent."""

from __future__ import annotations

import multiprocessing as mp
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkabal.reader.end_with_parent import end_with_parent

_FORKS = """
import os, sys
from tests.unit.reader.test_end_with_parent import wait_forever
inherited = os.pipe()
if not os.fork():
    wait_forever(inherited[0], poll_s={poll_s})
sys.stdin.read()
"""
_FORKS_BY_A_SERVER = """
import multiprocessing as mp, sys
from tests.unit.reader.test_end_with_parent import wait_forever
mp.get_context("forkserver").Process(target=wait_forever, kwargs={{"poll_s": {poll_s}}}).start()
sys.stdin.read()
"""
_SPAWNS = """
import multiprocessing as mp, os, signal
from tests.unit.reader.test_end_with_parent import wait_forever
mp.get_context("spawn").Process(target=wait_forever).start()
os.kill(os.getpid(), signal.SIGKILL)
"""


def wait_forever(pipe: int | None = None, poll_s: float = 0.01) -> None:
    """The main function of a reader: both ends of its pipe are its own, as those of forked workers are each other's."""
    end_with_parent(poll_s)
    sys.stdout.write("watches\n")
    sys.stdout.flush()
    os.read(os.pipe()[0] if pipe is None else pipe, 1)


def _start(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )


def _ends_with_its_parent(program: str) -> bool:
    parent = _start(program)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"watches\n"
    parent.kill()
    return parent.communicate(timeout=60)[0] == b""  # ends with the last process that has it


def test_a_forked_reader_ends_when_its_parent_is_killed() -> None:
    """It blocks on a full pipe that stays open, as a data loader's worker does once its parent is gone."""
    assert _ends_with_its_parent(_FORKS.format(poll_s=0.01))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are asked once a second")
@pytest.mark.parametrize("program", [_FORKS, _FORKS_BY_A_SERVER])
def test_the_system_tells_a_reader_that_its_parent_was_killed(program: str) -> None:
    """It does not wait until it looks again, which would be in minutes; nor does one whose parent is not the trainer,
    but the server that forked it."""
    assert _ends_with_its_parent(program.format(poll_s=200))


def test_a_reader_looks_for_its_parent_where_the_system_does_not_tell() -> None:
    """As on other systems than Linux, and in containers that forbid it."""
    forbids = "import os; del os.pidfd_open\n" if sys.platform == "linux" else ""
    assert _ends_with_its_parent(forbids + _FORKS.format(poll_s=0.01))


def test_a_reader_ends_whose_parent_was_killed_before_it_began() -> None:
    """A process that is started afresh takes a second to import what it needs; its parent is unknown by then."""
    assert _start(_SPAWNS).communicate(timeout=60)[0] in (b"", b"watches\n")


def test_a_reader_lives_as_long_as_its_parent() -> None:
    """Its watch ends nothing while the parent waits for it."""
    reader = mp.get_context("spawn").Process(target=_watched)
    reader.start()
    reader.join()
    assert reader.exitcode == 0


def _watched() -> None:
    end_with_parent(0.001)
    time.sleep(0.1)
