"""Batches of records in the log of a replica: which producer wrote each, and with which sequence numbers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kafkabal.clusters.kafka.record_batches import batches

_BEFORE_RECORDS = struct.Struct(">hii")
"""The end of a head, which readers do not need: epoch of the producer, first sequence number, number of records."""


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """The header of a batch."""

    offsets: range
    producer: int
    producer_epoch: int
    sequence: int


def written_batches(folder: Path) -> Iterator[WrittenBatch]:
    """The batches of a partition in its folder on a broker, in order; none if it has no such folder."""
    for segment in sorted(folder.glob("*.log")):
        packed = memoryview(segment.read_bytes())
        for batch in batches(packed):
            epoch, sequence, _ = _BEFORE_RECORDS.unpack_from(packed, batch.begin - _BEFORE_RECORDS.size)
            yield WrittenBatch(range(batch.base_offset, batch.last_offset + 1), batch.producer_id, epoch, sequence)
