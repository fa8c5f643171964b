"""Locks between processes of one host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafkabal.errors import BusyError, OutputError
from kafkabal.file_locks import acquire_file_lock

_HOLD = """
import sys
from pathlib import Path
from kafkabal.file_locks import acquire_file_lock
lock = acquire_file_lock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def _busy() -> BusyError:
    return BusyError("taken")


def test_lock_ends_with_the_process_that_held_it(tmp_path: Path) -> None:
    """A lock held by another process is refused; once that is killed, its leftover file does not block others."""
    path = tmp_path / "below" / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(BusyError, match="taken"):
            acquire_file_lock(path, _busy)
        holder.kill()
    assert path.exists()
    acquire_file_lock(path, _busy).release()


def test_content_of_the_file_stays(tmp_path: Path) -> None:
    """A file may be its own lock: locking does not truncate it."""
    path = tmp_path / "manifest"
    path.write_text("kept")
    acquire_file_lock(path, _busy).release()
    assert path.read_text() == "kept"


def test_file_that_cannot_be_made(tmp_path: Path) -> None:
    """A lock file that cannot be created is named with the reason."""
    with pytest.raises(OutputError, match="cannot write the lock file: is a folder"):
        acquire_file_lock(tmp_path)
