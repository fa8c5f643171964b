"""The fields of many records at once, as columns of positions in their receive buffers.

A Python loop over records takes 1.5 µs for each; numpy locates the fields of a whole block in one pass, 0.3 µs per
record, and iterators that run outside the interpreter return them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import getitem
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kafkabal.model import I64, Bools

NO_HEADERS: Final = b"\0"
"""Packed form."""
_PREFIX_BYTES: Final = 1 + 10 + 10 + 5
"""Longest prefix of a record: attributes, deltas of timestamp and offset, length of the key."""
_LENGTH_BYTES: Final = 5
"""Bytes of a record's length: 32 bits, 7 per byte."""
_LONGEST_NUMBER: Final = 10
"""In bytes: 64 bits, 7 per byte."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """Fields of n records; layout: ``DefaultRecord`` of Apache Kafka."""

    partition: I64
    """shape (n,), like all fields without an explicit shape."""
    offset: I64
    timestamp: I64
    """In milliseconds."""
    key: I64
    """shape (2, n): begin and end in its bytes; both -1 if there is none."""
    value: I64
    """shape (2, n), like the key."""
    headers: I64
    """shape (2, n)."""
    packed: Sequence[memoryview]
    """The receive buffers."""
    piece: I64
    """Index of each record's buffer."""

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def size_bytes(self) -> I64:
        """shape (n,): total size of key, value and headers."""
        return _sizes(self.key) + _sizes(self.value) + _sizes(self.headers)

    @property
    def has_headers(self) -> Bools:
        """shape (n,): whether the record has any header."""
        found: Bools = _sizes(self.headers) != len(NO_HEADERS)
        return found

    def views(self, field: I64, rows: I64) -> Iterator[memoryview]:
        """A field of these records, as views of the receive buffers; empty if the record has none."""
        begin, end = field[:, rows].tolist()
        pieces: Iterable[memoryview] = repeat(self.packed[0])
        if len(self.packed) > 1:
            pieces = map(self.packed.__getitem__, self.piece[rows].tolist())
        found: Iterator[memoryview] = map(getitem, pieces, map(slice, begin, end))  # type: ignore[arg-type] # overloads
        return found

    def values(self, rows: I64) -> Iterator[bytes]:
        """Values of these records, copied one by one; empty for a record without a value."""
        return map(bytes, self.views(self.value, rows))

    def optional(self, field: I64, rows: I64) -> Iterable[bytes | None]:
        """A field of these records, None if missing; may be endless."""
        is_missing = field[0, rows] < 0
        if is_missing.all():
            return repeat(None)
        found = map(bytes, self.views(field, rows))
        if not is_missing.any():
            return found
        return (None if missing else each for missing, each in zip(is_missing.tolist(), found, strict=True))

    def packed_headers(self, rows: I64) -> Iterable[bytes]:
        """Packed headers of these records; may be endless."""
        if not self.has_headers[rows].any():
            return repeat(NO_HEADERS)
        return map(bytes, self.views(self.headers, rows))


def _sizes(field: I64) -> I64:
    begin, end = field
    found: I64 = end - begin
    return found


class CorruptRecordError(ValueError):
    """The bytes of a record are malformed; :attr:`row` is its index."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row


def record_fields(pieces: Sequence[memoryview], piece: I64, begin: I64, end: I64) -> tuple[I64, I64, I64, I64, I64]:
    """Delta of timestamp and of offset, key, value and headers of records.

    Parameters
    ----------
    pieces
        The buffers of the records.
    piece
        int64, shape (n,): index of each record's buffer; records in one buffer are adjacent.
    begin, end
        int64, shape (n,): of each record, after its length.

    Returns
    -------
    int64, shape (n,) twice, and (2, n) three times
        Like the fields of :class:`RecordColumns`.

    Raises
    ------
    CorruptRecordError
        If a record is malformed.
    """
    prefix = _window(pieces, piece, begin, _PREFIX_BYTES)
    at = np.ones(len(begin), np.int64)  # skip the attributes, which are unused
    delta_ms, at = _numbers(prefix, at)
    delta, at = _numbers(prefix, at)
    size, at = _numbers(prefix, at)
    key = _span(begin + at, size)
    at = begin + at + np.maximum(size, 0)
    _check(size, at, end, "its key")
    size, length = _numbers(_window(pieces, piece, at, _LENGTH_BYTES + 1), np.zeros(len(at), np.int64))
    value = _span(at + length, size)
    at = at + length + np.maximum(size, 0)
    _check(size, at, end, "its value")
    return delta_ms, delta, key, value, np.stack((at, end))


def _span(begin: I64, size: I64) -> I64:
    return np.where(size < 0, -1, np.stack((begin, begin + size)))


def _check(size: I64, after: I64, end: I64, what: str) -> None:
    """Check sizes: the next field needs at least one byte, and sizes beyond any record must not wrap around."""
    wrong = (size < -1) | (size >= 2**31) | (after >= end)
    if wrong.any():
        raise CorruptRecordError(int(wrong.argmax()), f"it ends within {what}")


def _window(pieces: Sequence[memoryview], piece: I64, begin: I64, width: int) -> NDArray[np.uint8]:
    """uint8, shape (n, width): the bytes from each position on; beyond the buffer its last byte is repeated."""
    found = np.empty((len(begin), width), np.uint8)
    cuts = np.searchsorted(piece, np.arange(len(pieces) + 1))
    for number, packed in enumerate(pieces):
        rows = slice(cuts[number], cuts[number + 1])
        places = begin[rows, np.newaxis] + np.arange(width)
        np.frombuffer(packed, np.uint8).take(places, out=found[rows], mode="clip")
    return found


def _numbers(window: NDArray[np.uint8], at: I64) -> tuple[I64, I64]:
    """Read zigzag numbers of variable length; returns them and the positions after them."""
    rows = np.arange(len(at))
    number, after = np.zeros(len(at), np.uint64), at.copy()
    for shift in range(0, 7 * _LONGEST_NUMBER, 7):
        b = window[rows, after[rows]]
        number[rows] |= (b & np.uint8(0x7F)).astype(np.uint64) << np.uint64(shift)
        after[rows] += 1
        rows = rows[b >= 0x80]
        if not len(rows):
            break
        if after[rows].max() >= window.shape[1]:
            raise CorruptRecordError(int(rows[after[rows].argmax()]), "a number has no end")
    else:
        raise CorruptRecordError(int(rows[0]), "a number has no end")
    return (number >> np.uint64(1)).view(np.int64) ^ -(number & np.uint64(1)).view(np.int64), after
