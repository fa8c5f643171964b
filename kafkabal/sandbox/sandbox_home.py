"""Where sandboxes and their jars are kept, and the locks that keep two tools out of each other's way."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
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
    """Folder of what is fetched or computed once for all sandboxes, below that of kafkabal's cache."""
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
    descriptor = _acquire(lock_path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        _release(lock_path, descriptor)


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
    try:
        descriptor = _acquire(lock_path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise busy from None
    try:
        yield
    finally:
        _release(lock_path, descriptor)


def _acquire(lock_path: Path, operation: int) -> int:
    """Lock the file and return its descriptor.

    Since the holder removes the file, a waiter may wake up with a lock on a file that is no longer there, and then
    tries again.
    """
    make_folder(lock_path.parent)
    while True:
        descriptor = _open(lock_path)
        try:
            fcntl.flock(descriptor, operation)
            if _is_still(lock_path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _release(lock_path: Path, descriptor: int) -> None:
    lock_path.unlink(missing_ok=True)
    os.close(descriptor)


def _open(lock_path: Path) -> int:
    try:
        return os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise OutputError(f"{lock_path}: cannot write the lock file: {error.strerror}") from error


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
