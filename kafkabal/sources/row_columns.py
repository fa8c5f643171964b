"""Rows on their way to records: cut where others begin, taken into a checksum, measured, labelled."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import msgspec

from kafkabal.sources.record_headers import LABEL_HEADER, header_bytes
from kafkabal.sources.row_reader_protocol import Rows
from kafkabal.sources.source_protocol import Headers


class RowColumns(NamedTuple):
    """Parts of records, of one length."""

    values: list[bytes]
    keys: list[bytes | None] | None
    headers: list[Headers] | None

    def sizes(self) -> list[int]:
        """Bytes of each record, key and headers included."""
        sizes = list(map(len, self.values))
        if self.keys is not None:
            sizes = [n + len(key or b"") for n, key in zip(sizes, self.keys, strict=True)]
        if self.headers is not None:
            sizes = [n + header_bytes(of_row) for n, of_row in zip(sizes, self.headers, strict=True)]
        return sizes


def cut_rows(rows: Rows, at: int) -> tuple[Rows, Rows]:
    """The first so many rows, and the others; bytes in proportion to their texts."""
    if at >= len(rows.texts):
        return rows, Rows([], None, (), 0)
    before, after = rows.texts[:at], rows.texts[at:]
    fields = (None, None) if rows.fields is None else (rows.fields[:at], rows.fields[at:])
    headers = (None, None) if rows.headers is None else (rows.headers[:at], rows.headers[at:])
    n_before, n_after = sum(map(len, before)) + at, sum(map(len, after)) + len(after)
    n_bytes = rows.n_bytes * n_before // (n_before + n_after)
    return (
        Rows(before, fields[0], rows.places[:at], n_bytes, headers[0]),
        Rows(after, fields[1], rows.places[at:], rows.n_bytes - n_bytes, headers[1]),
    )


def add_to_digest(digest: Any, columns: RowColumns) -> None:
    """Take rows into a checksum, which must not depend on how rows are cut into blocks."""
    by_row = [columns.values]
    if columns.keys is not None:
        by_row.insert(0, [b"" if key is None else b"=" + key for key in columns.keys])
    if columns.headers is not None:
        by_row.append([msgspec.json.encode(of_row) for of_row in columns.headers])
    if columns.values:
        parts = columns.values if len(by_row) == 1 else chain.from_iterable(zip(*by_row, strict=True))
        digest.update(b"\n".join(parts))
        digest.update(b"\n")


def with_label(headers: Headers, label: bytes | None) -> Headers:
    """With this label in place of any other."""
    others = [header for header in headers if header[0] != LABEL_HEADER]
    return others if label is None else [*others, (LABEL_HEADER, label)]
