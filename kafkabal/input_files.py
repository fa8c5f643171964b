"""The one way in for files written by others: JSON, JSON Lines, YAML and properties, of any content.

A file is read within limits, so that none can exhaust the memory or the time of a command: bytes of a line and of
the whole, what a packed file may unpack to, and integers of 63 bits. Whatever is wrong becomes one
:class:`~kafkabal.errors.InputFileError` that names the file and, where there is one, the line and the key.

``-`` is standard input.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeAlias, TypeVar, cast

import msgspec

from kafkabal.errors import InputFileError

if TYPE_CHECKING:  # a module of type checkers alone
    from _typeshed import WriteableBuffer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

STDIN: Final = "-"
"""Stands for standard input where a file is read."""


Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
"""Broker ids and partitions, which Kafka keeps in 32 bits."""
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Bytes and offsets."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BUFFER_BYTES: Final = 2**20
"""A line of a large topic is some 100 kB: a read of the file serves several lines."""
_MOST_INTEGER: Final = 2**63 - 1
# only a text with so many digits in a row can hold an integer of more than 63 bits; looking for them among digits that
# were all made nines is twenty times as fast as a pattern
_MANY_DIGITS: Final = b"9" * 19
_ALL_NINES: Final = bytes.maketrans(b"012345678", b"9" * 9)


def expand_home(path: Path) -> Path:
    """The path with ``~`` and ``~user`` replaced; where there is no such user, as it was written."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a file is read at most, in bytes after unpacking."""

    total_bytes: int
    line_bytes: int
    unpacking_ratio: int = 400
    """Unpacked bytes for one packed byte: a snapshot of 200,000 partitions has 5, one of 200,000 empty partitions that
    are all alike up to 141; a file that is packed to exhaust its reader has up to 1032."""
    unpacked_bytes_at_any_ratio: int = 16 * 2**20
    """So many bytes are unpacked from however few."""


ROWS: Final = Limits(total_bytes=4 * 2**30, line_bytes=64 * 2**20)
"""JSON Lines, read a line at a time: a line of 64 MiB holds a topic of 400,000 partitions."""
DOCUMENT: Final = Limits(total_bytes=256 * 2**20, line_bytes=256 * 2**20)
"""JSON that is held in memory as a whole: 256 MiB hold a plan for a million partitions."""
SETTINGS: Final = Limits(total_bytes=2**20, line_bytes=2**20)
"""What people write by hand: 1 MiB of YAML describes 19,000 topics, and takes up to four seconds to read."""


class Decoder(Protocol[T_co]):
    """What turns JSON into a value; the decoders of msgspec do."""

    def decode(self, text: bytes, /) -> T_co:
        """The value."""
        ...


class InputFile:
    """An open file; made by :func:`open_input`."""

    def __init__(self, path: Path | str, file: IO[bytes], limits: Limits) -> None:
        self.path = path
        self.line = 0
        """Number of the line that was read last, from 1; 0 before the first and where the whole is read at once."""
        self._file = file
        self._limits = limits

    def unpack(self, packed: _Metered) -> None:
        """Read what is packed in the file, if it is packed; to be called first."""
        buffered = cast("io.BufferedReader", self._file)
        if buffered.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
            unpacked = _Metered(cast("IO[bytes]", gzip.GzipFile(fileobj=buffered)), self.path)
            unpacked.most_bytes, unpacked.packed, unpacked.limits = self._limits.total_bytes, packed, self._limits
            self._file = cast("IO[bytes]", io.BufferedReader(unpacked, _BUFFER_BYTES))

    def lines(self) -> Iterator[bytes]:
        """The lines that are left, each with its line end.

        Raises
        ------
        InputFileError
            If a line or the file is too long.
        """
        most = self._limits.line_bytes
        for number, text in enumerate(iter(partial(self._file.readline, most + 1), b""), self.line + 1):
            self.line = number
            if len(text) > most:
                raise self.error(f"the line is longer than {most:,} bytes")
            yield text

    def content(self) -> bytes:
        """All that is left.

        Raises
        ------
        InputFileError
            If the file is too long.
        """
        return self._file.read()

    def text(self) -> str:
        """All that is left, which must be UTF-8.

        Raises
        ------
        InputFileError
            If it is not; the line is named.
        """
        data = self.content()
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.error("not UTF-8 text", line=data.count(b"\n", 0, error.start) + 1) from error

    def decode(self, decoder: Decoder[T], text: bytes, what: str, *, has_bounds: bool = False) -> T:
        """The value of the line that was read last, see :func:`decode_json`."""
        return decode_json(decoder, text, self.path, what, line=self.line, has_bounds=has_bounds)

    def error(self, message: str, *, line: int | None = None, hint: str | None = None) -> InputFileError:
        """The error that this file deserves, at a line or at the one that was read last."""
        return InputFileError(_shown(self.path), message, line=line or self.line or None, hint=hint)


@contextmanager
def open_input(path: Path | str, limits: Limits, *, may_be_packed: bool = True) -> Iterator[InputFile]:
    """Open a file to be read; ``-`` is standard input.

    Parameters
    ----------
    may_be_packed
        Whether a file that is packed with gzip is unpacked; what is written to as well cannot be.

    Raises
    ------
    InputFileError
        If it cannot be opened or read, or exceeds a limit.
    """
    raw = _Metered(_opened(path), path)
    opened = InputFile(path, cast("IO[bytes]", io.BufferedReader(raw, _BUFFER_BYTES)), limits)
    try:
        with raw:
            raw.most_bytes = limits.total_bytes
            if may_be_packed:
                opened.unpack(raw)
            yield opened
    except (OSError, EOFError, zlib.error) as error:
        # what is packed is read a line at a time: the next one is the one that cannot be unpacked
        broken = opened.line + 1 if opened.line else None
        raise opened.error(f"cannot read: {_reason(error)}", line=broken) from error


def read_bytes(path: Path | str, limits: Limits = DOCUMENT) -> bytes:
    """All that is in a file, unpacked.

    Raises
    ------
    InputFileError
        If it cannot be read, or exceeds a limit.
    """
    with open_input(path, limits) as file:
        return file.content()


def read_text(path: Path | str, limits: Limits = SETTINGS) -> str:
    """All that is in a file of UTF-8 text.

    Raises
    ------
    InputFileError
        If it cannot be read, is something else, or exceeds a limit.
    """
    with open_input(path, limits) as file:
        return file.text()


def decode_json(
    decoder: Decoder[T],
    data: bytes,
    path: Path | str,
    what: str,
    *,
    line: int | None = None,
    has_bounds: bool = False,
) -> T:
    """The value that a text stands for.

    Parameters
    ----------
    what
        What the text should have been, as in ``not a plan``.
    line
        Its number, where the text is a line of a file; else the error finds the line itself.
    has_bounds
        The decoder itself refuses integers that are too large, as those of :data:`Int32` and :data:`Int64` do.

    Raises
    ------
    InputFileError
        If it is not JSON, something else than what the decoder reads, or holds an integer beyond 63 bits.
    """
    try:
        if not has_bounds and _MANY_DIGITS in data.translate(_ALL_NINES):
            _check_integers(data, path, line)
        if not data.isascii():
            # decoders skip keys that they do not know without a look at their text: a damaged one would be left out
            data.decode()
        return decoder.decode(data)
    except RecursionError as error:
        raise InputFileError(_shown(path), f"{what}: nested too deeply", line=line) from error
    except (ValueError, OverflowError) as error:  # among them the errors of msgspec and of UTF-8
        found = line if line is not None else _line_of(str(error), data)
        raise InputFileError(_shown(path), f"{what}: {_in_words(error)}", line=found) from error


def _check_integers(data: bytes, path: Path | str, line: int | None) -> None:
    value = msgspec.json.decode(data)
    for key, number in _integers(value, "$"):
        if abs(number) > _MOST_INTEGER:
            raise InputFileError(_shown(path), f"{key}: an integer of more than 63 bits", line=line)


def _integers(value: Any, key: str) -> Iterator[tuple[str, int]]:
    """Integers anywhere in a value, and the path to each."""
    left: list[tuple[Any, str]] = [(value, key)]
    while left:
        item, at = left.pop()
        if isinstance(item, dict):
            left += [(inner, f"{at}.{name}") for name, inner in item.items()]
        elif isinstance(item, list):
            left += [(inner, f"{at}[{i}]") for i, inner in enumerate(item)]
        elif isinstance(item, int):
            yield at, item


def _line_of(message: str, data: bytes) -> int | None:
    """The line where a document stopped making sense, or stopped."""
    _, _, position = message.partition("(byte ")
    digits = position.rstrip(")")
    end = int(digits) if digits.isdecimal() else len(data) if "truncated" in message else None
    return None if end is None else data.count(b"\n", 0, end) + 1


def _in_words(error: Exception) -> str:
    return "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)


def _shown(path: Path | str) -> Path | str:
    return "standard input" if str(path) == STDIN else path


def _opened(path: Path | str) -> IO[bytes]:
    if str(path) == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise InputFileError(_shown(path), "cannot read: it is closed")
        return cast("IO[bytes]", sys.stdin.buffer)
    try:
        return cast("IO[bytes]", Path(path).open("rb", buffering=0))
    except (OSError, ValueError) as error:
        raise InputFileError(path, f"cannot read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


class _Metered(io.RawIOBase):
    """Another file, whose bytes are counted as they are read."""

    def __init__(self, file: IO[bytes], path: Path | str) -> None:
        self._file = file
        self._path = path
        self.count = 0
        self.most_bytes: int | None = None
        self.packed: _Metered | None = None
        self.limits: Limits | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        # what could be unpacked is handed over before the next part, which may be damaged, is touched
        read = getattr(self._file, "readinto1", None) or cast("io.RawIOBase", self._file).readinto
        found = read(buffer) or 0
        self.count += found
        if self.most_bytes is not None and self.count > self.most_bytes:
            raise InputFileError(_shown(self._path), f"longer than {self.most_bytes:,} bytes")
        if self.limits is not None and self.packed is not None and self.count > self.limits.unpacked_bytes_at_any_ratio:
            ratio = self.count / max(self.packed.count, 1)
            if ratio > self.limits.unpacking_ratio:
                raise InputFileError(
                    _shown(self._path), f"unpacks to more than {self.limits.unpacking_ratio} times its size"
                )
        return found

    def close(self) -> None:
        if not self.closed and str(self._path) != STDIN:
            self._file.close()
        super().close()
