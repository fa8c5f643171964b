"""Batches of records in the log of a replica: which producer wrote each, and with which sequence numbers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HEADER = struct.Struct(">qiibIhiqqqhii")
"""Offset, length, leader epoch, version, checksum, attributes, last offset, two times, producer, epoch, sequence, count
(Kafka's record batches of version 2)."""
_NOT_COUNTED_BYTES = 12
"""Offset and length are no part of the length."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the header of a batch says."""

    offsets: range
    leader_epoch: int
    producer: int
    producer_epoch: int
    sequence: int


def batches(folder: Path) -> Iterator[Batch]:
    """Those of a partition in its folder on a broker, in order; none where it has no such folder."""
    for segment in sorted(folder.glob("*.log")):
        content, at = segment.read_bytes(), 0
        while at + _HEADER.size <= len(content):
            first, length, leader_epoch, _, _, _, last, _, _, producer, epoch, sequence, _ = _HEADER.unpack_from(
                content, at
            )
            if length <= 0:
                break
            yield Batch(range(first, first + last + 1), leader_epoch, producer, epoch, sequence)
            at += length + _NOT_COUNTED_BYTES
