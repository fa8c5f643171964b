"""Records in their receive buffer: fields are located for whole blocks, and bytes are copied only for samples.

Locating records takes 0.6 µs for each of 10 kB, and copying it 3.7 µs (on the machine of
``docs/benchmarks/reader.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kafkabal.clusters.kafka.record_columns import CorruptRecordError, RawRecord, RecordColumns, record_fields
from kafkabal.errors import RefusedByClusterError
from kafkabal.model import I64

DAMAGED = "the batch is damaged: its checksum is wrong"


class BatchHead(NamedTuple):
    """What the records of a batch have in common."""

    partition: int
    base_offset: int
    first_ms: int
    append_ms: int | None
    """Timestamp of all its records, if the broker sets timestamps."""
    packed: memoryview
    """The bytes that record positions refer to."""
    is_damaged: bool = False
    """Whether its checksum is wrong."""


@dataclass(slots=True)
class PlacedRecords:
    """Records whose fields are not located yet: the places of each in the bytes of its batch."""

    heads: list[BatchHead] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    """Number of records of each head."""
    begins: list[int] = field(default_factory=list)
    """Where each record begins in the bytes of its head, after its length."""
    ends: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.begins)

    def add(self, head: BatchHead, begins: Sequence[int], ends: Sequence[int]) -> None:
        """Append records of one batch."""
        self.heads.append(head)
        self.counts.append(len(begins))
        self.begins += begins
        self.ends += ends

    def columns(self) -> RecordColumns:
        """See :meth:`LazyRecords.columns`."""
        pieces: list[memoryview] = []
        pieces_of_heads = []
        for head in self.heads:
            if not pieces or pieces[-1] is not head.packed:
                pieces.append(head.packed)
            pieces_of_heads.append(len(pieces) - 1)
        heads = [
            (h.partition, h.base_offset, h.first_ms, h.append_ms is not None, h.append_ms or 0) for h in self.heads
        ]
        by_head = np.array(heads, np.int64).reshape(-1, 5).T
        partition, base, first_ms, has_append_ms, append_ms = np.repeat(by_head, self.counts, axis=1)
        piece = np.repeat(np.array(pieces_of_heads, np.int64), self.counts)
        begin, end = np.array(self.begins, np.int64), np.array(self.ends, np.int64)
        try:
            delta_ms, delta, key, value, headers = record_fields(pieces, piece, begin, end)
        except CorruptRecordError as error:
            raise RefusedByClusterError(
                f"partition {partition[error.row]}: a record in the batch at offset {base[error.row]} "
                f"is corrupt: {error}"
            ) from error
        return RecordColumns(
            partition=partition,
            offset=base + delta,
            timestamp=np.where(has_append_ms, append_ms, first_ms + delta_ms),
            key=key,
            value=value,
            headers=headers,
            packed=pieces,
            piece=piece,
        )


@dataclass(slots=True)
class LazyRecords:
    """A sequence of records, parsed in place; layout: ``DefaultRecord`` of Apache Kafka."""

    parts: list[RecordColumns | PlacedRecords] = field(default_factory=list)

    @classmethod
    def of(cls, records: Iterable[tuple[int, RawRecord]]) -> LazyRecords:
        """Build from records that are separate bytes, each with its partition."""
        found = cls()
        for partition, record in records:
            packed = memoryview(_packed(record))
            found.add(BatchHead(partition, record[0], record[1], None, packed), [0], [len(packed)])
        return found

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[RawRecord]:
        return iter(self.columns() if self.parts else ())

    def columns(self) -> RecordColumns:
        """The fields of all records.

        Raises
        ------
        RefusedByClusterError
            If the bytes of a record are malformed.
        """
        parts = [part if isinstance(part, RecordColumns) else part.columns() for part in self.parts]
        return RecordColumns.joined(parts) if parts else PlacedRecords().columns()

    def damaged_rows(self) -> I64:
        """int64, shape (n,): rows of the records whose batch is damaged."""
        is_damaged = [
            np.zeros(len(part), np.bool_)
            if isinstance(part, RecordColumns)
            else np.repeat(np.array([head.is_damaged for head in part.heads], np.bool_), part.counts)
            for part in self.parts
        ]
        return np.flatnonzero(np.concatenate([*is_damaged, np.empty(0, np.bool_)]))

    def refuse_damaged(self, topic: str) -> None:
        """Check that no batch of this topic is damaged.

        Raises
        ------
        RefusedByClusterError
            If one is.
        """
        for part in self.parts:
            for head in part.heads if isinstance(part, PlacedRecords) else ():
                if head.is_damaged:
                    raise RefusedByClusterError(f"{topic}-{head.partition}: offset {head.base_offset}: {DAMAGED}")

    def add(self, head: BatchHead, begins: Sequence[int], ends: Sequence[int]) -> None:
        """Append records of one batch, if there are any."""
        if not begins:
            return
        if not self.parts or not isinstance(self.parts[-1], PlacedRecords):
            self.parts.append(PlacedRecords())
        last = self.parts[-1]
        assert isinstance(last, PlacedRecords)
        last.add(head, begins, ends)

    def add_columns(self, columns: RecordColumns) -> None:
        """Append records whose fields are located, if there are any."""
        if len(columns):
            self.parts.append(columns)

    def extend(self, others: LazyRecords) -> None:
        """Append another sequence, which may not be used any more."""
        self.parts += others.parts


def varint(packed: bytes | memoryview, at: int) -> tuple[int, int]:
    """Read a zigzag number of variable length; returns it and the position after it."""
    b = packed[at]
    at += 1
    number, shift = b & 0x7F, 7
    while b & 0x80:
        b = packed[at]
        at += 1
        number |= (b & 0x7F) << shift
        shift += 7
    return (number >> 1) ^ -(number & 1), at


def _packed(record: RawRecord) -> bytes:
    body = [b"\0\0\0"]  # attributes, and zero deltas to the timestamp and offset of the head
    for text in (record[2], record[3]):
        body += [packed_varint(-1)] if text is None else [packed_varint(len(text)), text]
    return b"".join([*body, record[4]])


def packed_varint(value: int) -> bytes:
    """A number in the encoding of records: zigzag, seven bits per byte, lowest first (KIP-98)."""
    zigzag, out = (value << 1) ^ (value >> 63), bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])
