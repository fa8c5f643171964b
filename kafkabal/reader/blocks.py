"""Blocks as they are in memory, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kafkabal.clusters.kafka import RawRecord
from kafkabal.errors import DriftError, UsageError

if TYPE_CHECKING:
    from kafkabal.reader.manifest import Manifest
from kafkabal.reader.pieces import is_piece, joined


@dataclass(slots=True)
class LoadedBlock:
    """Records of a block, ascending by offset; each one is given out once."""

    partitions: Sequence[int]
    """Of each record."""
    records: list[RawRecord | None]
    bytes_by_broker: Mapping[int, int] = field(default_factory=dict)
    """What came over the network for it; empty where it came from the cache."""
    seconds_by_broker: Mapping[int, float] = field(default_factory=dict)
    """How long that took."""

    @property
    def size_bytes(self) -> int:
        """Bytes of the records that are still there."""
        return sum(record_bytes(record) for record in self.records if record is not None)

    def take(self, at: int) -> tuple[int, RawRecord]:
        """Partition and record at a place, which is free then."""
        record = self.records[at]
        assert record is not None, "given out twice"
        self.records[at] = None
        return self.partitions[at], record


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
    """Blocks from the brokers, each checked to hold as many samples as the manifest says.

    Parameters
    ----------
    joins
        Whether a sample is a whole file; then a piece of one is an error where the manifest lists records.
    """

    def __init__(self, manifest: Manifest, fetcher: Fetcher, *, joins: bool = True) -> None:
        self._manifest = manifest
        self._fetcher = fetcher
        self._joins = joins

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockSource.load`.

        Raises
        ------
        DriftError
            If records are missing.
        OperationError
            If the pieces of a file are not those that were sent.
        UsageError
            If a record is a piece of a file, and the topic was pinned as whole records.
        """
        if self._manifest.files is not None:
            return self._load_files(block)
        blocks = self._manifest.blocks
        partition, samples = int(blocks.partition[block]), int(blocks.samples[block])
        begin, end, size = int(blocks.begin[block]), int(blocks.end[block]), int(blocks.size_bytes[block])
        if only is not None:
            begin, end, size, samples = begin + only, begin + only + 1, size // samples, 1
        fetched = self._fetcher.fetch(partition, begin, end, size)
        if len(fetched.records) != samples:
            raise self._missing(partition, begin, end, len(fetched.records), samples)
        if self._joins:
            self._expect_no_pieces(partition, fetched.records)
        return LoadedBlock(
            [partition] * samples, list(fetched.records), fetched.bytes_by_broker, fetched.seconds_by_broker
        )

    def close(self) -> None:
        """Drop all connections."""
        self._fetcher.close()

    def _load_files(self, number: int) -> LoadedBlock:
        assert self._manifest.files is not None
        block = self._manifest.files[number]
        rest = self._manifest.files[number + 1 : number + 2]
        found: list[tuple[int, RawRecord]] = []
        size_by_broker: dict[int, int] = {}
        seconds_by_broker: dict[int, float] = {}
        for partition, begin, end in block.ranges:
            fetched = self._fetcher.fetch(partition, begin, end, block.size_bytes // len(block.ranges))
            found += [(partition, record) for record in fetched.records]
            for broker, size in fetched.bytes_by_broker.items():
                size_by_broker[broker] = size_by_broker.get(broker, 0) + size
            for broker, seconds in fetched.seconds_by_broker.items():
                seconds_by_broker[broker] = seconds_by_broker.get(broker, 0.0) + seconds
        last = rest[0].first if rest else None
        own = [file for file in joined(found) if block.first <= file.first and (last is None or file.first < last)]
        if len(own) != block.samples:
            raise DriftError(
                f"topic {self._manifest.topic}: {len(own)} of {block.samples} files of a block are whole",
                hint="records were deleted since the topic was pinned: pin it again",
            )
        checked = [(file.first[1], file.record()) for file in own]
        return LoadedBlock(
            [partition for partition, _ in checked],
            [record for _, record in checked],
            size_by_broker,
            seconds_by_broker,
        )

    def _expect_no_pieces(self, partition: int, records: Sequence[RawRecord]) -> None:
        for record in records:
            if is_piece(record):
                raise UsageError(
                    f"{self._manifest.topic}-{partition}: offset {record[0]} is a piece of a file that was split",
                    hint="pin the topic with count=True to get whole files, or with join=False to get the pieces",
                )

    def _missing(self, partition: int, begin: int, end: int, found: int, samples: int) -> DriftError:
        where = f"{self._manifest.topic}-{partition}: offsets {begin} to {end - 1} hold {found} records, not {samples}"
        if self._manifest.is_dense:
            return DriftError(where, hint="the topic holds transactions or was compacted: pin it with count=True")
        return DriftError(where, hint="the topic was compacted since it was pinned: pin it again")
