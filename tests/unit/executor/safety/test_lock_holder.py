"""Who holds the lock: a process that is provably gone, or one that may still be there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkabal.executor.safety.lock_holder import LockHolder, is_provably_gone


def test_this_process() -> None:
    """Its name says host, process, origin and start, and it is not gone."""
    holder = LockHolder.current("here")
    # it began after the machine and before now
    assert 0 < holder.started / os.sysconf("SC_CLK_TCK") <= float(Path("/proc/uptime").read_text().split()[0])
    assert (holder.host, holder.process) == ("here", os.getpid())
    assert len(holder.origin) == 8
    assert str(holder) == f"kafkabal on here (process {os.getpid()}, id {holder.origin}-{holder.started})"
    assert not is_provably_gone(str(holder))


def test_a_process_that_has_ended() -> None:
    """It is gone as soon as it has ended, also before its parent has collected it, whatever its name and its host's."""
    command = (
        "import sys; open('/proc/self/comm', 'w').write('a) b (c'); "
        "from kafkabal.executor.safety.lock_holder import LockHolder; "
        "print(LockHolder.current('one\\n(two)')); sys.stdout.flush(); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        owner = (process.stdout.readline() + process.stdout.readline()).decode().rstrip("\n")
        assert not is_provably_gone(owner)
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_provably_gone(owner)
    assert is_provably_gone(owner)


@pytest.mark.parametrize(
    ("change", "is_gone"),
    [
        (lambda here: LockHolder("there", here.process, here.origin, here.started), False),
        (lambda here: LockHolder(here.host, here.process, here.origin, here.started + 1), True),
        (lambda here: LockHolder(here.host, here.process, "00000000", here.started + 1), False),
        (lambda here: LockHolder(here.host, here.process), False),
    ],
)
def test_names_of_processes(change: object, is_gone: bool) -> None:
    """A process id in use by another process proves that its former one is gone; another origin proves nothing."""
    owner = str(change(LockHolder.current("here")))  # type: ignore[operator]
    assert is_provably_gone(owner) is is_gone
    assert not is_provably_gone(f"{owner} and more")


def test_a_name_without_an_origin() -> None:
    """A system that reports none, and another tool's name."""
    assert str(LockHolder("here", 7)) == "kafkabal on here (process 7)"
    assert not is_provably_gone("cruise-control")


def test_a_system_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing about this process can be proved, so its name claims nothing."""
    monkeypatch.setattr("kafkabal.executor.safety.lock_holder._start_of", lambda _: None)
    assert LockHolder.current("here") == LockHolder("here", os.getpid(), "", 0)
