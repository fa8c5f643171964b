"""Joins and checks files that were split into several records (``kafkabal produce --chunk``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

from kafkabal.clusters.kafka import RawRecord, RecordColumns, unpack_headers
from kafkabal.errors import OperationError
from kafkabal.sources import CHECKSUM_HEADER, CHUNK_HEADER, PATH_HEADER

_CHUNK = CHUNK_HEADER.encode()
_NUMBER_OF = re.compile(rb"(\d{1,9})/(\d{1,9})")

FileKey = tuple[bytes, bytes, int]
"""Path, checksum and number of pieces, as a file may be sent again in chunks of another size; for a record that is not
a piece, its partition and offset."""


@dataclass(slots=True)
class PiecedFile:
    """A file, as far as its pieces are known."""

    of: int
    """Number of its pieces."""
    pieces: dict[int, tuple[int, RawRecord]] = field(default_factory=dict)
    """Partition and record of each piece, by its number from 1 on."""

    @property
    def is_whole(self) -> bool:
        """Whether all pieces are present."""
        return len(self.pieces) == self.of

    @property
    def first(self) -> tuple[int, int, int]:
        """Timestamp, partition and offset of the first piece."""
        partition, record = self.pieces[1]
        return record[1], partition, record[0]

    @property
    def places(self) -> Iterator[tuple[int, int]]:
        """Partition and offset of each piece."""
        return ((partition, record[0]) for partition, record in self.pieces.values())

    def joined(self) -> tuple[RawRecord, str | None]:
        """The first piece, with the value of the whole file; and what is wrong if its checksum is not that of the sent
        file."""
        _, (offset, stamp, key, _, headers) = self.pieces[1]
        if self.of == 1:
            return self.pieces[1][1], None
        whole = b"".join(self.pieces[number][1][3] or b"" for number in range(1, self.of + 1))
        named, fault = dict(unpack_headers(headers)), None
        if sha256(whole).hexdigest().encode() != named.get(CHECKSUM_HEADER):
            path = (named.get(PATH_HEADER) or b"").decode(errors="replace")
            fault = f"the pieces of {path} are not the file that was sent"
        return (offset, stamp, key, whole, headers), fault


def first_piece(records: RecordColumns) -> int | None:
    """Index of the first record that is one of several pieces of a file; None if there is none."""
    rows = np.flatnonzero(records.has_headers)  # nearly no topic has any
    for row, headers in zip(rows.tolist(), records.packed_headers(rows), strict=False):
        if _is_piece(headers):
            return int(row)
    return None


def _is_piece(headers: bytes) -> bool:
    # called for every record with headers, and few have this one
    if len(headers) <= len(_CHUNK) or _CHUNK not in headers:
        return False
    return any(name == CHUNK_HEADER for name, _ in unpack_headers(headers))


def place_of(partition: int, record: RawRecord) -> tuple[FileKey, int, int]:
    """The file that a record belongs to, the record's number in it from 1 on, and the number of pieces.

    Raises
    ------
    OperationError
        If its header is not one that ``kafkabal produce`` writes.
    """
    alone = (b"", b"%d@%d" % (partition, record[0]), 1)
    if _CHUNK not in record[4]:
        return alone, 1, 1
    named = dict(unpack_headers(record[4]))
    chunk = named.get(CHUNK_HEADER)
    if chunk is None:
        return alone, 1, 1
    parsed = parse_chunk(chunk)
    if parsed is None:
        raise OperationError(f"partition {partition}, offset {record[0]}: malformed header {CHUNK_HEADER}: {chunk!r}")
    number, of = parsed
    return (named.get(PATH_HEADER) or b"", named.get(CHECKSUM_HEADER) or b"", of), number, of


def parse_chunk(chunk: bytes) -> tuple[int, int] | None:
    """The number of a piece in its file, from 1 on, and the number of pieces; None if ``kafkabal produce`` does not
    write such a header."""
    found = _NUMBER_OF.fullmatch(chunk)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        return None
    return int(found[1]), int(found[2])


def join_pieces(records: Iterable[tuple[int, RawRecord]]) -> list[PiecedFile]:
    """The whole files among records, by when their first piece was sent; duplicate pieces count once."""
    files: dict[FileKey, PiecedFile] = {}
    for partition, record in records:
        key, number, of = place_of(partition, record)
        files.setdefault(key, PiecedFile(of)).pieces.setdefault(number, (partition, record))
    return sorted((file for file in files.values() if file.is_whole), key=lambda file: file.first)
