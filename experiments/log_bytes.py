"""What records take in a log: the format of record batches, version 2, without keys, headers and compression.

A batch has a header of 61 bytes. A record has its length, a byte of attributes, how much later than the batch it was
made and its place in it, the lengths of key and value, and the number of headers, all but the attributes as
zig-zag-encoded numbers of 7 bits a byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I64

BATCH_HEADER_BYTES: Final = 61
# attributes, length of the key that is not there, number of headers
_FIXED_BYTES: Final = 3


def log_bytes(size_bytes: I64, at_s: F64, *, batch_bytes: int, linger_s: float) -> int:
    """Bytes of a partition's log.

    Parameters
    ----------
    size_bytes
        int64, shape (n,), > 0: values of its records in their order.
    at_s
        float64, shape (n,): when each was handed to the producer, ascending.
    batch_bytes, linger_s
        A batch takes no more, and waits no longer for a record.
    """
    if not len(size_bytes):
        return 0
    first = _batch_of(size_bytes, at_s, batch_bytes, linger_s)
    later_ms = ((at_s - at_s[first]) * 1000).astype(np.int64)
    place = np.arange(len(size_bytes)) - first
    body = _FIXED_BYTES + _varint(later_ms) + _varint(place) + _varint(size_bytes) + size_bytes
    return int((body + _varint(body)).sum()) + BATCH_HEADER_BYTES * len(np.unique(first))


def _batch_of(size_bytes: I64, at_s: F64, batch_bytes: int, linger_s: float) -> I64:
    """int64, shape (n,): row of the first record of each record's batch."""
    ends = np.cumsum(size_bytes)
    first = np.empty(len(size_bytes), np.int64)
    start = 0
    while start < len(first):
        full = np.searchsorted(ends, ends[start] - size_bytes[start] + batch_bytes, side="right")
        waited = np.searchsorted(at_s, at_s[start] + linger_s, side="right")
        end = max(start + 1, int(min(full, waited)))
        first[start:end] = start
        start = end
    return first


def _varint(number: Any) -> Any:
    """Bytes of numbers that are 0 or more, zig-zag-encoded: 1 up to 63, 2 up to 8191, and so on."""
    return 1 + np.floor(np.log2(np.maximum(2 * number, 1)) / 7).astype(np.int64)
