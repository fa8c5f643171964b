"""Rows as records: the lines of a JSON Lines or text file, the rows of a CSV or Parquet file, or standard input."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, NamedTuple, TypeAlias

import msgspec

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.source_protocol import (
    Block,
    ChangedRowsError,
    Listing,
    Part,
    RecordSize,
    RowChecksum,
    Wanted,
    printable,
)

_FIELD_BYTES = 1 << 30
_ROWS_A_BATCH = 1024
# read at once: the lines in it are sent as one block
_READ_BYTES = 1 << 18


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

Fields: TypeAlias = "dict[str, Any]"


class _Rows(NamedTuple):
    """Rows that were read together."""

    texts: list[bytes]
    fields: list[Fields] | None
    """None where they are not needed."""
    places: Sequence[int]
    """Of each, its line (the last of several), or its number in Parquet, counted from 1."""
    n_bytes: int
    """Of the source, that were read for them."""


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
        If the name does not show the format, or a field of plain text is asked for.
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
            raise UsageError("lines of plain text have no fields", hint="use --format jsonl if they are JSON")
        if self._format is RowFormat.PARQUET and path is None:
            raise UsageError("cannot read Parquet from standard input", hint="give the file name")

    @property
    def name(self) -> str:
        """See :attr:`Source.name`."""
        return printable(f"file {self._path.resolve()}") if self._path else "standard input"

    @property
    def options(self) -> Mapping[str, str]:
        """See :attr:`Source.options`; a format that follows from the name does not count."""
        row_format = None if self._format is _format_told_by(self._path) else self._format.value
        given = {"--format": row_format, "--key": self._key_field, "--value": self._value_field}
        return {option: value for option, value in given.items() if value is not None}

    @property
    def is_keyed(self) -> bool:
        """See :attr:`Source.is_keyed`."""
        return self._key_field is not None

    @property
    def is_stream(self) -> bool:
        """See :attr:`Source.is_stream`."""
        return self._path is None

    def listing(self) -> Listing:
        """See :meth:`Source.listing`."""
        if self._path is None:
            return Listing([Part(name="-")])
        try:
            stat = self._path.stat()
        except OSError as error:
            raise self._unfit(f"cannot read: {error.strerror or error}") from error
        if not S_ISREG(stat.st_mode):
            raise self._unfit("is not a regular file", hint="read it from standard input: - < FILE")
        if not stat.st_size:
            raise self._unfit("empty file")
        return Listing([Part(name=self._path.name, size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns)])

    def too_large(self, parts: Iterable[Part], limit_bytes: int, tick: Callable[[], None]) -> Iterator[RecordSize]:
        """See :meth:`Source.too_large`; also finds rows that cannot be sent."""
        if self._path is None:
            return
        for part in parts:
            if part.size_bytes <= limit_bytes and not (self._key_field or self._value_field or self._is_table):
                continue
            if not (self._key_field or self._value_field or self._is_table or self._has_long_lines(part, limit_bytes)):
                continue
            for block in self.blocks([Wanted(0, 0, part)]):
                tick()
                if max(block.sizes, default=0) > limit_bytes:
                    for at, size_bytes in enumerate(block.sizes):
                        if size_bytes > limit_bytes:
                            yield RecordSize(block.name_of(at), size_bytes)

    def _has_long_lines(self, part: Part, limit_bytes: int) -> bool:
        """Whether a line may be longer; quick, since the first line break of every half of the limit is enough.

        A longer line covers one of these halves as a whole.
        """
        with self._opened(part) as file:
            while piece := file.read(max(1, limit_bytes // 2)):
                if b"\n" not in piece:
                    return True
        return False

    def checksum(self, part: Part) -> str | None:  # noqa: ARG002
        """See :meth:`Source.checksum`."""
        return None

    def begins_with(self, part: Part, rows: RowChecksum) -> bool:
        """See :meth:`Source.begins_with`."""
        try:
            # up to the first block after these rows, which comes only if they are as they were
            with closing(self.blocks([Wanted(0, 0, part, rows.rows, rows)])) as blocks:
                next(blocks, None)
        except ChangedRowsError:
            return False
        return True

    def blocks(self, wanted: Iterable[Wanted]) -> Generator[Block, None, None]:
        """See :meth:`Source.blocks`; of a file to which rows are added meanwhile, those as well."""
        for each in wanted:
            with self._opened(each.part) as file:
                sent = yield from self._blocks(each, file)
                self._expect_same(file, each.part, sent)

    def _blocks(self, wanted: Wanted, file: IO[bytes]) -> Generator[Block, None, RowChecksum]:
        """Rows as blocks; those that are not wanted are compared with what is known of them, as far as it goes."""
        digest, passed, skipped_bytes = sha256(), 0, 0
        known = wanted.rows or RowChecksum(rows=0, sha256=digest.hexdigest())
        for read in self._rows(file):
            left = read
            for end in (known.rows, wanted.start):
                if passed < end and left.texts:
                    before, left = _cut(left, end - passed)
                    passed += self._pass(before, digest)
                    skipped_bytes += before.n_bytes
                if passed == end == known.rows and digest.hexdigest() != known.sha256:
                    raise self._other_rows(known)
            if not left.texts:
                skipped_bytes += left.n_bytes
                continue
            keys, values, fault = self._columns(left)
            _digest(digest, keys, values)
            first, passed = passed, passed + len(values)
            if values:
                yield Block(
                    numbers=range(wanted.first + first, wanted.first + passed),
                    values=values,
                    sizes=_sizes(values, keys),
                    keys=keys,
                    name_of=lambda at, places=left.places: self._row_name(places[at]),  # type: ignore[misc]
                    progress_bytes=left.n_bytes,
                    skipped_bytes=skipped_bytes,
                    rows=RowChecksum(rows=passed, sha256=digest.hexdigest()),
                )
            skipped_bytes = 0
            if fault is not None:
                raise fault
        if passed < known.rows:
            raise self._other_rows(known, passed)
        if skipped_bytes:
            yield Block(numbers=(), values=[], sizes=[], name_of=str, skipped_bytes=skipped_bytes)
        return RowChecksum(rows=passed, sha256=digest.hexdigest())

    def _pass(self, rows: _Rows, digest: Any) -> int:
        """Skip rows; how many."""
        keys, values, fault = self._columns(rows)
        if fault is not None:
            raise fault
        _digest(digest, keys, values)
        return len(values)

    def _columns(self, rows: _Rows) -> tuple[list[bytes | None] | None, list[bytes], InputFileError | None]:
        """Keys and values, up to the first row that cannot be sent, and why."""
        if rows.fields is None or (self._key_field is None and self._value_field is None):
            return None, rows.texts, None
        keys: list[bytes | None] = []
        values: list[bytes] = []
        fault = None
        try:
            for text, fields, place in zip(rows.texts, rows.fields, rows.places, strict=True):
                key = None if self._key_field is None else self._key(fields, place)
                values.append(text if self._value_field is None else self._value(fields, place))
                keys.append(key)
        except InputFileError as error:
            fault = error
        return (None if self._key_field is None else keys), values, fault

    def _other_rows(self, known: RowChecksum, found: int | None = None) -> ChangedRowsError:
        if found is None:
            what = f"rows 1 to {known.rows} are not the rows that were sent before"
        else:
            what = f"it ends after {found} rows, of which {known.rows} were sent before"
        again = "" if self._path is None else "add --resend to send the whole file again, or "
        return ChangedRowsError(
            printable(str(self._path or "standard input")),
            what,
            hint=f"{again}feed the same rows, or start another record of sent rows with --manifest FILE",
        )

    @property
    def _is_table(self) -> bool:
        return self._format in (RowFormat.CSV, RowFormat.PARQUET)

    def _opened(self, part: Part) -> IO[bytes]:
        if self._stream is not None:
            return io.BufferedReader(_Unclosed(self._stream))
        assert self._path is not None
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise self._unfit(f"cannot read: {error.strerror or error}") from error
        self._expect_unchanged(file, part)
        return file

    def _expect_unchanged(self, file: IO[bytes], part: Part) -> None:
        if self._path is None:
            return
        stat = os.fstat(file.fileno())
        if (stat.st_size, stat.st_mtime_ns) != (part.size_bytes, part.mtime_ns):
            raise self._unfit("changed while it was being sent")

    def _expect_same(self, file: IO[bytes], part: Part, sent: RowChecksum) -> None:
        """See that the file still is what was sent; added rows do not count as a change."""
        try:
            self._expect_unchanged(file, part)
        except InputFileError:
            stat = os.fstat(file.fileno())
            if self._format is RowFormat.PARQUET or stat.st_size <= part.size_bytes:
                raise
            grown = Part(name=part.name, size_bytes=stat.st_size, mtime_ns=stat.st_mtime_ns)
            if not self.begins_with(grown, sent):
                raise

    def _rows(self, file: IO[bytes]) -> Iterator[_Rows]:
        readers: dict[RowFormat, Callable[[IO[bytes]], Iterator[_Rows]]] = {
            RowFormat.JSONL: self._json_lines,
            RowFormat.TEXT: _lines,
            RowFormat.CSV: self._csv_rows,
            RowFormat.PARQUET: self._parquet_rows,
        }
        return readers[self._format](file)

    def _json_lines(self, file: IO[bytes]) -> Iterator[_Rows]:
        if self._key_field is None and self._value_field is None:
            yield from _lines(file)
            return
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        for rows in _lines(file):
            fields: list[Fields] = []
            try:
                for text in rows.texts:
                    fields.append(decode(text))  # noqa: PERF401 - its length at an error gives the line
            except (ValueError, RecursionError) as error:  # among them the errors of msgspec and of UTF-8
                done = len(fields)
                if done:
                    yield rows._replace(texts=rows.texts[:done], fields=fields, places=rows.places[:done], n_bytes=0)
                raise self._fault(rows.places[done], f"is not a JSON object: {error}") from error
            yield rows._replace(fields=fields)

    def _csv_rows(self, file: IO[bytes]) -> Iterator[_Rows]:
        csv.field_size_limit(_FIELD_BYTES)
        lines = _CsvLines(file)
        reader = csv.DictReader(lines, strict=True)
        texts: list[bytes] = []
        fields: list[Fields] = []
        places: list[int] = []
        told_bytes = 0
        fault = None
        try:
            self._expect_columns(reader.fieldnames or ())
            for row in reader:
                if None in row or None in row.values():
                    fault = self._fault(reader.line_num, "number of fields differs from the first line")
                    break
                texts.append(msgspec.json.encode(row))
                fields.append(row)
                places.append(reader.line_num)
                if not lines.waiting:  # what comes next may take long
                    yield _Rows(texts, fields, places, lines.read_bytes - told_bytes)
                    told_bytes, texts, fields, places = lines.read_bytes, [], [], []
        except csv.Error as error:
            fault = self._fault(reader.line_num, f"is not CSV: {error}")
        except UnicodeDecodeError:
            fault = self._fault(lines.number, "is not CSV: it is not in UTF-8")
        if texts or lines.read_bytes > told_bytes:
            yield _Rows(texts, fields, places, lines.read_bytes - told_bytes)
        if fault is not None:
            raise fault

    def _expect_columns(self, columns: Sequence[str]) -> None:
        twice = sorted(column for column, count in Counter(columns).items() if count > 1)
        if twice:
            raise self._unfit(f"duplicate columns: {', '.join(map(repr, twice))}")
        for field in (self._key_field, self._value_field):
            if field is not None and field not in columns:
                raise self._unfit(f"unknown column: {field}", hint=f"choose from: {', '.join(columns)}")

    def _parquet_rows(self, file: IO[bytes]) -> Iterator[_Rows]:
        try:
            from pyarrow import ArrowException, parquet
        except ImportError:
            raise UsageError("reading Parquet requires pyarrow", hint="pip install 'kafkabal[parquet]'") from None
        number = 0
        try:
            table = parquet.ParquetFile(file)
            self._expect_columns(table.schema_arrow.names)
            size_bytes, rows = os.fstat(file.fileno()).st_size, table.metadata.num_rows
            for batch in table.iter_batches(_ROWS_A_BATCH):
                fields = self._python_rows(batch, number + 1)
                texts = [b""] * len(fields) if self._value_field else list(map(msgspec.json.encode, fields))
                done_bytes = size_bytes * number // rows
                places = range(number + 1, number + len(fields) + 1)
                number += len(fields)
                yield _Rows(texts, fields, places, size_bytes * number // rows - done_bytes)
        except (ArrowException, OSError) as error:
            raise self._fault(number + 1, f"is not Parquet: {error}") from error

    def _python_rows(self, batch: Any, number: int) -> list[Fields]:
        try:
            rows: list[Fields] = batch.to_pylist()
        except (ValueError, OverflowError) as error:  # such as fields of the same name within a column
            raise self._fault(number, f"cannot read: {error}") from error
        return rows

    def _key(self, fields: Fields, number: int) -> bytes | None:
        assert self._key_field is not None
        if self._key_field not in fields:
            hint = "use null for rows without a key"
            raise self._fault(number, f"missing key field {self._key_field!r}", hint=hint)
        key = fields[self._key_field]
        return None if key is None else self._as_bytes(key, self._key_field, number)

    def _value(self, fields: Fields, number: int) -> bytes:
        assert self._value_field is not None
        if fields.get(self._value_field) is None:
            raise self._fault(number, f"missing field {self._value_field!r}")
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
        raise self._fault(number, f"field {field!r} must be text, a number or bytes")

    def _row_name(self, number: int) -> str:
        what = "row" if self._format is RowFormat.PARQUET else "line"
        return f"{printable(str(self._path or 'standard input'))}, {what} {number}"

    def _unfit(self, message: str, *, hint: str | None = None) -> InputFileError:
        return InputFileError(printable(str(self._path or "standard input")), message, hint=hint)

    def _fault(self, number: int, message: str, *, hint: str | None = None) -> InputFileError:
        if self._format is RowFormat.PARQUET:
            return self._unfit(f"row {number}: {message}", hint=hint)
        return InputFileError(printable(str(self._path or "standard input")), message, line=number, hint=hint)


class _Unclosed(io.RawIOBase):
    """A stream that is read but not closed, since it belongs to someone else."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _CsvLines:
    """Lines of a file, decoded one by one: a reader ahead of the rows could not say which is not UTF-8."""

    def __init__(self, file: IO[bytes]) -> None:
        self._pieces = _whole_lines(file)
        self._lines: list[bytes] = []
        self.number = 0
        self.read_bytes = 0

    @property
    def waiting(self) -> int:
        """Lines that were read and not asked for yet."""
        return len(self._lines)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._lines:
            piece = next(self._pieces)
            self.read_bytes += len(piece)
            self._lines = piece.splitlines(keepends=True)[::-1]
        self.number += 1
        return self._lines.pop().decode("utf-8-sig" if self.number == 1 else "utf-8")


def _whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """What one read gives after the other, each up to the end of its last line."""
    pieces: list[bytes] = []
    while data := file.read1(_READ_BYTES):  # type: ignore[attr-defined]
        end = data.rfind(b"\n") + 1
        if end:
            yield b"".join([*pieces, data[:end]])
            pieces = [data[end:]] if end < len(data) else []
        else:
            pieces.append(data)
    if pieces:
        yield b"".join(pieces)


def _lines(file: IO[bytes]) -> Iterator[_Rows]:
    number = 1
    for piece in _whole_lines(file):
        lines = piece.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if b"\r" in piece:
            lines = [line.rstrip(b"\r") for line in lines]
        places: Sequence[int] = range(number, number + len(lines))
        number += len(lines)
        if b"" in lines:
            places = [place for place, line in zip(places, lines, strict=True) if line]
            lines = [line for line in lines if line]
        yield _Rows(lines, None, places, len(piece))


def _cut(rows: _Rows, at: int) -> tuple[_Rows, _Rows]:
    """The first so many rows, and the others; bytes in proportion to their texts."""
    if at >= len(rows.texts):
        return rows, _Rows([], None, (), 0)
    before, after = rows.texts[:at], rows.texts[at:]
    fields = (None, None) if rows.fields is None else (rows.fields[:at], rows.fields[at:])
    n_before, n_after = sum(map(len, before)) + at, sum(map(len, after)) + len(after)
    n_bytes = rows.n_bytes * n_before // (n_before + n_after)
    return (
        _Rows(before, fields[0], rows.places[:at], n_bytes),
        _Rows(after, fields[1], rows.places[at:], rows.n_bytes - n_bytes),
    )


def _digest(digest: Any, keys: list[bytes | None] | None, values: list[bytes]) -> None:
    """Take rows into a checksum, which must not depend on how rows are cut into blocks."""
    if keys is not None:
        named = [b"" if key is None else b"=" + key for key in keys]
        values = [part for row in zip(named, values, strict=True) for part in row]
    if values:
        digest.update(b"\n".join(values))
        digest.update(b"\n")


def _sizes(values: list[bytes], keys: list[bytes | None] | None) -> list[int]:
    sizes = list(map(len, values))
    return sizes if keys is None else [n + len(key or b"") for n, key in zip(sizes, keys, strict=True)]


def _format_of(path: Path | None) -> RowFormat:
    told = _format_told_by(path)
    if told is None:
        known = ", ".join(f.value for f in RowFormat)
        raise UsageError(f"{path}: unknown file format", hint=f"add --format, one of {known}")
    return told


def _format_told_by(path: Path | None) -> RowFormat | None:
    return RowFormat.JSONL if path is None else _SUFFIXES.get(path.suffix.lower())
