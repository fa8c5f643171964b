"""Blocks as they are in memory, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kafkabal.clusters.kafka.record_batches import RawRecord
from kafkabal.errors import DriftError

if TYPE_CHECKING:
    from kafkabal.reader.manifest import Manifest


@dataclass(slots=True)
class LoadedBlock:
    """Records of a block, ascending by offset; each one is given out once."""

    partition: int
    records: list[RawRecord | None]
    bytes_by_broker: Mapping[int, int] = field(default_factory=dict)
    """What came over the network for it; empty where it came from the cache."""
    seconds_by_broker: Mapping[int, float] = field(default_factory=dict)
    """How long that took."""

    @property
    def size_bytes(self) -> int:
        """Bytes of the records that are still there."""
        return sum(record_bytes(record) for record in self.records if record is not None)

    def take(self, at: int) -> RawRecord:
        """The record at a place, which is free then."""
        record = self.records[at]
        assert record is not None, "given out twice"
        self.records[at] = None
        return record


def record_bytes(record: RawRecord) -> int:
    """What a record takes in memory, about."""
    return len(record[2] or b"") + len(record[3] or b"") + len(record[4])


class BlockSource(Protocol):
    """Where blocks come from; for one thread."""

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """A whole block, or of a dense one the record at one place."""

    def close(self) -> None:
        """Drop all connections."""


class Fetcher(Protocol):
    """What reads ranges of offsets: a :class:`~kafkabal.clusters.kafka.fetch.RangeFetcher`."""

    def fetch(self, partition: int, begin: int, end: int, size_bytes: int) -> FetchedRange:
        """All records of a range."""

    def close(self) -> None:
        """Drop all connections."""


class FetchedRange(Protocol):
    """Records of a range, and what they cost."""

    records: list[RawRecord]
    bytes_by_broker: dict[int, int]
    seconds_by_broker: dict[int, float]


class BrokerBlocks:
    """Blocks from the brokers, each checked to hold as many records as the manifest says."""

    def __init__(self, manifest: Manifest, fetcher: Fetcher) -> None:
        self._manifest = manifest
        self._fetcher = fetcher

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockSource.load`.

        Raises
        ------
        DriftError
            If records are missing.
        """
        blocks = self._manifest.blocks
        partition, samples = int(blocks.partition[block]), int(blocks.samples[block])
        begin, end, size = int(blocks.begin[block]), int(blocks.end[block]), int(blocks.size_bytes[block])
        if only is not None:
            begin, end, size, samples = begin + only, begin + only + 1, size // samples, 1
        fetched = self._fetcher.fetch(partition, begin, end, size)
        if len(fetched.records) != samples:
            raise self._missing(partition, begin, end, len(fetched.records), samples)
        return LoadedBlock(partition, list(fetched.records), fetched.bytes_by_broker, fetched.seconds_by_broker)

    def close(self) -> None:
        """Drop all connections."""
        self._fetcher.close()

    def _missing(self, partition: int, begin: int, end: int, found: int, samples: int) -> DriftError:
        where = f"{self._manifest.topic}-{partition}: offsets {begin} to {end - 1} hold {found} records, not {samples}"
        if self._manifest.is_dense:
            return DriftError(where, hint="the topic holds transactions or was compacted: pin it with count=True")
        return DriftError(where, hint="the topic was compacted since it was pinned: pin it again")
