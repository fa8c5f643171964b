"""The format of a cached block: its records, and where their fields are, below a checksum that covers its name."""

from __future__ import annotations

import struct
from typing import Final
from zlib import crc32

import numpy as np

from kafkabal.clusters.kafka import RecordColumns
from kafkabal.reader.loaded_blocks import LoadedBlock

_MAGIC: Final = b"kafkabal-block-4"
_HEAD: Final = struct.Struct("<QQ")
"""Checksum of the name and everything after it, and number of records."""
_COLUMNS: Final = 9
"""Per record: partition, offset, timestamp; begin and end of its key, value and headers. Parsing them from the records
would take a third of the time of loading a block."""
_WORD_BYTES: Final = 8


def pack_block(block: LoadedBlock, name: str) -> bytes:
    """The content of the file of a block."""
    records = block.records
    spans = np.concatenate((records.key, records.value, records.headers))
    begin = np.where(spans[::2] < 0, records.headers[0], spans[::2]).min(axis=0)
    rows = np.flatnonzero(np.diff(records.piece, prepend=-1))  # the first of each buffer
    begins, ends = np.minimum.reduceat(begin, rows), np.maximum.reduceat(records.headers[1], rows)
    shift = np.cumsum(ends - begins) - ends  # from the position in its buffer to that in the file
    spans = np.where(spans < 0, -1, spans + shift[records.piece])
    table = np.concatenate(([records.partition, records.offset, records.timestamp], spans)).astype("<i8")
    parts = [packed[b:e] for packed, b, e in zip(records.packed, begins.tolist(), ends.tolist(), strict=True)]
    padding = bytes(-sum(map(len, parts)) % _WORD_BYTES)
    body = b"".join((table.tobytes(), *parts, padding))
    return b"".join((_MAGIC, _HEAD.pack(_checksum(body, name), len(records)), body))


def _checksum(body: bytes | memoryview, name: str) -> int:
    """Sum of its 8-byte words: detects any single damaged word, ten times as fast as CRC-32.

    The name is included: a file copied over another would repeat some samples and omit others.
    """
    return int(np.frombuffer(body, np.uint64).sum(dtype=np.uint64)) ^ len(body) ^ crc32(name.encode())


def unpack_block(packed: memoryview, name: str) -> LoadedBlock | None:
    """The block in the content of a file; None if it is damaged, or of another block."""
    start = len(_MAGIC) + _HEAD.size
    if len(packed) < start or len(packed) % _WORD_BYTES or bytes(packed[: len(_MAGIC)]) != _MAGIC:
        return None
    checksum, count = _HEAD.unpack_from(packed, len(_MAGIC))
    data_at = start + _WORD_BYTES * _COLUMNS * count
    if _checksum(packed[start:], name) != checksum or not start < data_at <= len(packed):
        return None
    table = np.frombuffer(packed[start:data_at], "<i8").reshape(_COLUMNS, count)
    records = RecordColumns(
        partition=table[0],
        offset=table[1],
        timestamp=table[2],
        key=table[3:5],
        value=table[5:7],
        headers=table[7:9],
        packed=[packed[data_at:]],
        piece=np.zeros(count, np.int64),
    )
    return LoadedBlock(records, len(packed), is_cached=True)
