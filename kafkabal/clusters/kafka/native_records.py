"""Finds and copies records by a small C library, which is compiled when the package is built.

Where it could not be compiled, :mod:`~kafkabal.clusters.kafka.record_batches` and
:mod:`~kafkabal.clusters.kafka.record_columns` do the same in Python, with the same results. Reading records of 10 kB
takes half as long again then, mostly with Python's lock, which a trainer needs too (``docs/benchmarks/reader.md``).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint32, c_void_p
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kafkabal.clusters.kafka.overfetched_batch_cache import BatchSpan
from kafkabal.compiled_library import addresses_of, is_usable
from kafkabal.model import I64

if TYPE_CHECKING:
    from kafkabal.clusters.kafka.record_batches import StoredBatch

LIBRARY: Final = Path(__file__).with_name("kafkabal_records.so")
_MOST_SPANS: Final = 8
_LEAST_RECORD_BYTES: Final = 7
"""Its length, attributes, two deltas, two lengths and the number of its headers."""
# in the order of the library's struct python_functions
_PYTHON_FUNCTIONS: Final = (
    "PyList_New",
    "PyList_SetItem",
    "PyBytes_FromStringAndSize",
    "PyBytes_AsString",
    "Py_IncRef",
    "Py_DecRef",
)
_FIELDS: Final = 8


class _Columns(Structure):
    """The library's ``struct columns``."""

    _fields_ = (("fields", c_void_p * _FIELDS), ("capacity", c_int64), ("n", c_int64))


class _Span(Structure):
    """The library's ``struct span``."""

    _fields_ = (("first", c_int64), ("last", c_int64), ("begin", c_int64), ("end", c_int64))


class _Scan(Structure):
    """The library's ``struct scan``."""

    _fields_ = (
        ("at", c_int64),
        ("after", c_int64),
        ("largest_bytes", c_int64),
        ("n_spans", c_int64),
        ("spans", _Span * _MOST_SPANS),
    )


class _Batch(Structure):
    """The library's ``struct batch``."""

    _fields_ = (
        ("base_offset", c_int64),
        ("last_offset", c_int64),
        ("first_ms", c_int64),
        ("append_ms", c_int64),
        ("has_append_ms", c_int32),
        ("has_every_offset", c_int32),
        ("count", c_int64),
    )


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was found in a run of ordinary batches."""

    fields: I64
    """shape (8, n): offset, timestamp, then begin and end of key, value and headers; -1 without a key or value."""
    at: int
    """Position of the first batch that was not read."""
    after: int
    """Offset after the last batch that was read."""
    largest_bytes: int
    outside: list[BatchSpan]
    """Batches with offsets beyond the wanted ones."""


def scan_batches(
    packed: memoryview, at: int, begin: int, end: int, *, are_transactions_visible: bool
) -> Scanned | None:
    """Read batches from a position on, up to one that is compressed or special in any way, or does not end.

    Checksums are verified: a batch with a wrong one is special, as one with a malformed record is.

    Parameters
    ----------
    begin, end
        Records at offsets ``begin`` to ``end - 1`` are returned.
    are_transactions_visible
        Whether batches of transactions are ordinary.

    Returns
    -------
    Scanned | None
        None where the library could not be compiled.
    """
    library = _library()
    if library is None:
        return None
    found, table = _empty_columns(min(end - begin, (len(packed) - at) // _LEAST_RECORD_BYTES))
    scan = _Scan(at=at)
    library.unlocked.kafkabal_scan(
        _address(packed), len(packed), begin, end, are_transactions_visible, ctypes.byref(found), ctypes.byref(scan)
    )
    outside = [BatchSpan(s.first, s.last, s.begin, s.end) for s in scan.spans[: scan.n_spans]]
    return Scanned(_filled(table, found.n), scan.at, scan.after, scan.largest_bytes, outside)


def find_records(plain: memoryview, batch: StoredBatch, append_ms: int | None, begin: int, end: int) -> I64 | None:
    """The fields of a batch that was unpacked, as in :class:`Scanned`; None if malformed, or without a library."""
    library = _library()
    if library is None:
        return None
    found, table = _empty_columns(min(end - begin, batch.count, len(plain) // _LEAST_RECORD_BYTES))
    head = _Batch(
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        first_ms=batch.first_timestamp,
        append_ms=append_ms or 0,
        has_append_ms=append_ms is not None,
        has_every_offset=batch.has_every_offset,
        count=batch.count,
    )
    # with Python's lock: to get it back may take longer than this
    if not library.locked.kafkabal_find(
        _address(plain), 0, len(plain), ctypes.byref(head), begin, end, ctypes.byref(found)
    ):
        return None
    return _filled(table, found.n)


def copied(buffers: Sequence[memoryview], buffer: I64, begin: I64, end: I64) -> list[Any] | None:
    """Bytes of buffers, None where ``begin`` is negative; Python's lock is not held while they are copied.

    Parameters
    ----------
    buffer
        int64, shape (n,): index of the buffer of each.
    begin, end
        int64, shape (n,): of each in its buffer.

    Returns
    -------
    list | None
        None where the library could not be compiled.
    """
    library = _library()
    if library is None:
        return None
    n = len(begin)
    buffer, begin, end = (np.ascontiguousarray(column) for column in (buffer, begin, end))
    memory = np.empty(n, np.uintp)
    addresses = np.array([_address(each) for each in buffers], np.uintp)
    items: list[Any] = library.locked.kafkabal_new_bytes(n, _at(begin), _at(end), None, _at(memory))
    library.unlocked.kafkabal_copy(n, _at(addresses), _at(buffer), _at(begin), _at(end), _at(memory))
    return items


def crc32c(packed: memoryview, *, by_table: bool = False) -> int:
    """The CRC-32C of some bytes, for tests of the library; ``by_table`` as on a processor without an instruction."""
    library = _library()
    if library is None:
        raise RuntimeError(f"{LIBRARY.name} is missing")
    found: int = library.locked.kafkabal_crc32c(_address(packed), len(packed), by_table)
    return found


def is_available() -> bool:
    """Whether the library was compiled and can be loaded."""
    return _library() is not None


def _empty_columns(capacity: int) -> tuple[_Columns, I64]:
    capacity = max(capacity, 0)
    table = np.empty((_FIELDS, capacity), np.int64)
    row_bytes = capacity * table.itemsize
    address = _at(table)
    fields = (c_void_p * _FIELDS)(*(address + row * row_bytes for row in range(_FIELDS)))
    return _Columns(fields=fields, capacity=capacity), table


def _filled(table: I64, n: int) -> I64:
    """The first columns; copied, as a view keeps the whole table, and a block may have one for each batch."""
    found: I64 = table if n == table.shape[1] else table[:, :n].copy()
    return found


def _address(packed: memoryview) -> int:
    address: int = np.frombuffer(packed, np.uint8).ctypes.data if len(packed) else 0
    return address


def _at(column: I64 | NDArray[np.uintp]) -> int:
    address: int = column.ctypes.data
    return address


class _Library:
    """The library, called with Python's lock and without it."""

    def __init__(self) -> None:
        self.locked, self.unlocked = ctypes.PyDLL(str(LIBRARY)), ctypes.CDLL(str(LIBRARY))
        self.locked.kafkabal_bind(addresses_of(ctypes.pythonapi, _PYTHON_FUNCTIONS))
        self.unlocked.kafkabal_scan.restype = None
        self.unlocked.kafkabal_scan.argtypes = (
            *(c_void_p, c_int64, c_int64, c_int64, c_int32),
            *(POINTER(_Columns), POINTER(_Scan)),
        )
        self.locked.kafkabal_find.restype = c_int32
        self.locked.kafkabal_find.argtypes = (
            *(c_void_p, c_int64, c_int64, POINTER(_Batch), c_int64, c_int64, POINTER(_Columns)),
        )
        self.locked.kafkabal_new_bytes.restype = ctypes.py_object
        self.locked.kafkabal_new_bytes.argtypes = (c_int64, c_void_p, c_void_p, ctypes.py_object, c_void_p)
        self.unlocked.kafkabal_copy.restype = None
        self.unlocked.kafkabal_copy.argtypes = (c_int64, *(c_void_p,) * 5)
        self.locked.kafkabal_crc32c.restype = c_uint32
        self.locked.kafkabal_crc32c.argtypes = (c_void_p, c_int64, c_int32)


@cache
def _library() -> _Library | None:
    if not is_usable(LIBRARY):
        return None
    try:
        return _Library()
    except (OSError, AttributeError):
        return None
