"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kafkabal.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def replacing(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a file to be written in place of ``path``: flushed to disk and renamed on success, removed on any error.

    A symbolic link stays, and what it points to is replaced. A device or a pipe is written to as it is, since
    nothing can be renamed over it.

    Raises
    ------
    OutputError
        If it cannot be written (no such folder, no permission, disk full); ``path`` is untouched.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        with _temporary_beside(target.resolve()) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(target.resolve())
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error


@contextmanager
def _temporary_beside(target: Path) -> Iterator[IO[bytes]]:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            if target.exists():
                temporary.chmod(target.stat().st_mode)
            yield file
    finally:
        temporary.unlink(missing_ok=True)
