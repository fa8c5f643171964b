"""Reads the records of a TFRecord file.

Each is ``uint64 length, uint32 masked CRC-32C of the length, length bytes, uint32 masked CRC-32C of the bytes``, all
little-endian; a checksum ``c`` is masked as ``((c >> 15) | (c << 17)) + 0xa282ead8`` (TensorFlow, "TFRecord and
tf.train.Example"; RFC 3720 for CRC-32C).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Final

from crc32c import crc32c

from kafkabal.sources.row_reader_protocol import (
    MOST_RECORD_BYTES,
    BadRowError,
    Rows,
    SelectedFields,
    UnfinishedError,
)

_HEAD: Final = struct.Struct("<QI")
_CHECKSUM: Final = struct.Struct("<I")
_MASK_DELTA: Final = 0xA282EAD8
"""TensorFlow's mask: a checksum of bytes that contain their own checksum would be weak."""
_BLOCK_BYTES: Final = 1 << 20
"""Records are some kB, so hundreds of them share one read."""


def tfrecord_rows(file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:  # noqa: ARG001
    """Payloads of the records, with verified checksums.

    Raises
    ------
    UnfinishedError
        If the file ends within a record.
    BadRowError
        If a checksum is wrong, or a stream, or a file that became shorter, ends within a record.
    """
    texts: list[bytes] = []
    first, held_bytes = 1, 0
    fault: BadRowError | None = None
    try:
        while head := file.read(_HEAD.size):
            number = first + len(texts)
            payload = _payload(head, file, number)
            if payload is None:
                fault = _cut_off(file, size_bytes, number)
                break
            texts.append(payload)
            held_bytes += len(payload) + _HEAD.size + _CHECKSUM.size
            if held_bytes >= _BLOCK_BYTES:
                yield Rows(texts, None, range(first, number + 1), held_bytes)
                texts, first, held_bytes = [], number + 1, 0
    except BadRowError as error:
        fault = error
    if texts:
        yield Rows(texts, None, range(first, first + len(texts)), held_bytes)
    if fault is not None:
        raise fault


def _payload(head: bytes, file: IO[bytes], number: int) -> bytes | None:
    """The payload of a record; None if it is cut off."""
    if len(head) < _HEAD.size:
        return None
    length, length_checksum = _HEAD.unpack(head)
    if _masked(crc32c(head[:8])) != length_checksum or length > MOST_RECORD_BYTES:
        raise BadRowError(number, "is not TFRecord: wrong checksum of the length")
    data = file.read(length)
    tail = file.read(_CHECKSUM.size)
    if len(data) < length or len(tail) < _CHECKSUM.size:
        return None
    if _masked(crc32c(data)) != _CHECKSUM.unpack(tail)[0]:
        raise BadRowError(number, "is damaged: wrong checksum")
    return data


def _cut_off(file: IO[bytes], size_bytes: int, number: int) -> BadRowError | None:
    """What is wrong with a record that is cut off: nothing if its file has grown, since its writer may not have
    finished it, and the next run reads all of it."""
    read_bytes = file.tell() if size_bytes else 0
    if read_bytes > size_bytes:
        return None
    is_unfinished = size_bytes > 0 and read_bytes == size_bytes
    return UnfinishedError(number, "is cut off") if is_unfinished else BadRowError(number, "is cut off")


def _masked(checksum: int) -> int:
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & 0xFFFFFFFF
