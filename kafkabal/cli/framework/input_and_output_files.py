"""Ensures that no command writes to a file it reads, nor two results to one file."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path

from kafkabal.atomic_files import STDOUT
from kafkabal.errors import UsageError

_STDIN = Path("-")


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Files of a command line, each with its option or argument."""

    read: list[tuple[str, Path]] = field(default_factory=list)
    written: list[tuple[str, Path]] = field(default_factory=list)
    may_save_over_snapshot: bool = False
    """``--save`` may name the snapshot that is read: the command asks before overwriting it."""

    @property
    def fill_stdout(self) -> bool:
        """Whether a file goes to standard output, so that the report has to go elsewhere."""
        return any(path == STDOUT and title != "--output-file" for title, path in self.written)

    def expect_different(self) -> None:
        """Refuse file options that would lose data, read standard input twice or mix two outputs.

        Raises
        ------
        UsageError
            If two options name the same file or standard stream, and at least one of them writes it.
        """
        first_stdin, *others = [title for title, path in self.read if path == _STDIN] or [""]
        if others:
            raise UsageError(f"only one of the files can be standard input: {first_stdin} and {others[0]} are both -")
        for (title, path), (other, source) in product(self.written, self.read):
            asks = self.may_save_over_snapshot and (title, other) == ("--save", "--snapshot")
            if not asks and _is_same_file(path, source):
                raise UsageError(f"{title} would overwrite what {other} reads ({path})", hint="name another file")
        first_stdout, *more = [title for title, path in self.written if path == STDOUT] or [""]
        if more:
            raise UsageError(f"only one output can be standard output: {first_stdout} and {more[0]} are both -")
        for (title, path), (other, target) in combinations(self.written, 2):
            if _is_same_file(path, target):
                raise UsageError(f"{title} and {other} name the same file ({path})", hint="name another file")


def _is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths are the same regular file, or will be once it is written; writing to devices loses nothing."""
    if STDOUT in (path, other):
        return False
    try:
        if path.exists() and other.exists():
            return path.is_file() and path.samefile(other)
        return path.resolve() == other.resolve()
    except (OSError, RuntimeError):
        return False  # opening it will report the error
