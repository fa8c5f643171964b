"""Formats of rows: which format a file name implies, and which reader it has."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePath
from typing import Final

from kafkabal.sources.row_reader_protocol import RowReader
from kafkabal.sources.text_rows import csv_rows, json_lines, text_lines


class RowFormat(StrEnum):
    """A format of rows."""

    JSONL = "jsonl"
    TEXT = "text"
    CSV = "csv"
    PARQUET = "parquet"
    ARROW = "arrow"
    TFRECORD = "tfrecord"
    WEBDATASET = "webdataset"

    @property
    def unit(self) -> str:
        """What messages call a row, before its number."""
        return _UNITS.get(self, "line")

    @property
    def has_fields(self) -> bool:
        """Whether rows have named fields."""
        return self not in (RowFormat.TEXT, RowFormat.TFRECORD)

    @property
    def is_sent_as_read(self) -> bool:
        """Whether a row is sent byte for byte as it is in the file."""
        return self in (RowFormat.TEXT, RowFormat.JSONL)

    @property
    def needs_seek(self) -> bool:
        """Whether reading starts at the end of the file, which rules out standard input."""
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
_PACKED_ARCHIVES: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst")


def format_by_name(name: str | None) -> RowFormat | None:
    """The format that a file name implies; JSON Lines for standard input (None); None if it implies none."""
    if name is not None and name.lower().endswith(_PACKED_ARCHIVES):
        return RowFormat.WEBDATASET
    return format_by_last_suffix(name)


def format_by_last_suffix(name: str | None) -> RowFormat | None:
    """As :func:`format_by_name`, without archives that are compressed."""
    return RowFormat.JSONL if name is None else _SUFFIXES.get(PurePath(name).suffix.lower())


def reader_of(row_format: RowFormat) -> RowReader:
    """The reader of a format; formats of other libraries import them when they are read."""
    if row_format is RowFormat.TFRECORD:
        from kafkabal.sources.tfrecord import tfrecord_rows

        return tfrecord_rows
    if row_format is RowFormat.WEBDATASET:
        from kafkabal.sources.webdataset import webdataset_rows

        return webdataset_rows
    if row_format in (RowFormat.PARQUET, RowFormat.ARROW):
        from kafkabal.sources.arrow_tables import arrow_rows, parquet_rows

        return parquet_rows if row_format is RowFormat.PARQUET else arrow_rows
    return {RowFormat.JSONL: json_lines, RowFormat.TEXT: text_lines, RowFormat.CSV: csv_rows}[row_format]
