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
        else:
            reason = _fault_of_folder(_behind_links(target).parent)
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise OutputError(f"{path}: cannot write: {reason}")
    return target


def _behind_links(path: Path) -> Path:
    """The target of symbolic links; raises OSError if they form a loop.

    For a loop, Python raises a RuntimeError up to 3.12, and later returns one of its links.
    """
    loop = OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        target = path.resolve()
    except RuntimeError as error:
        raise loop from error
    if target.is_symlink():
        raise loop
    return target


def _fault_of_folder(folder: Path) -> str:
    if not folder.is_dir():
        return f"no such folder: {folder}"
    return "" if os.access(folder, os.W_OK | os.X_OK) else "permission denied"


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
        raise OutputError(f"{path}: cannot write: {error.strerror or error}") from error


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
        raise OutputError(f"{path}: cannot write: {error.strerror or error}") from error


def _stdout() -> IO[bytes]:
    stream: IO[bytes] | None = getattr(sys.stdout, "buffer", None)
    if stream is None or stream.closed:
        raise OutputError("cannot write the output: standard output is closed, or takes no bytes")
    return stream


def temporary_name(target: Path) -> Path:
    """A unique hidden name in the same folder, cut to fit if the file's name is long."""
    kept = os.fsdecode(os.fsencode(target.name)[: _LONGEST_NAME - 2 - _TOKEN_CHARACTERS])
    return target.with_name(f".{kept}.{secrets.token_hex(_TOKEN_CHARACTERS // 2)}")


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
