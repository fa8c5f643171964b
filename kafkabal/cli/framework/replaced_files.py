"""Which existing files an output option may replace: those that kafkabal has written before.

A cron job writes the same file again and again. A typing error names a file that something else has written, and
``terraform`` or a shell would replace that too, without a word. So the beginning of a file has to show what it is; an
empty file, a device and a pipe have nothing to lose. Tables are plain text without a mark, and replace any plain text.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from kafkabal.atomic_files import STDOUT, check_replaceable
from kafkabal.errors import OutputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

_HEAD_BYTES: Final = 65536
"""More than the first partition of a plan, or the names of all files in a jar of ours."""
_GZIP: Final = 16 + zlib.MAX_WBITS

_MARKED_REPORT: Final = rb'\{\s*"kafkabal":|kafkabal:\n|<!doctype html>.*<title>kafkabal|# HELP kafkabal_'
_CSV: Final = rb"[a-z0-9_]+(,[a-z0-9_]+)*\n"
# neither binary, JSON, XML, a script, nor a file of settings
_PLAIN_TEXT: Final = rb"(?![{\[<]|#(?!## )|---|[a-z][\w.-]*\s*[:=])[^\0]*\Z"


class FileKind(Enum):
    """What an option writes: its name in messages, and a pattern that matches the beginning of such a file."""

    PLAN = "a plan", rb'\{\s*"version":\s*\d+,\s*"partitions":\s*\[.*"kafkabal":\s*\{'
    SNAPSHOT = "a snapshot", rb'\{"kafkabal_snapshot":'
    TEXTFILE = "a textfile", rb"(# HELP )?kafkabal_"
    JAR = "a jar", rb"PK\x03\x04.*META-INF/MANIFEST.MF.*[Kk]afkabal"
    TRAINING = "a training file", rb"profiles:\n  measured:"
    PLOT = "a plot", rb"(\x89PNG|<\?xml|<!doctype html>).*[Mm]atplotlib"
    MARKED_REPORT = "a report", _MARKED_REPORT
    CSV_REPORT = "a report", _MARKED_REPORT + b"|" + _CSV
    TEXT_REPORT = "a report", _MARKED_REPORT + b"|" + _CSV + b"|" + _PLAIN_TEXT


@dataclass(frozen=True, slots=True)
class OutputFile:
    """The parser of an option that names a file to write."""

    kind: FileKind | None
    """None if another option decides what is written."""

    def __call__(self, text: str) -> Path:
        """Read the name of a file that can be written without losing anything; writes nothing.

        Raises
        ------
        OutputError
            If it cannot be written.
        UsageError
            If something else is in it.
        """
        path = check_replaceable(text)
        if self.kind is not None:
            expect_own(path, self.kind)
        return path


def expect_own(path: Path, kind: FileKind) -> None:
    """Check that a file to be replaced is missing, empty, or of the same kind.

    Raises
    ------
    UsageError
        If something else is in it.
    OutputError
        If it cannot be read.
    """
    if path == STDOUT or not path.is_file():
        return
    name, pattern = kind.value
    head = _head(path)
    if head and not re.match(pattern, head, re.DOTALL):
        raise UsageError(f"{path}: exists, and is not {name} by kafkabal", hint="name another file, or remove it first")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise OutputError(f"{path}: cannot read what would be replaced: {error.strerror or error}") from error
    if not head.startswith(b"\x1f\x8b"):
        return head
    try:
        return zlib.decompressobj(_GZIP).decompress(head, _HEAD_BYTES)
    except zlib.error:
        return head
