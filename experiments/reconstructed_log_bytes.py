"""Bytes of records in a log, in batches reconstructed from the times at which the producer got the records."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64
from kafkabal.simulator import BATCH_HEADER_BYTES, record_bytes, varint_bytes


def log_bytes(size_bytes: I64, at_s: F64, *, batch_bytes: int, linger_s: float) -> int:
    """Bytes of a partition's log, for records without keys and headers.

    Parameters
    ----------
    size_bytes
        int64, shape (n,), > 0: value sizes of its records in order.
    at_s
        float64, shape (n,): when the producer got each record, ascending.
    batch_bytes, linger_s
        Limits of a batch: its bytes, and how long it waits for records.
    """
    if not len(size_bytes):
        return 0
    first = _batch_of(size_bytes, at_s, batch_bytes, linger_s)
    later_ms = ((at_s - at_s[first]) * 1000).astype(np.int64)
    place = np.arange(len(size_bytes)) - first
    records = record_bytes(size_bytes, varint_bytes(later_ms) + varint_bytes(place))
    return int(records.sum()) + BATCH_HEADER_BYTES * len(np.unique(first))


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
