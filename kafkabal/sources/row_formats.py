"""Formats of rows, and how each is read: lines, JSON Lines, CSV, and the tables, archives and records of others."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import IO, Any, Final, NamedTuple, TypeAlias

import msgspec

from kafkabal.sources.source_protocol import Headers

Fields: TypeAlias = "dict[str, Any]"

# read at once: the lines in it are sent as one block
_READ_BYTES = 1 << 18


class RowFormat(StrEnum):
    """How rows are written."""

    JSONL = "jsonl"
    TEXT = "text"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    TFRECORD = "tfrecord"
    WEBDATASET = "webdataset"

    @property
    def unit(self) -> str:
        """What a row is called in messages, before its number."""
        return _UNITS.get(self, "line")

    @property
    def has_fields(self) -> bool:
        """Whether parts of a row have names."""
        return self not in (RowFormat.TEXT, RowFormat.TFRECORD)

    @property
    def is_sent_as_read(self) -> bool:
        """Whether a row is sent with the bytes that it has in the file."""
        return self in (RowFormat.TEXT, RowFormat.JSONL)

    @property
    def needs_seek(self) -> bool:
        """Whether a file must be read from its end, so that standard input cannot be one."""
        return self in (RowFormat.PARQUET, RowFormat.ARROW)


_UNITS: Final[Mapping[RowFormat, str]] = {
    RowFormat.PARQUET: "row",
    RowFormat.ARROW: "row",
    RowFormat.TFRECORD: "record",
    RowFormat.WEBDATASET: "sample",
}
_SUFFIXES: Final[Mapping[str, RowFormat]] = {
    ".jsonl": RowFormat.JSONL,
    ".ndjson": RowFormat.JSONL,
    ".txt": RowFormat.TEXT,
    ".csv": RowFormat.CSV,
    ".parquet": RowFormat.PARQUET,
    ".arrow": RowFormat.ARROW,
    ".feather": RowFormat.ARROW,
    ".tfrecord": RowFormat.TFRECORD,
    ".tfrecords": RowFormat.TFRECORD,
    ".tar": RowFormat.WEBDATASET,
}


def format_by_name(name: str | None) -> RowFormat | None:
    """The format that a file name shows; JSON Lines for standard input (None), None if the name shows none."""
    return RowFormat.JSONL if name is None else _SUFFIXES.get(PurePath(name).suffix.lower())


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFields:
    """Fields that become parts of a record, by their names; a dot descends into a field: ``image.bytes``."""

    key: str | None = None
    value: str | None = None
    """None sends the whole row."""
    label: str | None = None
    """Becomes the header ``label``."""

    def __iter__(self) -> Iterator[str]:
        """Names of those that are wanted."""
        return iter([name for name in (self.key, self.value, self.label) if name is not None])

    @property
    def any(self) -> bool:
        """Whether rows have to be taken apart."""
        return not (self.key is None and self.value is None and self.label is None)


class Rows(NamedTuple):
    """Rows that were read together."""

    texts: list[bytes]
    fields: list[Fields] | None
    """None where they are not needed."""
    places: Sequence[int]
    """Of each, its line (the last of several), or its number, counted from 1."""
    n_bytes: int
    """Of the source, that were read for them."""
    headers: list[Headers] | None = None
    """None where the format has none."""


class BadRowError(Exception):
    """A row that cannot be read, or the file as a whole where ``place`` is None."""

    def __init__(self, place: int | None, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.message = message
        self.hint = hint


RowReader: TypeAlias = "Callable[[IO[bytes], int, WantedFields], Iterator[Rows]]"
"""Takes a file, its size in bytes (0 where unknown) and the fields that are wanted; raises :class:`BadRowError`."""


def reader_of(row_format: RowFormat) -> RowReader:
    """How rows of a format are read; formats of other libraries import theirs when they are read."""
    if row_format is RowFormat.TFRECORD:
        from kafkabal.sources.tfrecord import tfrecord_rows

        return tfrecord_rows
    if row_format is RowFormat.WEBDATASET:
        from kafkabal.sources.webdataset import webdataset_rows

        return webdataset_rows
    if row_format in (RowFormat.PARQUET, RowFormat.ARROW):
        from kafkabal.sources.arrow_tables import arrow_rows, parquet_rows

        return parquet_rows if row_format is RowFormat.PARQUET else arrow_rows
    return {RowFormat.JSONL: _json_lines, RowFormat.TEXT: _text_lines, RowFormat.CSV: _csv_rows}[row_format]


def field_of(fields: Fields, name: str) -> Any:
    """The field of this name, else the one that its parts between dots lead to.

    Raises
    ------
    KeyError
        If the row does not have it.
    """
    if name in fields:
        return fields[name]
    found: Any = fields
    for part in name.split("."):
        if not isinstance(found, dict):
            raise KeyError(name)
        found = found[part]
    return found


def expect_columns(columns: Sequence[str], wanted: WantedFields) -> None:
    """See that a table has the wanted columns, and each once.

    Raises
    ------
    BadRowError
        If it does not.
    """
    twice = sorted(column for column, count in Counter(columns).items() if count > 1)
    if twice:
        raise BadRowError(None, f"duplicate columns: {', '.join(map(repr, twice))}")
    for field in wanted:
        if field not in columns and field.partition(".")[0] not in columns:
            raise BadRowError(None, f"unknown column: {field}", f"choose from: {', '.join(columns)}")


def _text_lines(file: IO[bytes], size_bytes: int, wanted: WantedFields) -> Iterator[Rows]:  # noqa: ARG001
    yield from _lines(file)


def _json_lines(file: IO[bytes], size_bytes: int, wanted: WantedFields) -> Iterator[Rows]:  # noqa: ARG001
    if not wanted.any:
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
            raise BadRowError(rows.places[done], f"is not a JSON object: {error}") from error
        yield rows._replace(fields=fields)


def _csv_rows(file: IO[bytes], size_bytes: int, wanted: WantedFields) -> Iterator[Rows]:  # noqa: ARG001
    csv.field_size_limit(min(sys.maxsize, 1 << 30))
    lines = _CsvLines(file)
    reader = csv.DictReader(lines, strict=True)
    texts: list[bytes] = []
    fields: list[Fields] = []
    places: list[int] = []
    counted_bytes = 0
    fault = None
    try:
        expect_columns(reader.fieldnames or (), wanted)
        for row in reader:
            if None in row or None in row.values():
                fault = BadRowError(reader.line_num, "number of fields differs from the first line")
                break
            texts.append(msgspec.json.encode(row))
            fields.append(row)
            places.append(reader.line_num)
            if not lines.waiting:  # what comes next may take long
                yield Rows(texts, fields, places, lines.read_bytes - counted_bytes)
                counted_bytes, texts, fields, places = lines.read_bytes, [], [], []
    except csv.Error as error:
        fault = BadRowError(reader.line_num, f"is not CSV: {error}")
    except UnicodeDecodeError:
        fault = BadRowError(lines.number, "is not CSV: it is not in UTF-8")
    if texts or lines.read_bytes > counted_bytes:
        yield Rows(texts, fields, places, lines.read_bytes - counted_bytes)
    if fault is not None:
        raise fault


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


def _lines(file: IO[bytes]) -> Iterator[Rows]:
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
        yield Rows(lines, None, places, len(piece))
