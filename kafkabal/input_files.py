"""The one way to read files written by others: JSON, JSON Lines, YAML and properties, of any content.

Files are read within limits, so that none can exhaust a command's memory or time: bytes per line and in total, the
unpacked size of a compressed file, and integers of 63 bits. Every fault becomes one
:class:`~kafkabal.errors.InputFileError` that names the file and, if known, the line and the key.

``-`` is standard input.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import select
import sys
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from stat import S_ISFIFO
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, Protocol, TypeAlias, TypeVar, cast

import msgspec

from kafkabal.decoding_faults import fault_at, json_fault
from kafkabal.errors import InputFileError, UsageError
from kafkabal.wording import system_fault

if TYPE_CHECKING:  # a module for type checkers only
    from _typeshed import WriteableBuffer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

STDIN: Final = "-"
"""Stands for standard input in place of a file name."""


Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
"""Broker ids and partitions: Kafka uses 32 bits."""
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Bytes and offsets."""

FormatVersion: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
"""The version of a file format: the first one of each is 1."""

_GZIP_MAGIC: Final = b"\x1f\x8b"
_BUFFER_BYTES: Final = 2**20
"""A line of a large topic is some 100 kB: one read of the file serves several lines."""
_WRITER_WAIT_S: Final = 10.0
"""For the writer of a named pipe: the shell that starts both programs starts the second at once."""
_MOST_INTEGER: Final = 2**63 - 1
_DOWNLOAD_HINT: Final = "a file on this host is expected: download it first, as in  curl -o FILE URL"
# only a text with so many digits in a row can hold an integer of more than 63 bits; turning all digits into nines and
# searching for a run of them is twenty times as fast as a regular expression
_MANY_DIGITS: Final = b"9" * 19
_ALL_NINES: Final = bytes.maketrans(b"012345678", b"9" * 9)


def expand_home(path: Path) -> Path:
    """The path with ``~`` and ``~user`` expanded; unchanged if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def absolute_path(path: Path | str) -> Path:
    """The path from the root.

    Raises
    ------
    InputFileError
        If it is relative to a current folder that has been removed.
    """
    try:
        return Path(path).absolute()
    except FileNotFoundError as error:
        raise InputFileError(
            path, "relative to a folder that no longer exists", hint="change to a folder that exists"
        ) from error


def exists(path: Path, *, hint: str | None = None) -> bool:
    """Whether there is a file or folder of that name.

    Raises
    ------
    InputFileError
        If that cannot be known, because a folder on the way belongs to another user or the name is too long.
    """
    try:
        return path.exists()
    except OSError as error:
        raise InputFileError(path, f"cannot read: {system_fault(error)}", hint=hint) from error


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that is read of a file, in bytes after unpacking."""

    total_bytes: int
    line_bytes: int
    unpacking_ratio: int = 400
    """Unpacked bytes per packed byte: a snapshot of 200,000 partitions has 5, one of 200,000 identical empty partitions
    up to 141; a zip bomb has up to 1032."""
    unpacked_bytes_at_any_ratio: int = 16 * 2**20
    """Up to this size the ratio is not checked."""


ROWS: Final = Limits(total_bytes=4 * 2**30, line_bytes=64 * 2**20)
"""JSON Lines, read one line at a time: a line of 64 MiB holds a topic of 400,000 partitions."""
DOCUMENT: Final = Limits(total_bytes=256 * 2**20, line_bytes=256 * 2**20)
"""JSON that is held in memory as a whole: 256 MiB hold a plan for a million partitions."""
SETTINGS: Final = Limits(total_bytes=2**20, line_bytes=2**20)
"""Files written by hand: 1 MiB of YAML describes 19,000 topics and takes up to four seconds to read."""


class Decoder(Protocol[T_co]):
    """Turns JSON into a value, as msgspec's decoders do."""

    def decode(self, text: bytes, /) -> T_co:
        """Decode one value."""
        ...


class InputFile:
    """An open file, created by :func:`open_input`."""

    def __init__(self, path: Path | str, file: IO[bytes], limits: Limits) -> None:
        self.path = path
        self.line = 0
        """Number of the last line read, from 1; 0 before the first line and if the file is read at once."""
        self._file = file
        self._limits = limits

    def unpack(self, packed: _Metered) -> None:
        """Decompress the file while reading it, if it is compressed; call this first."""
        buffered = cast("io.BufferedReader", self._file)
        if buffered.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC):
            unpacked = _Metered(cast("IO[bytes]", gzip.GzipFile(fileobj=buffered)), self.path)
            unpacked.most_bytes, unpacked.packed, unpacked.limits = self._limits.total_bytes, packed, self._limits
            self._file = cast("IO[bytes]", io.BufferedReader(unpacked, _BUFFER_BYTES))

    def skip_byte_order_mark(self) -> None:
        """Skip the mark that some Windows programs put at the start of a UTF-8 file."""
        if cast("io.BufferedReader", self._file).peek(len(BOM_UTF8)).startswith(BOM_UTF8):
            self._file.read(len(BOM_UTF8))

    def lines(self) -> Iterator[bytes]:
        """The remaining lines, each with its line end.

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
        """The rest of the file.

        Raises
        ------
        InputFileError
            If the file is too long.
        """
        return self._file.read()

    def text(self) -> str:
        """The rest of the file, which must be UTF-8.

        Raises
        ------
        InputFileError
            If it is not UTF-8; the message names the line.
        """
        data = self.content()
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.error("not UTF-8 text", line=data.count(b"\n", 0, error.start) + 1) from error

    def decode(self, decoder: Decoder[T], text: bytes, what: str, *, has_bounds: bool = False) -> T:
        """Decode the last line read, see :func:`decode_json`."""
        return decode_json(decoder, text, self.path, what, line=self.line, has_bounds=has_bounds)

    def error(self, message: str, *, line: int | None = None, hint: str | None = None) -> InputFileError:
        """An error about this file, at the given line or the last line read."""
        return InputFileError(self.path, message, line=line or self.line or None, hint=hint)


@contextmanager
def open_input(path: Path | str, limits: Limits, *, may_be_packed: bool = True) -> Iterator[InputFile]:
    """Open a file to be read; ``-`` is standard input.

    Parameters
    ----------
    may_be_packed
        Whether to unpack a gzip file; not for a file that is also written to.

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
                opened.skip_byte_order_mark()
            yield opened
    except (OSError, EOFError, zlib.error) as error:
        # a compressed file is read one line at a time: the next line is the one that cannot be unpacked
        broken = opened.line + 1 if opened.line else None
        raise opened.error(f"cannot read: {system_fault(error)}", line=broken) from error


@contextmanager
def naming_file(path: Path | str) -> Iterator[None]:
    """Name the file in errors about values of it that are valid by themselves, but do not fit the cluster."""
    try:
        yield
    except UsageError as error:
        raise InputFileError(path, error.message, hint=error.hint) from error


def empty_file(path: Path | str) -> InputFileError:
    """The error for a file without content."""
    return InputFileError(path, "is empty")


def read_bytes(path: Path | str, limits: Limits = DOCUMENT) -> bytes:
    """Read a whole file, unpacked.

    Raises
    ------
    InputFileError
        If it cannot be read, or exceeds a limit.
    """
    with open_input(path, limits) as file:
        return file.content()


def read_text(path: Path | str, limits: Limits = SETTINGS) -> str:
    """Read a whole UTF-8 text file.

    Raises
    ------
    InputFileError
        If it cannot be read, is not UTF-8, or exceeds a limit.
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
    """Decode JSON.

    Parameters
    ----------
    what
        What the text should have been, as in ``not a plan``.
    line
        Its line number, if the text is one line of a file; without it the error finds the line itself.
    has_bounds
        The decoder itself refuses integers that are too large, as the types :data:`Int32` and :data:`Int64` do.

    Raises
    ------
    InputFileError
        If it is empty, is not JSON, does not match the decoder's type, or holds an integer beyond 63 bits.
    """
    if not data:
        raise empty_file(path)
    try:
        if not has_bounds and _MANY_DIGITS in data.translate(_ALL_NINES):
            _check_integers(data, path, line)
        if not data.isascii():
            # decoders skip unknown keys without checking their text: a damaged key would be ignored
            data.decode()
        return decoder.decode(data)
    except (ValueError, OverflowError, RecursionError) as error:  # includes the errors of msgspec and UTF-8
        found = line if line is not None else _line_of(str(error), data)
        raise InputFileError(path, f"{what}: {json_fault(error, data)}", line=found) from error


def _check_integers(data: bytes, path: Path | str, line: int | None) -> None:
    value = msgspec.json.decode(data)
    for key, number in _integers(value, "$"):
        if abs(number) > _MOST_INTEGER:
            raise InputFileError(path, fault_at(key, "an integer of more than 63 bits"), line=line)


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
    """The line at which decoding failed, or at which the document was cut off."""
    _, _, position = message.partition("(byte ")
    digits = position.rstrip(")")
    end = int(digits) if digits.isdecimal() else len(data) if "truncated" in message else None
    return None if end is None else data.count(b"\n", 0, end) + 1


def _opened(path: Path | str) -> IO[bytes]:
    if str(path) == STDIN:
        if sys.stdin is None or sys.stdin.closed:
            raise InputFileError(path, "cannot read: it is closed")
        return cast("IO[bytes]", sys.stdin.buffer)
    try:
        return cast("IO[bytes]", _opened_file(path))
    except (OSError, ValueError) as error:
        hint = _DOWNLOAD_HINT if _was_url(path) else None
        raise InputFileError(path, f"cannot read: {system_fault(error)}", hint=hint) from error


def _was_url(path: Path | str) -> bool:
    """Whether a path was given as a URL, of which pathlib keeps a single slash."""
    scheme, slash, _ = str(path).partition(":/")
    return bool(slash) and scheme.isalnum()


def _opened_file(path: Path | str) -> io.FileIO:
    """Open a file; of a named pipe, only if a program writes to it, for which opening alone would wait forever."""
    # without O_NONBLOCK, opening a pipe waits for its writer
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if S_ISFIFO(os.fstat(descriptor).st_mode):
            _await_writer(descriptor)
        os.set_blocking(descriptor, True)
        return io.FileIO(descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _await_writer(pipe: int) -> None:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if poll.poll(_WRITER_WAIT_S * 1000):
        return
    try:
        os.read(pipe, 1)
    except BlockingIOError:
        return  # there is a writer, which has not written yet
    raise OSError(errno.ETIMEDOUT, "no program writes to this pipe")


class _Metered(io.RawIOBase):
    """Counts the bytes read from another file, and enforces its limits."""

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
        # hand over what could be unpacked before touching the next part, which may be damaged
        read = getattr(self._file, "readinto1", None) or cast("io.RawIOBase", self._file).readinto
        found = read(buffer) or 0
        self.count += found
        if self.most_bytes is not None and self.count > self.most_bytes:
            raise InputFileError(self._path, f"longer than {self.most_bytes:,} bytes")
        if self.limits is not None and self.packed is not None and self.count > self.limits.unpacked_bytes_at_any_ratio:
            ratio = self.count / max(self.packed.count, 1)
            if ratio > self.limits.unpacking_ratio:
                raise InputFileError(self._path, f"unpacks to more than {self.limits.unpacking_ratio} times its size")
        return found

    def close(self) -> None:
        if not self.closed and str(self._path) != STDIN:
            self._file.close()
        super().close()
