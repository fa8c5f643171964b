"""Records where they were received: each is read when it is asked for, and only then are its bytes copied.

A reader that shuffles holds thousands of records until their turn comes. To copy each of them out of the response as it
arrives costs four times as much as to note where it begins (3.7 against 0.6 µs for 10 kB on the machine of
``docs/benchmarks/reader.md``), and puts them into cold memory; copied when they are given out they reuse the memory of
the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from kafkabal.errors import RefusedByClusterError

RawRecord: TypeAlias = "tuple[int, int, bytes | None, bytes | None, bytes]"
"""Offset, timestamp in ms, key, value, and the headers as they are packed; see :func:`unpack_headers`."""
PlacedRecord: TypeAlias = "tuple[int, int, int, bytes | None, bytes | None, bytes]"
"""The same after its partition."""


class BatchHead(NamedTuple):
    """What the records of a batch have in common."""

    partition: int
    base_offset: int
    first_ms: int
    append_ms: int | None
    """Of all of its records, where the broker sets their timestamps."""
    packed: memoryview
    """The bytes that their positions count in."""


NO_HEADERS: Final = b"\0"
"""Packed."""


@dataclass(slots=True)
class LazyRecords:
    """A sequence of records, read in place; layout: ``DefaultRecord`` of Apache Kafka."""

    heads: list[BatchHead] = field(default_factory=list)
    """Of each record."""
    begins: list[int] = field(default_factory=list)
    """Where it begins in the bytes of its head, after its length."""
    ends: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, records: Iterable[tuple[int, RawRecord]]) -> LazyRecords:
        """Records that are bytes by themselves, each with its partition."""
        found = cls()
        for partition, record in records:
            packed = memoryview(_packed(record))
            found.add(BatchHead(partition, record[0], record[1], None, packed), [0], [len(packed)])
        return found

    def __len__(self) -> int:
        return len(self.begins)

    def __iter__(self) -> Iterator[RawRecord]:
        return (self.take(at)[1:] for at in range(len(self.begins)))

    def __getitem__(self, at: int) -> RawRecord:
        return self.take(at)[1:]

    def take(self, at: int, own: Callable[[memoryview], Any] = bytes) -> PlacedRecord:
        """The record at a place; written out with the short form of every number inline, for speed.

        Parameters
        ----------
        own
            Makes key, value and headers of the bytes in the batch: ``memoryview`` leaves them there.

        Raises
        ------
        RefusedByClusterError
            If its bytes are not those of a record.
        """
        end = self.ends[at]
        partition, base, first_ms, append_ms, packed = self.heads[at]
        at = self.begins[at] + 1  # after the attributes, which are unused
        b = packed[at]
        delta_ms, at = ((b >> 1) ^ -(b & 1), at + 1) if b < 128 else varint(packed, at)
        b = packed[at]
        delta, at = (b >> 1, at + 1) if b < 128 else varint(packed, at)
        b = packed[at]
        size, at = ((b >> 1) ^ -(b & 1), at + 1) if b < 128 else varint(packed, at)
        key = None
        if size >= 0:
            key = own(packed[at : at + size])
            at += size
        number, shift = 0, 0
        while (b := packed[at]) & 0x80:
            number |= (b & 0x7F) << shift
            shift += 7
            at += 1
        size = (number | b << shift) >> 1
        at += 1
        value = None
        if not b & 1 or shift:  # -1 is the single byte 1
            value = own(packed[at : at + size])
            at += size
        if at >= end:
            raise RefusedByClusterError(f"offset {base + delta}: the record is corrupt: it ends before its headers")
        headers = NO_HEADERS if at + 1 == end else own(packed[at:end])
        stamp = first_ms + delta_ms if append_ms is None else append_ms
        return partition, base + delta, stamp, key, value, headers

    def only(self, at: int) -> LazyRecords:
        """The one at a place."""
        return LazyRecords([self.heads[at]], [self.begins[at]], [self.ends[at]])

    def add(self, head: BatchHead, begins: Sequence[int], ends: Sequence[int]) -> None:
        """Append records of one batch."""
        self.heads += [head] * len(begins)
        self.begins += begins
        self.ends += ends

    def extend(self, others: LazyRecords) -> None:
        """Append others."""
        self.heads += others.heads
        self.begins += others.begins
        self.ends += others.ends


def varint(packed: bytes | memoryview, at: int) -> tuple[int, int]:
    """A zigzag number of variable length, and the position after it."""
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
    body = [b"\0\0\0"]  # attributes, and no difference to the timestamp and offset of the head
    for text in (record[2], record[3]):
        body += [_number(-1)] if text is None else [_number(len(text)), text]
    return b"".join([*body, record[4]])


def _number(value: int) -> bytes:
    zigzag, out = (value << 1) ^ (value >> 63), bytearray()
    while zigzag >= 0x80:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])
