"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from kafkabal.errors import OutputError, UsageError
from kafkabal.wording import system_fault

STDOUT: Final = Path("-")
"""Stands for standard output in place of a file name."""

_LONGEST_NAME = 255
"""Bytes: NAME_MAX of Linux file systems."""
_TOKEN_CHARACTERS = 8
"""Random enough that two programs that write one file at once use different names."""
_READER_WAIT_S = 10.0
"""For the reader of a named pipe, as for the writer of one that is read: the shell that starts both programs starts the
second at once."""
_PAUSE_S = 0.05
"""Between attempts to open a pipe that no program reads yet; each fails at once."""
_LONGEST_PATH = 4095
"""Bytes: PATH_MAX of Linux without its closing NUL."""
_NO_HARD_LINKS: Final = frozenset((errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS))
"""What file systems without hard links answer: FAT and exFAT the first, CIFS and many on FUSE the next ones."""
_CLAIM_S = 30.0
"""How long another program may take to create the same file: on an object store, renaming it copies it."""


def parse_path(text: str) -> Path:
    """Read the name of a file, which need not exist.

    Raises
    ------
    UsageError
        If no file can have that name.
    """
    if "\0" in text:
        raise UsageError("a path cannot contain a NUL byte")
    try:
        parts = [os.fsencode(part) for part in Path(text).parts]
    except UnicodeEncodeError as error:
        raise UsageError(f"invalid path: {text[:40]!r}") from error
    if any(len(part) > _LONGEST_NAME for part in parts) or sum(map(len, parts)) + len(parts) > _LONGEST_PATH:
        raise UsageError(f"path too long: {text[:40]}... ({len(text):,} characters)")
    return Path(text)


def parse_folder(text: str) -> Path:
    """Read the name of a folder, which need not exist.

    Raises
    ------
    UsageError
        If no folder can have that name, or it stands for standard output.
    OutputError
        If it is a file.
    """
    if text == str(STDOUT):
        raise UsageError("must be a folder, not standard output (-)", hint="for a folder of that name, write ./-")
    path = parse_path(text)
    if path.is_file():
        raise OutputError(f"{path}: not a folder")
    return path


def target_name(path: Path) -> str:
    """A file that is written, as messages name it."""
    return "standard output" if path == STDOUT else str(path)


def check_replaceable(path: Path | str) -> Path:
    """Check that a file can be written there, before there is anything to write; writes nothing.

    Raises
    ------
    OutputError
        If it is a folder, its folder is missing, or the permission to write is.
    """
    target = parse_path(str(path))
    if target == STDOUT:
        return target
    try:
        if target.is_dir():
            reason = "is a folder"
        elif target.exists() and not target.is_file():
            reason = "" if os.access(target, os.W_OK) else "permission denied"
        elif not target.parent.is_dir():
            reason = f"no such folder: {target.parent}"
        else:
            reason = _fault_of_folder(_behind_links(target).parent)
    except OSError as error:
        reason = system_fault(error)
    if reason:
        raise OutputError(f"{path}: cannot write: {reason}")
    return target


def _behind_links(path: Path) -> Path:
    """The target of symbolic links; raises OSError if they form a loop, or the folder of the path is missing.

    For a loop, Python raises a RuntimeError up to 3.12, and later returns one of its links.
    """
    loop = OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        # without strict, a missing folder before '..' would be dropped, which the system does not
        target = (path.parent.resolve(strict=True) / path.name).resolve()
    except RuntimeError as error:
        raise loop from error
    if target.is_symlink():
        raise loop
    return target


def _fault_of_folder(folder: Path) -> str:
    if not folder.is_dir():
        return f"no such folder: {folder}"
    return "" if os.access(folder, os.W_OK | os.X_OK) else "permission denied"


def write_new(path: Path, content: bytes) -> None:
    """Create a file that appears whole, flushed to disk; of several programs that create it at once, one succeeds.

    Raises
    ------
    FileExistsError
        If it exists, or another program creates it meanwhile; it is whole by then.
    OutputError
        If it cannot be written, or a program that was stopped has left its claim to create it.
    """
    temporary = temporary_name(path)
    try:
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            _name_new(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {system_fault(error)}") from error


def _name_new(temporary: Path, path: Path) -> None:
    """Give a file its name; unlike a rename, this never replaces another file."""
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        with _claim(path):
            if os.path.lexists(path):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
            temporary.rename(path)


@contextmanager
def _claim(path: Path) -> Iterator[None]:
    """Be the only program that may create a file, where nothing but exclusive creation tells programs apart.

    The claim is a file of its own: the file itself would be empty, for others to read, until it is written.
    """
    claim = _hidden_name(path, "creating")
    end_s = time.monotonic() + _CLAIM_S
    while True:
        try:
            os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            if os.path.lexists(path):
                raise
            if time.monotonic() >= end_s:
                raise OutputError(
                    f"{path}: cannot write: another program has claimed it for {_CLAIM_S:.0f} s, or was stopped",
                    hint=f"remove {claim} unless that program still runs",
                ) from None
            time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        claim.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path | str, *, flush: bool = True) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path``: flushed to disk and renamed on success, removed on any error.

    A symbolic link is kept, and its target replaced. A device or a pipe is written to directly, since no file can be
    renamed over it. ``-`` is standard output.

    Parameters
    ----------
    flush
        False for one of many files that can be recreated: flushing each of them takes longer than writing it.

    Raises
    ------
    OutputError
        If it cannot be written (no such folder, no permission, disk full); ``path`` is untouched.
    """
    target = Path(path)
    if target == STDOUT:
        yield _stdout()
        _stdout().flush()
        return
    try:
        if target.exists() and not target.is_file():
            with _opened_in_place(target) as file:
                yield file
            return
        behind = _behind_links(target)
        with _temporary_beside(behind) as file:
            yield file
            file.flush()
            if flush:
                os.fsync(file.fileno())
            Path(file.name).replace(behind)
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {system_fault(error)}") from error


def _opened_in_place(target: Path) -> IO[bytes]:
    """Open a device or a pipe; a named pipe only once a program reads from it, since opening would wait without end."""
    if not target.is_fifo():
        return target.open("wb")
    end_s = time.monotonic() + _READER_WAIT_S
    while True:
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        else:
            os.set_blocking(descriptor, True)
            return os.fdopen(descriptor, "wb")
        if time.monotonic() >= end_s:
            raise OSError(errno.ETIMEDOUT, "no program reads from this pipe")
        time.sleep(_PAUSE_S)


def make_folder_of(path: Path) -> None:
    """Make the folder of a file that is to be written.

    Raises
    ------
    OutputError
        If it cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(f"{path}: cannot write: {error.filename} is not a folder") from error
    except OSError as error:
        raise OutputError(f"{path}: cannot write: {system_fault(error)}") from error


def _stdout() -> IO[bytes]:
    stream: IO[bytes] | None = getattr(sys.stdout, "buffer", None)
    if stream is None or stream.closed:
        raise OutputError("cannot write the output: standard output is closed, or takes no bytes")
    return stream


def temporary_name(target: Path) -> Path:
    """A unique hidden name in the same folder, cut to fit if the file's name is long."""
    return _hidden_name(target, secrets.token_hex(_TOKEN_CHARACTERS // 2))


def _hidden_name(target: Path, suffix: str) -> Path:
    kept = os.fsdecode(os.fsencode(target.name)[: _LONGEST_NAME - 2 - len(suffix)])
    return target.with_name(f".{kept}.{suffix}")


@contextmanager
def _temporary_beside(target: Path) -> Iterator[IO[bytes]]:
    temporary = temporary_name(target)
    try:
        with temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode)
            yield file
    finally:
        temporary.unlink(missing_ok=True)
