"""Rows as records: the lines of a JSON Lines or text file, the rows of a CSV or Parquet file, or standard input."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, TypeAlias

import msgspec

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.source_protocol import Part, Record, RecordSize

_FIELD_BYTES = 1 << 30
_ROWS_A_BATCH = 1024


class RowFormat(StrEnum):
    """How rows are written."""

    JSONL = "jsonl"
    TEXT = "text"
    CSV = "csv"
    PARQUET = "parquet"


_SUFFIXES = {
    ".jsonl": RowFormat.JSONL,
    ".ndjson": RowFormat.JSONL,
    ".txt": RowFormat.TEXT,
    ".csv": RowFormat.CSV,
    ".parquet": RowFormat.PARQUET,
}

Row: TypeAlias = "tuple[int, bytes, dict[str, Any] | None, int]"
"""Number counted from 1 of its line (the last of several), or of the row in Parquet; its text; fields where read; and
how many bytes of the source have been read for it and those before it."""


class RowSource:
    """A record a row.

    A line is sent as it stands, without its line break, and empty lines are skipped; a row of CSV or Parquet is sent
    as a JSON object. With ``value_field`` only that field is sent: text as UTF-8, bytes as they are.

    Parameters
    ----------
    path
        None reads ``stream``.
    key_field
        Field that is taken as the key. Every row must have it; one in which it is null has no key.

    Raises
    ------
    UsageError
        If the format cannot be told from the name, or plain text is asked for fields.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        stream: io.BufferedIOBase | None = None,
        row_format: RowFormat | None = None,
        key_field: str | None = None,
        value_field: str | None = None,
    ) -> None:
        assert (path is None) != (stream is None)
        self._path = path
        self._stream = stream
        self._format = row_format or _format_of(path)
        self._key_field = key_field
        self._value_field = value_field
        if self._format is RowFormat.TEXT and (key_field or value_field):
            raise UsageError("lines of plain text have no fields", hint="say --format jsonl if they are JSON")
        if self._format is RowFormat.PARQUET and path is None:
            raise UsageError("Parquet cannot be read from standard input", hint="give the file by name")

    @property
    def name(self) -> str:
        """See :attr:`Source.name`."""
        return f"file {self._path.resolve()}" if self._path else "standard input"

    @property
    def options(self) -> Mapping[str, str]:
        """See :attr:`Source.options`; a format that the name tells as well is none."""
        row_format = None if self._format is _format_told_by(self._path) else self._format.value
        given = {"--format": row_format, "--key": self._key_field, "--value": self._value_field}
        return {option: value for option, value in given.items() if value is not None}

    @property
    def is_keyed(self) -> bool:
        """See :attr:`Source.is_keyed`."""
        return self._key_field is not None

    def parts(self) -> Sequence[Part]:
        """See :meth:`Source.parts`."""
        if self._path is None:
            return [Part(name="-")]
        try:
            stat = self._path.stat()
        except OSError as error:
            raise InputFileError(self._path, f"cannot be read: {error.strerror or error}") from error
        if not S_ISREG(stat.st_mode):
            raise InputFileError(self._path, "is no regular file", hint="feed it as standard input: - < FILE")
        if not stat.st_size:
            raise InputFileError(self._path, "is empty")
        return [Part(name=self._path.name, size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns)]

    def sizes(self, part: Part) -> Iterator[RecordSize]:
        """See :meth:`Source.sizes`."""
        if self._path is not None:
            for record in self.records(part, 0):
                yield RecordSize(record.name, len(record.value) + len(record.key or b""))

    def records(self, part: Part, start: int) -> Iterator[Record]:
        """See :meth:`Source.records`."""
        with self._opened(part) as file:
            rows = self._rows(file)
            before = deque(islice(rows, start), maxlen=1)
            skipped = done = before[0][-1] if before else 0
            for number, text, fields, read in rows:
                key = self._key(fields, number)
                value = text if self._value_field is None else self._value(fields, number)
                yield Record(self._row_name(number), value, key, [], read - done, skipped)
                skipped, done = 0, read
            self._expect_unchanged(file, part)

    def _opened(self, part: Part) -> IO[bytes]:
        if self._stream is not None:
            return io.BufferedReader(_Unclosed(self._stream))
        assert self._path is not None
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise InputFileError(self._path, f"cannot be read: {error.strerror or error}") from error
        self._expect_unchanged(file, part)
        return file

    def _expect_unchanged(self, file: IO[bytes], part: Part) -> None:
        if self._path is None:
            return
        stat = os.fstat(file.fileno())
        if (stat.st_size, stat.st_mtime_ns) != (part.size_bytes, part.mtime_ns):
            raise InputFileError(self._path, "changed while it was being sent")

    def _rows(self, file: IO[bytes]) -> Iterator[Row]:
        readers: dict[RowFormat, Callable[[IO[bytes]], Iterator[Row]]] = {
            RowFormat.JSONL: self._json_lines,
            RowFormat.TEXT: _lines,
            RowFormat.CSV: self._csv_rows,
            RowFormat.PARQUET: self._parquet_rows,
        }
        return readers[self._format](file)

    def _json_lines(self, file: IO[bytes]) -> Iterator[Row]:
        if self._key_field is None and self._value_field is None:
            yield from _lines(file)
            return
        decoder = msgspec.json.Decoder(dict[str, Any])
        for number, line, _, read in _lines(file):
            try:
                yield number, line, decoder.decode(line), read
            except (ValueError, RecursionError) as error:  # among them the errors of msgspec and of UTF-8
                raise self._fault(number, f"is no JSON object: {error}") from error

    def _csv_rows(self, file: IO[bytes]) -> Iterator[Row]:
        csv.field_size_limit(_FIELD_BYTES)
        text = io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.DictReader(self._decoded(text), strict=True)
        try:
            self._expect_columns(reader.fieldnames or ())
            for row in reader:
                if None in row or None in row.values():
                    raise self._fault(reader.line_num, "has not as many fields as the first line")
                yield reader.line_num, msgspec.json.encode(row), row, file.tell()
        except csv.Error as error:
            raise self._fault(reader.line_num, f"is no CSV: {error}") from error
        finally:
            text.detach()  # or it would close the file, which is not its own

    def _decoded(self, lines: Iterable[str]) -> Iterator[str]:
        """The same lines, each seen to be UTF-8: a reader ahead of the rows could not say which is not."""
        for number, line in enumerate(lines, 1):
            try:
                line.encode()
            except UnicodeEncodeError:
                raise self._fault(number, "is no CSV: it is not in UTF-8") from None
            yield line

    def _expect_columns(self, columns: Sequence[str]) -> None:
        twice = sorted(column for column, count in Counter(columns).items() if count > 1)
        if twice:
            raise self._unfit(f"has several columns of the same name: {', '.join(map(repr, twice))}")
        for field in (self._key_field, self._value_field):
            if field is not None and field not in columns:
                hint = f"there are: {', '.join(columns)}"
                raise self._unfit(f"there is no column {field!r}", hint=hint)

    def _parquet_rows(self, file: IO[bytes]) -> Iterator[Row]:
        try:
            from pyarrow import ArrowException, parquet
        except ImportError:
            raise UsageError("reading Parquet needs pyarrow", hint="pip install 'kafkabal[parquet]'") from None
        number = 0
        try:
            table = parquet.ParquetFile(file)
            self._expect_columns(table.schema_arrow.names)
            size_bytes, rows = os.fstat(file.fileno()).st_size, table.metadata.num_rows
            for batch in table.iter_batches(_ROWS_A_BATCH):
                for row in self._python_rows(batch, number + 1):
                    number += 1
                    text = b"" if self._value_field else msgspec.json.encode(row)
                    yield number, text, row, size_bytes * number // rows
        except (ArrowException, OSError) as error:
            raise self._fault(number + 1, f"is no Parquet: {error}") from error

    def _python_rows(self, batch: Any, number: int) -> list[dict[str, Any]]:
        try:
            rows: list[dict[str, Any]] = batch.to_pylist()
        except (ValueError, OverflowError) as error:  # such as fields of the same name within a column
            raise self._fault(number, f"cannot be read: {error}") from error
        return rows

    def _key(self, fields: dict[str, Any] | None, number: int) -> bytes | None:
        if self._key_field is None or fields is None:
            return None
        if self._key_field not in fields:
            hint = "a row without a key has null there"
            raise self._fault(number, f"has no field {self._key_field!r} to take as a key", hint=hint)
        key = fields[self._key_field]
        return None if key is None else self._as_bytes(key, self._key_field, number)

    def _value(self, fields: dict[str, Any] | None, number: int) -> bytes:
        assert self._value_field is not None
        if fields is None or fields.get(self._value_field) is None:
            raise self._fault(number, f"has no field {self._value_field!r}")
        return self._as_bytes(fields[self._value_field], self._value_field, number)

    def _as_bytes(self, value: Any, field: str, number: int) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, bool):
            return msgspec.json.encode(value)
        if isinstance(value, int | float):
            return str(value).encode()
        raise self._fault(number, f"has a {field!r} that is neither text, number nor bytes")

    def _row_name(self, number: int) -> str:
        what = "row" if self._format is RowFormat.PARQUET else "line"
        return f"{self._path or 'standard input'}, {what} {number}"

    def _unfit(self, message: str, *, hint: str | None = None) -> InputFileError:
        return InputFileError(self._path or "standard input", message, hint=hint)

    def _fault(self, number: int, message: str, *, hint: str | None = None) -> InputFileError:
        if self._format is RowFormat.PARQUET:
            return self._unfit(f"row {number}: {message}", hint=hint)
        return InputFileError(self._path or "standard input", message, line=number, hint=hint)


class _Unclosed(io.RawIOBase):
    """A stream that is read but not closed, since it belongs to someone else."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream
        self._read_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        self._read_bytes += len(data)
        return len(data)

    def tell(self) -> int:
        """How much was read; of the stream itself, which may be a pipe, nobody could tell."""
        return self._read_bytes


def _lines(file: IO[bytes]) -> Iterator[Row]:
    read = 0
    for number, line in enumerate(file, 1):
        read += len(line)
        text = line.rstrip(b"\r\n")
        if text:
            yield number, text, None, read


def _format_of(path: Path | None) -> RowFormat:
    told = _format_told_by(path)
    if told is None:
        known = ", ".join(f.value for f in RowFormat)
        raise UsageError(f"{path}: the format cannot be told from its name", hint=f"say --format: {known}")
    return told


def _format_told_by(path: Path | None) -> RowFormat | None:
    return RowFormat.JSONL if path is None else _SUFFIXES.get(path.suffix.lower())
