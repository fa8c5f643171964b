"""The size of records in a log: Kafka's record batches of version 2, before compression.

A batch has a header of 61 bytes. A record in it has its length, a byte of attributes, its time and offset as deltas to
the first record of the batch, the lengths of key and value, both of these, and the number of headers with the headers.
All lengths, deltas and counts are zig-zag varints, 7 bits per byte.

References
----------
Apache Kafka, *Implementation: Message Format*, for magic 2 (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from kafkabal.model import F64, I64

BATCH_HEADER_BYTES: Final = 61
# attributes, length of a short key or of none, number of headers
_FIXED_BYTES: Final = 3
# numbers from which a varint takes one more byte; the sign takes a bit
_LONGER_FROM: Final = np.array([1 << bits for bits in range(6, 62, 7)], np.int64)


def record_bytes(payload_bytes: I64, delta_bytes: Any, header_bytes: int = 0) -> I64:
    """Bytes of records within their batches.

    Parameters
    ----------
    payload_bytes
        int64, shape (n,), 0 or more: key and value of each record; a key of 64 bytes or more would take one more byte.
    delta_bytes
        Bytes of the time and offset deltas (see :func:`varint_bytes`): int64, shape (n,), or one for all.
    header_bytes
        Bytes of each record's headers (see :func:`stored_header_bytes`).
    """
    body = _FIXED_BYTES + delta_bytes + varint_bytes(payload_bytes) + payload_bytes + header_bytes
    return np.asarray(varint_bytes(body) + body, np.int64)


def stored_header_bytes(headers: Iterable[tuple[str, str | bytes | None]]) -> int:
    """Bytes of a record's headers in a log: each a name and a value, with their lengths."""
    lengths = np.array([len(_encoded(part)) for header in headers for part in header], np.int64)
    return int((lengths + varint_bytes(lengths)).sum())


def varint_bytes(number: Any) -> Any:
    """Bytes of numbers >= 0 as varints: 1 up to 63, 2 up to 8191, and so on."""
    return 1 + np.searchsorted(_LONGER_FROM, number, side="right")


def mean_varint_bytes(below: F64) -> F64:
    """Mean varint size of the integers from 0 to less than ``below``: float64, of the same shape."""
    longer = 1 - _LONGER_FROM / np.maximum(below, 1.0)[..., None]
    return np.asarray(1 + np.maximum(longer, 0.0).sum(axis=-1), np.float64)


def _encoded(part: str | bytes | None) -> bytes:
    return part.encode() if isinstance(part, str) else part or b""
