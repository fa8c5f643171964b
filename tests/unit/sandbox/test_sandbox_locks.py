"""Locks between tools."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kafkabal.errors import BusyError, OutputError
from kafkabal.sandbox.sandbox_locks import claimed, exclusive


def test_one_at_a_time(tmp_path: Path) -> None:
    """However many wait, and although each removes the file when it leaves, no two hold the lock together."""
    lock, inside, together = tmp_path / "lock", [], []

    def visit(number: int) -> None:
        for _ in range(20):
            with exclusive(lock):
                inside.append(number)
                together.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [1] * 80
    assert not lock.exists()


def test_a_claim_does_not_wait(tmp_path: Path) -> None:
    """While one tool holds the lock others are refused with the given message; then it is free, without a file."""
    lock, busy = tmp_path / "below" / "lock", BusyError("somebody is at it")
    with claimed(lock, busy), pytest.raises(BusyError, match="somebody is at it"), claimed(lock, busy):
        pass
    with claimed(lock, busy):
        assert lock.exists()
    assert not lock.exists()


def test_a_lock_file_that_cannot_be_made(tmp_path: Path) -> None:
    """A lock file that cannot be created is named with the reason."""
    (tmp_path / "lock").mkdir()
    with (
        pytest.raises(OutputError, match=r"lock: cannot write the lock file: is a folder"),
        exclusive(tmp_path / "lock"),
    ):
        pass
