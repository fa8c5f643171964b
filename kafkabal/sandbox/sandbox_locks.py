"""Lock files that keep two tools from working in the folder of a sandbox, or of its jars, at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafkabal.errors import BusyError
from kafkabal.sandbox.sandbox_home import make_folder


@contextmanager
def exclusive(lock_path: Path) -> Iterator[None]:
    """Hold the lock file ``lock_path``, waiting for it without limit; the file is removed afterwards.

    It is a kernel lock: it ends with the process that holds it.

    Raises
    ------
    OutputError
        If the file cannot be created.
    """
    with _held(lock_path):
        yield


@contextmanager
def claimed(lock_path: Path, busy: BusyError) -> Iterator[None]:
    """Hold the lock file ``lock_path`` like :func:`exclusive`, but do not wait.

    Raises
    ------
    BusyError
        The given error, if another process holds it.
    OutputError
        If the file cannot be created.
    """
    with _held(lock_path, lambda: busy):
        yield


@contextmanager
def _held(lock_path: Path, busy: Callable[[], BusyError] | None = None) -> Iterator[None]:
    from kafkabal.file_locks import held_file_lock

    make_folder(lock_path.parent)
    with held_file_lock(lock_path, busy):
        yield
