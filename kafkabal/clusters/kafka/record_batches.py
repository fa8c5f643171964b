"""Record batches as brokers store and send them (magic 2, since Kafka 0.11), parsed without copying more than values.

A reader that fetches offset ranges needs the batches themselves: which are control records, which belong to aborted
transactions, and which offsets are missing. The layout is Apache Kafka's ``DefaultRecordBatch``.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from kafkabal.clusters.kafka.lazy_records import DAMAGED, BatchHead, LazyRecords, varint
from kafkabal.clusters.kafka.native_records import find_records, scan_batches
from kafkabal.clusters.kafka.overfetched_batch_cache import BatchSpan
from kafkabal.clusters.kafka.record_columns import RecordColumns
from kafkabal.errors import MissingCapabilityError, OperationError, RefusedByClusterError
from kafkabal.units import format_bytes

Headers: TypeAlias = "list[tuple[str, bytes | None]]"

# base offset, length, leader epoch, magic, checksum, attributes, last offset delta, first and last timestamp,
# producer id, producer epoch, base sequence, count
_HEAD = struct.Struct(">qiibIhiqqqhii")
_CHECKED_BEFORE_RECORDS = 40
"""Bytes of the header that the checksum covers, too: attributes and what follows."""
_BEFORE_LENGTH_ENDS = 12
"""Bytes of a batch that its length does not include: base offset and the length itself."""
_MAGIC = 2
_LENGTH, _LENGTH_AT = struct.Struct(">i"), 8
_ATTRIBUTES_AT = 22
"""Position in a batch of the byte that has the following bits."""
_CODEC, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20
_ABORT = 0
_CONTROL_KEY = struct.Struct(">hh")
_EMPTY_RECORD = memoryview(b"\0\0\0\1\1\0")
"""Without key, value and headers: in place of a record of a damaged batch that cannot be found."""
MOST_UNPACKED_BYTES: Final = 2**28
"""Limit of what a range may take uncompressed, or a batch where records are passed on, the same as of a response: a
batch of 1 MB may hold gigabytes of zeros."""
AT_ONCE_BYTES: Final = 2**25
"""Bytes of records that are held before a caller gets the first ones early: four blocks of usual size."""
_UNPACKED_TIMES = 16
"""Uncompressed size that is tried first, relative to the compressed one, and its growth: text takes three to ten times
as much, and memory that stays untouched costs nothing."""
_NO_ROOM = "failed to write whole buffer"
"""Cramjam's message if the memory given is too small."""
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEAD_BYTES = 16
"""Magic and two versions, before the first block."""


class TooLargeUnpackedError(OperationError):
    """Batches take more memory uncompressed than a range may."""


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """The header of a batch, and where its records are."""

    base_offset: int
    last_offset: int
    checksum: int
    attributes: int
    first_timestamp: int
    last_timestamp: int
    producer_id: int
    count: int
    begin: int
    end: int

    @property
    def has_every_offset(self) -> bool:
        """Whether each of its offsets has a record; compaction removes some."""
        return self.last_offset - self.count + 1 == self.base_offset

    def is_damaged(self, packed: memoryview) -> bool:
        """Whether the CRC-32C of its bytes is not that of the header."""
        from crc32c import crc32c

        return bool(crc32c(packed[self.begin - _CHECKED_BEFORE_RECORDS : self.end]) != self.checksum)

    @property
    def is_transactional(self) -> bool:
        """Whether it is part of a transaction."""
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Whether it contains only the marker that ends a transaction, and no record."""
        return bool(self.attributes & _CONTROL)


@dataclass(slots=True)
class BatchReader:
    """Parses the bytes that a fetch returned for a partition, skipping aborted transactions.

    Parameters
    ----------
    partition
        Number of the partition.
    aborted
        Producer id and first offset of the aborted transactions that the broker listed with the bytes (KIP-98).
    room_bytes
        How much memory compressed batches may take.
    pass_on
        Takes the records read so far whenever compressed batches take :data:`AT_ONCE_BYTES`; None returns all at the
        end.
    """

    partition: int
    aborted: Sequence[tuple[int, int]] = ()
    room_bytes: int = MOST_UNPACKED_BYTES
    pass_on: Callable[[LazyRecords], None] | None = None
    largest_bytes: int = 0
    """Size of the largest batch read."""
    log_bytes: int = 0
    """Size of all whole batches, as received."""
    compressed_bytes: int = 0
    """Size of the compressed records in them."""
    unpacked_bytes: int = 0
    """Size of these records uncompressed."""
    held_bytes: int = 0
    """Of these, what was not passed on."""
    outside: list[BatchSpan] = field(default_factory=list)
    """Visible batches with offsets beyond the requested ones."""
    _open: set[int] = field(default_factory=set)
    _begun: int = 0
    _ends: Mapping[int, list[tuple[int, bool]]] | None = None
    """By producer, the offsets of the markers that end transactions in these bytes, and whether each aborts; None
    before the first transaction."""
    _are_all_visible: bool = False
    """Whether these bytes are known to have no aborted transaction."""

    def records(self, packed: memoryview, begin: int, end: int) -> tuple[LazyRecords, int]:
        """Records at offsets ``begin`` to ``end - 1`` that were not passed on, and the offset after the last whole
        batch; ``begin`` if none.

        Raises
        ------
        RefusedByClusterError
            If the bytes are not record batches.
        MissingCapabilityError
            If they are older than Kafka 0.11.
        TooLargeUnpackedError
            If they take more memory than they may.
        """
        found = LazyRecords()
        after, at = begin, 0
        while True:
            at, after = self._scan(packed, at, begin, end, after, found)
            batch = next(batches(packed, at), None)
            if batch is None:
                self.log_bytes = at
                return found, after
            self.largest_bytes = max(self.largest_bytes, batch.end - at)
            at, after = batch.end, max(after, batch.last_offset + 1)
            if not self._is_visible(batch, packed):
                continue
            if begin <= batch.last_offset and batch.base_offset < end:
                self._note(batch, packed, begin, end, found)
                if self.pass_on is not None and self.held_bytes >= AT_ONCE_BYTES:
                    self.pass_on(found)
                    found, self.held_bytes = LazyRecords(), 0
            if batch.base_offset < begin or batch.last_offset >= end:
                self._note_outside(BatchSpan(batch.base_offset, batch.last_offset, batch.begin - _HEAD.size, batch.end))

    def _scan(
        self, packed: memoryview, at: int, begin: int, end: int, after: int, found: LazyRecords
    ) -> tuple[int, int]:
        """Read ordinary batches; returns the position of the next that is not, and the offset after them."""
        special = _CODEC | _CONTROL | (0 if self._are_all_visible else _TRANSACTIONAL)
        if at + _HEAD.size <= len(packed) and packed[at + _ATTRIBUTES_AT] & special:
            return at, after  # to ask the library would take as long as unpacking a small one
        scanned = scan_batches(packed, at, begin, end, are_transactions_visible=self._are_all_visible)
        if scanned is None:
            return at, after
        found.add_columns(RecordColumns.found(self.partition, scanned.fields, packed))
        self.largest_bytes = max(self.largest_bytes, scanned.largest_bytes)
        for span in scanned.outside:
            self._note_outside(span)
        return scanned.at, max(after, scanned.after)

    def _note_outside(self, span: BatchSpan) -> None:
        before = self.outside[-1] if self.outside else None
        if before is not None and (before.last + 1, before.end) == (span.first, span.begin):
            self.outside[-1] = before._replace(last=span.last, end=span.end)
        else:
            self.outside.append(span)

    def _note(self, batch: StoredBatch, packed: memoryview, begin: int, end: int, found: LazyRecords) -> None:
        codec, is_damaged = batch.attributes & _CODEC, batch.is_damaged(packed)
        append_ms = batch.last_timestamp if batch.attributes & _APPEND_TIME else None
        head = BatchHead(self.partition, batch.base_offset, batch.first_timestamp, append_ms, packed, is_damaged)
        try:
            if codec:
                plain = self._unpacked(batch, bytes(packed[batch.begin : batch.end]))
                fields = None if is_damaged else find_records(plain, batch, append_ms, begin, end)
                if fields is not None:
                    found.add_columns(RecordColumns.found(self.partition, fields, plain))
                else:
                    found.add(head._replace(packed=plain), *_positions(plain, 0, batch, begin, end))
            else:
                found.add(head, *_positions(packed[: batch.end], batch.begin, batch, begin, end))
        except (IndexError, ValueError, OverflowError) as error:
            if not is_damaged or batch.count > batch.last_offset + 1 - batch.base_offset:
                raise _corrupt(batch, error) from error
            # which of its offsets have records is unknown if some have none: say the first ones
            for offset in range(max(begin, batch.base_offset), min(end, batch.base_offset + batch.count)):
                found.add(head._replace(base_offset=offset, packed=_EMPTY_RECORD), [0], [len(_EMPTY_RECORD)])

    def _unpacked(self, batch: StoredBatch, packed: bytes) -> memoryview:
        # a batch before it tells about how much to expect
        times = max(_UNPACKED_TIMES, 2 * self.unpacked_bytes // max(self.compressed_bytes, 1))
        try:
            room_bytes = self.room_bytes - self.held_bytes
            plain = _decompressed(batch.attributes & _CODEC, packed, times * len(packed), room_bytes)
        except _NoRoomError as error:
            what, remedy = "batches of one block take", "pin the topic with count=True, which cuts blocks by the size "
            remedy += "of records, or produce it again in smaller batches"
            if self.pass_on is not None:
                what, remedy = "the batch takes", "produce the topic again in smaller batches"
            raise TooLargeUnpackedError(
                f"offset {batch.base_offset}: {what} more than {format_bytes(MOST_UNPACKED_BYTES)} uncompressed",
                hint=remedy,
            ) from error
        self.compressed_bytes += len(packed)
        self.unpacked_bytes += len(plain)
        self.held_bytes += len(plain)
        return plain

    def _is_visible(self, batch: StoredBatch, packed: memoryview) -> bool:
        while self._begun < len(self.aborted) and self.aborted[self._begun][1] <= batch.last_offset:
            self._open.add(self.aborted[self._begun][0])
            self._begun += 1
        if batch.is_control:
            if batch.is_damaged(packed):  # which records are aborted depends on it
                raise RefusedByClusterError(f"offset {batch.base_offset}: {DAMAGED}")
            if _ends_by_abort(batch, packed):
                self._open.discard(batch.producer_id)
            return False
        return not batch.is_transactional or not self._is_aborted(batch, packed)

    def _is_aborted(self, batch: StoredBatch, packed: memoryview) -> bool:
        """Whether the transaction of a batch was aborted, as its marker says, or the broker if that was not sent.

        A broker does not list all aborted transactions if it appended several at once, as a follower that was behind
        does: its index of them then has a stable offset that is too high, at which a search ends too early (Kafka
        4.1.2). Other clients return such records.
        """
        if self._ends is None:
            self._ends = _transaction_ends(packed, batch.begin - _HEAD.size)
            self._are_all_visible = not self.aborted and not any(
                aborts for each in self._ends.values() for _, aborts in each
            )
        ends = self._ends.get(batch.producer_id, [])
        at = bisect_right(ends, (batch.last_offset, True))
        return ends[at][1] if at < len(ends) else batch.producer_id in self._open


def batches(packed: memoryview, at: int = 0) -> Iterator[StoredBatch]:
    """Yield the whole batches from a position on; a truncated last one is skipped.

    Raises
    ------
    RefusedByClusterError
        If the bytes are not record batches.
    MissingCapabilityError
        If they are older than Kafka 0.11.
    """
    size = len(packed)
    while at + _HEAD.size <= size:
        base, length, _, magic, checksum, attributes, last, first_ms, last_ms, producer, _, _, count = (
            _HEAD.unpack_from(packed, at)
        )
        if magic != _MAGIC:
            raise MissingCapabilityError(
                f"offset {base}: unsupported record format (older than Kafka 0.11)",
                hint="produce the topic again with a client of Kafka 0.11 or later",
            )
        end = at + _BEFORE_LENGTH_ENDS + length
        if length < _HEAD.size - _BEFORE_LENGTH_ENDS:
            raise RefusedByClusterError(f"offset {base}: the batch is corrupt: its length is {length}")
        if end > size:
            return
        first = at + _HEAD.size
        yield StoredBatch(base, base + last, checksum, attributes, first_ms, last_ms, producer, count, first, end)
        at = end


def _transaction_ends(packed: memoryview, at: int) -> dict[int, list[tuple[int, bool]]]:
    """By producer, the offsets of the markers of transactions from a position on, and whether each aborts."""
    found: defaultdict[int, list[tuple[int, bool]]] = defaultdict(list)
    # not by batches(): of 8,000 batches of one record that takes ten times as long. What is malformed ends the loop
    # here, and is refused there
    while at + _HEAD.size <= len(packed) and (length := _LENGTH.unpack_from(packed, at + _LENGTH_AT)[0]) > 0:
        if packed[at + _ATTRIBUTES_AT] & _CONTROL:
            marker = next(batches(packed, at), None)
            if marker is not None and not marker.is_damaged(packed):
                found[marker.producer_id].append((marker.base_offset, _ends_by_abort(marker, packed)))
        at += _BEFORE_LENGTH_ENDS + length
    return found


def unpack_headers(packed: bytes) -> Headers:
    """Names and values of headers, in order; a name may occur twice."""
    at = 0
    count, at = varint(packed, at)
    headers: Headers = []
    for _ in range(count):
        size, at = varint(packed, at)
        name = packed[at : at + size].decode("utf-8", "surrogateescape")
        at += size
        size, at = varint(packed, at)
        headers.append((name, None if size < 0 else packed[at : at + size]))
        at += max(size, 0)
    return headers


def _positions(packed: memoryview, at: int, batch: StoredBatch, begin: int, end: int) -> tuple[list[int], list[int]]:
    """Where the records at offsets ``begin`` to ``end - 1`` begin (after their lengths) and end."""
    limit = len(packed)
    begins: list[int] = []
    ends: list[int] = []
    for _ in range(batch.count):
        # decode the length inline (three bytes, up to 1 MB): a call per record would take half of the time
        b = packed[at]
        if b < 128:
            size, at = b, at + 1
        elif (c := packed[at + 1]) < 128:
            size, at = b & 0x7F | c << 7, at + 2
        elif (d := packed[at + 2]) < 128:
            size, at = b & 0x7F | (c & 0x7F) << 7 | d << 14, at + 3
        else:
            signed, at = varint(packed, at)
            size = 2 * signed if signed >= 0 else 1
        begins.append(at)
        at += size >> 1
        ends.append(at)
        if size & 1 or at > limit:
            raise ValueError("a record ends after its batch")
    base = batch.base_offset
    if batch.has_every_offset:
        wanted = slice(max(0, begin - base), max(0, end - base))
        return begins[wanted], ends[wanted]
    kept = [i for i, first in enumerate(begins) if begin <= base + _offset_delta(packed, first) < end]
    return [begins[i] for i in kept], [ends[i] for i in kept]


def _offset_delta(packed: memoryview, begin: int) -> int:
    _, at = varint(packed, begin + 1)
    return varint(packed, at)[0]


def _ends_by_abort(batch: StoredBatch, packed: memoryview) -> bool:
    found = LazyRecords()
    head = BatchHead(0, batch.base_offset, batch.first_timestamp, None, packed)
    try:
        found.add(head, *_positions(packed[: batch.end], batch.begin, batch, batch.base_offset, batch.last_offset + 1))
        return any(key is not None and _CONTROL_KEY.unpack_from(key)[1] == _ABORT for _, _, key, _, _ in found)
    except (IndexError, ValueError, OverflowError, struct.error) as error:
        raise _corrupt(batch, error) from error


def _corrupt(batch: StoredBatch, error: Exception) -> RefusedByClusterError:
    return RefusedByClusterError(f"offset {batch.base_offset}: the batch is corrupt: {error}")


class _NoRoomError(Exception):
    """Records take more memory uncompressed than they may."""


def _decompressed(codec: int, packed: bytes, room: int, most_bytes: int) -> memoryview:
    """The records of a batch, whose uncompressed size is not in it: in as much memory as tried first, or more."""
    import cramjam

    if codec == 2:
        return _snappy(packed, most_bytes)
    decoders = {
        1: cramjam.gzip.decompress_into,
        3: cramjam.lz4.decompress_into,
        4: cramjam.zstd.decompress_into,
    }
    if codec not in decoders:
        raise ValueError(f"unknown compression {codec}")
    while True:
        memory = np.empty(min(room, most_bytes), np.uint8).data
        try:
            return memory[: decoders[codec](packed, memory)]
        except cramjam.DecompressionError as error:
            if _NO_ROOM not in str(error):
                raise ValueError(str(error)) from error
            if room >= most_bytes:
                raise _NoRoomError from error
        room *= _UNPACKED_TIMES


def _snappy(packed: bytes, most_bytes: int) -> memoryview:
    """Snappy, if necessary as the Java client frames it, in blocks."""
    import cramjam

    blocks, at = [packed], len(packed)
    if packed.startswith(_XERIAL):
        blocks, at = [], _XERIAL_HEAD_BYTES
    while at + 4 <= len(packed):
        size = int.from_bytes(packed[at : at + 4], "big")
        blocks.append(packed[at + 4 : at + 4 + size])
        at += 4 + size
    try:
        if sum(map(cramjam.snappy.decompress_raw_len, blocks)) > most_bytes:
            raise _NoRoomError
        return memoryview(b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks))
    except cramjam.DecompressionError as error:
        raise ValueError(str(error)) from error
