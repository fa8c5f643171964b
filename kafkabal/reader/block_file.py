"""The format of a cached block: its records, and where their fields are, below a checksum that covers its name."""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from typing import Final
from zlib import crc32

import numpy as np

from kafkabal.clusters.kafka import RecordColumns
from kafkabal.model import I64
from kafkabal.reader.loaded_blocks import LoadedBlock

_MAGIC: Final = b"kafkabal-block-4"
_HEAD: Final = struct.Struct("<QQ")
"""Checksum of the name and everything after it, and number of records."""
_COLUMNS: Final = 9
"""Per record: partition, offset, timestamp; begin and end of its key, value and headers. Parsing them from the records
would take a third of the time of loading a block."""
_WORD_BYTES: Final = 8
_WORDS: Final = 2**64


def pack_block(block: LoadedBlock, name: str) -> list[bytes | memoryview]:
    """The content of the file of a block, in parts: joined, they would take its memory again."""
    table, parts = tabulated(block.records)
    padding = bytes(-sum(map(len, parts)) % _WORD_BYTES)
    body: list[bytes | memoryview] = [table.tobytes(), *parts, padding]
    return [_MAGIC, _HEAD.pack(_checksum(body, name), len(block.records)), *body]


def tabulated(records: RecordColumns, at: int = 0) -> tuple[I64, list[memoryview]]:
    """A table of records, of which there must be one, and the bytes that it refers to; these begin at a position.

    Returns
    -------
    int64, shape (9, n), and list
        The table has the fields in the order of the file.
    """
    spans = np.concatenate((records.key, records.value, records.headers))
    begin = np.where(spans[::2] < 0, records.headers[0], spans[::2]).min(axis=0)
    rows = np.flatnonzero(np.diff(records.piece, prepend=-1))  # the first of each buffer
    begins, ends = np.minimum.reduceat(begin, rows), np.maximum.reduceat(records.headers[1], rows)
    shift = at + np.cumsum(ends - begins) - ends  # from the position in its buffer to that in the file
    of_piece = np.repeat(shift, np.diff(rows, append=len(records)))
    spans = np.where(spans < 0, -1, spans + of_piece)
    table = np.concatenate(([records.partition, records.offset, records.timestamp], spans)).astype("<i8")
    used = records.piece[rows].tolist()
    parts = [records.packed[p][b:e] for p, b, e in zip(used, begins.tolist(), ends.tolist(), strict=True)]
    return table, parts


def from_table(table: I64, packed: memoryview) -> RecordColumns:
    """The records of a table and the bytes that it refers to."""
    return RecordColumns(
        partition=table[0],
        offset=table[1],
        timestamp=table[2],
        key=table[3:5],
        value=table[5:7],
        headers=table[7:9],
        packed=[packed],
        piece=np.zeros(table.shape[1], np.int64),
    )


def _checksum(body: Sequence[bytes | memoryview], name: str) -> int:
    """Sum of its 8-byte words: detects any single damaged word, ten times as fast as CRC-32.

    The name is included: a file copied over another would repeat some samples and omit others.
    """
    total, rest = 0, b""
    for part in body:
        begin = -len(rest) % _WORD_BYTES  # where its first own word begins
        rest += part[:begin]
        end = max(begin, len(part) - (len(part) - begin) % _WORD_BYTES)
        total += int(np.frombuffer(part[begin:end], np.uint64).sum(dtype=np.uint64))
        if len(rest) == _WORD_BYTES:
            total, rest = total + int.from_bytes(rest, sys.byteorder), b""
        rest += part[end:]
    return total % _WORDS ^ sum(map(len, body)) ^ crc32(name.encode())


def unpack_block(packed: memoryview, name: str) -> LoadedBlock | None:
    """The block in the content of a file; None if it is damaged, or of another block."""
    start = len(_MAGIC) + _HEAD.size
    if len(packed) < start or len(packed) % _WORD_BYTES or bytes(packed[: len(_MAGIC)]) != _MAGIC:
        return None
    checksum, count = _HEAD.unpack_from(packed, len(_MAGIC))
    data_at = start + _WORD_BYTES * _COLUMNS * count
    if _checksum([packed[start:]], name) != checksum or not start < data_at <= len(packed):
        return None
    table = np.frombuffer(packed[start:data_at], "<i8").reshape(_COLUMNS, count)
    return LoadedBlock(from_table(table, packed[data_at:]), len(packed), is_cached=True, is_mapped=True)
