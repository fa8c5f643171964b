"""Locks between processes of one host, based on files: a lock ends with the process that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from kafkabal.errors import BusyError, OutputError
from kafkabal.wording import system_fault

_POLL_S = 0.005
"""Most locks are held for a fraction of a millisecond: the library's 50 ms cost half the time of an epoch of 600 MB."""


def acquire_file_lock(path: Path, busy: Callable[[], BusyError] | None = None, wait_s: float = 0.0) -> FileLock:
    """Lock a file, which is created with its folder if missing, and keeps its content.

    Parameters
    ----------
    busy
        Makes the error to raise if another process holds the lock; without it, wait for the lock.
    wait_s
        How long to wait before raising that error.

    Raises
    ------
    BusyError
        See ``busy``.
    OutputError
        If the file cannot be created or locked.
    """
    # soft locks, which are files that merely exist, outlive a killed process: refuse a file system without real locks
    lock = FileLock(path, timeout=-1 if busy is None else wait_s, thread_local=False, fallback_to_soft=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(poll_interval=_POLL_S)
    except Timeout:
        assert busy is not None
        raise busy() from None
    except (OSError, NotImplementedError) as error:
        reason = system_fault(error)
        raise OutputError(f"{path}: cannot write the lock file: {reason}") from error
    return lock


@contextmanager
def held_file_lock(path: Path, busy: Callable[[], BusyError] | None = None) -> Iterator[None]:
    """Hold the lock of :func:`acquire_file_lock` during the block, and remove its file afterwards.

    Raises
    ------
    BusyError
        See ``busy``.
    OutputError
        If the file cannot be created or locked.
    """
    lock = acquire_file_lock(path, busy)
    try:
        yield
    finally:
        # before the release: a waiting process notices that its file is gone, and creates another
        path.unlink(missing_ok=True)
        lock.release()
