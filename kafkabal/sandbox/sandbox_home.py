"""Where sandboxes and their jars are kept, and the locks that keep two tools out of each other's way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import platformdirs

from kafkabal.errors import BusyError, OutputError

HOME_VARIABLE: Final = "KAFKABAL_SANDBOX_HOME"


def home_of(environ: Mapping[str, str], state_folder: Path) -> Path:
    """Folder of all sandboxes: ``$KAFKABAL_SANDBOX_HOME``, else below the folder of kafkabal's state."""
    override = environ.get(HOME_VARIABLE)
    return Path(override).absolute() if override else state_folder / "sandboxes"


def cache_of(cache_folder: Path) -> Path:
    """Folder in kafkabal's cache of what is fetched or computed once for all sandboxes."""
    return cache_folder / "sandbox"


def default_home() -> Path:
    """Folder of all sandboxes of the user who runs this process, see :func:`home_of`."""
    return home_of(os.environ, platformdirs.user_state_path("kafkabal"))


def default_cache() -> Path:
    """Folder of what is kept for all sandboxes of the user who runs this process, see :func:`cache_of`."""
    return cache_of(platformdirs.user_cache_path("kafkabal"))


def make_folder(folder: Path) -> Path:
    """Create a folder and those above it, readable by its owner only.

    Raises
    ------
    OutputError
        If that is not possible.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create the folder {folder}: {error.strerror}") from error
    return folder


@contextmanager
def exclusive(lock_path: Path) -> Iterator[None]:
    """Hold the lock file ``lock_path``, waiting for it as long as it takes; the file is gone afterwards.

    The lock is the kernel's: it ends with the process that holds it.

    Raises
    ------
    OutputError
        If the file cannot be made.
    """
    with _held(lock_path):
        yield


@contextmanager
def claimed(lock_path: Path, busy: BusyError) -> Iterator[None]:
    """Hold the lock file ``lock_path`` like :func:`exclusive`, but do not wait.

    Raises
    ------
    BusyError
        The one given, if another holds it.
    OutputError
        If the file cannot be made.
    """
    with _held(lock_path, lambda: busy):
        yield


@contextmanager
def _held(lock_path: Path, busy: Callable[[], BusyError] | None = None) -> Iterator[None]:
    from kafkabal.file_locks import acquire_file_lock

    make_folder(lock_path.parent)
    lock = acquire_file_lock(lock_path, busy)
    try:
        yield
    finally:
        # before the release: a process that waits finds that its file is gone, and makes another
        lock_path.unlink(missing_ok=True)
        lock.release()
