"""Loads blocks from the brokers, and checks that each is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import NamedTuple, Protocol

from kafkabal.clusters.kafka import AT_ONCE_BYTES, DAMAGED, LazyRecords, RawRecord
from kafkabal.errors import DriftError
from kafkabal.reader.block_in_temporary_file import BlockInTemporaryFile
from kafkabal.reader.join_file_pieces import join_pieces
from kafkabal.reader.loaded_blocks import LoadedBlock
from kafkabal.reader.manifest import Manifest
from kafkabal.wording import counted_noun


class UncountedOffsetsError(DriftError):
    """Offsets of a topic that was pinned without counting hold no record, as after transactions."""


def moved_to_file(block: LoadedBlock) -> LoadedBlock:
    """The same block in a temporary file; unchanged if that cannot be written."""
    with BlockInTemporaryFile() as file:
        file.add_columns(block.records)
        if file.memory_bytes:
            return block
        return replace(block, records=file.columns(), size_bytes=0, is_mapped=True)


class BlockLoader(Protocol):
    """Loads blocks; used by one thread."""

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """A whole block, or only the record at one place of a dense block."""

    def close(self) -> None:
        """Drop all connections."""


class BlocksOnDemand:
    """Opens a loader when the first block is requested: most threads never need one, and neither does a reader whose
    cache has everything."""

    def __init__(self, open_loader: Callable[[], BlockLoader]) -> None:
        self._open = open_loader
        self._loader: BlockLoader | None = None

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockLoader.load`."""
        if self._loader is None:
            self._loader = self._open()
        return self._loader.load(block, only)

    def close(self) -> None:
        """Drop all connections, if there are any."""
        if self._loader is not None:
            self._loader.close()


class Fetcher(Protocol):
    """Reads ranges of offsets; :class:`~kafkabal.clusters.kafka.range_fetcher.RangeFetcher` does."""

    def fetch(
        self,
        partition: int,
        begin: int,
        end: int,
        size_bytes: int,
        pass_on: Callable[[LazyRecords], None] | None = None,
        *,
        most: int | None = None,
    ) -> FetchedRecords:
        """All records of a range, of which there are ``most`` if that is known, but those that were passed on before,
        since they take much memory."""

    def fetch_ahead(self, ranges: Sequence[tuple[int, int, int, int]]) -> None:
        """Request ranges of several partitions together, which :meth:`fetch` is asked for next: partition, first
        offset, end and expected size of each."""

    def close(self) -> None:
        """Drop all connections."""


class FetchedRecords(Protocol):
    """Records of a range, and the cost of fetching them."""

    records: LazyRecords
    held_bytes: int
    """Memory of them."""
    bytes_by_broker: dict[int, int]
    seconds_by_broker: dict[int, float]

    @property
    def unpacking(self) -> float:
        """By which factor they are larger uncompressed, 1 or more."""


class _Range(NamedTuple):
    """A part of a block in one partition."""

    partition: int
    begin: int
    end: int
    samples: int
    size_bytes: int


class _HeldRecords:
    """Records of the ranges of a block, moved to a file when they take much memory."""

    def __init__(self, large: BlockInTemporaryFile) -> None:
        self.records = LazyRecords()
        self._large = large
        self._held_bytes = 0

    def __len__(self) -> int:
        return len(self._large) + len(self.records)

    def add(self, fetched: FetchedRecords) -> None:
        """Append what a fetch returned."""
        self.records.extend(fetched.records)
        self._held_bytes += fetched.held_bytes
        if self._held_bytes >= AT_ONCE_BYTES:
            self.pass_on(LazyRecords())

    def pass_on(self, records: LazyRecords) -> None:
        """Move all records to the file, and these after them."""
        self.records.extend(records)
        self._large.add(self.records)
        self.records, self._held_bytes = LazyRecords(), 0


def _count(fetched: FetchedRecords, size_by_broker: dict[int, int], seconds_by_broker: dict[int, float]) -> None:
    for broker, size in fetched.bytes_by_broker.items():
        size_by_broker[broker] = size_by_broker.get(broker, 0) + size
    for broker, seconds in fetched.seconds_by_broker.items():
        seconds_by_broker[broker] = seconds_by_broker.get(broker, 0.0) + seconds


class BrokerBlocks:
    """Loads blocks from the brokers, and checks that each holds as many samples as the manifest says.

    Parameters
    ----------
    joins
        Whether a sample is a whole file; then a piece of a file is an error in a manifest that lists records.
    """

    def __init__(self, manifest: Manifest, fetcher: Fetcher, *, joins: bool = True) -> None:
        self._manifest = manifest
        self._fetcher = fetcher
        self._joins = joins

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockLoader.load`.

        Raises
        ------
        DriftError
            If records are missing.
        UsageError
            If a record is a piece of a file, and the topic was pinned as whole records.
        RefusedByClusterError
            If the bytes of a record are malformed, or records are missing in a damaged batch.
        """
        if self._manifest.files is not None:
            return self._load_files(block)
        ranges = self._ranges(block) if only is None else [self._range_of_one(block, only)]
        if len(ranges) > 1:
            self._fetcher.fetch_ahead([(r.partition, r.begin, r.end, r.size_bytes) for r in ranges])
        with BlockInTemporaryFile() as large:
            return self._load_records(ranges, large)

    def _ranges(self, block: int) -> list[_Range]:
        blocks = self._manifest.blocks
        rows, columns = blocks.ranges_of(block), blocks.ranges
        each = (columns.partition, columns.begin, columns.end, columns.samples, columns.size_bytes)
        return list(starmap(_Range, zip(*(column[rows].tolist() for column in each), strict=True)))

    def _range_of_one(self, block: int, place: int) -> _Range:
        """The record at a place of a dense block."""
        for each in self._ranges(block):
            if place < each.samples:
                offset = each.begin + place
                return _Range(each.partition, offset, offset + 1, 1, each.size_bytes // each.samples)
            place -= each.samples
        raise AssertionError  # the schedule knows how many there are

    def _load_records(self, ranges: Sequence[_Range], large: BlockInTemporaryFile) -> LoadedBlock:
        held = _HeldRecords(large)
        size_by_broker: dict[int, int] = {}
        seconds_by_broker: dict[int, float] = {}
        for each in ranges:
            before = len(held)
            fetched = self._fetcher.fetch(
                each.partition, each.begin, each.end, each.size_bytes, held.pass_on, most=each.samples
            )
            held.add(fetched)
            found = len(held) - before
            if found != each.samples:
                held.records.refuse_damaged(self._manifest.topic)
                raise self._missing(each, found)
            _count(fetched, size_by_broker, seconds_by_broker)
        loaded = LoadedBlock(
            held.records.columns(),
            0,
            size_by_broker,
            seconds_by_broker,
            faults=dict.fromkeys(held.records.damaged_rows().tolist(), DAMAGED),
            whole_files_of=self._manifest.topic if self._joins else None,
        )
        if not len(large):
            taken_bytes, expected_bytes = int(loaded.records.size_bytes.sum()), sum(each.size_bytes for each in ranges)
            return replace(loaded, size_bytes=max(expected_bytes, taken_bytes, sum(size_by_broker.values())))
        large.add(held.records)
        return replace(
            loaded,
            records=large.columns(),
            size_bytes=large.memory_bytes,
            is_mapped=True,
            faults=dict.fromkeys(large.damaged_rows, DAMAGED),
        )

    def close(self) -> None:
        """Drop all connections."""
        self._fetcher.close()

    def _load_files(self, number: int) -> LoadedBlock:
        assert self._manifest.files is not None
        block = self._manifest.files[number]
        rest = self._manifest.files[number + 1 : number + 2]
        found: list[tuple[int, RawRecord]] = []
        damaged: set[tuple[int, int]] = set()
        size_by_broker: dict[int, int] = {}
        seconds_by_broker: dict[int, float] = {}

        def take(partition: int, records: LazyRecords) -> None:
            copied = list(records)
            found.extend((partition, record) for record in copied)
            damaged.update((partition, copied[row][0]) for row in records.damaged_rows().tolist())

        for partition, begin, end in block.ranges:
            each_bytes = block.size_bytes // len(block.ranges)
            # a file may be larger than a range may be at once
            fetched = self._fetcher.fetch(partition, begin, end, each_bytes, partial(take, partition))
            take(partition, fetched.records)
            _count(fetched, size_by_broker, seconds_by_broker)
        last = rest[0].first if rest else None
        own = [file for file in join_pieces(found) if block.first <= file.first and (last is None or file.first < last)]
        if len(own) != block.samples:
            raise DriftError(
                f"topic {self._manifest.topic}: {len(own)} of {block.samples} files of a block are whole",
                hint="records have been deleted since the topic was pinned: pin it again",
            )
        joined = [file.joined() for file in own]
        whole = LazyRecords.of((file.first[1], record) for file, (record, _) in zip(own, joined, strict=True))
        faults = {row: DAMAGED for row, file in enumerate(own) if not damaged.isdisjoint(file.places)}
        faults |= {row: fault for row, (_, fault) in enumerate(joined) if fault is not None}
        return LoadedBlock(whole.columns(), block.size_bytes, size_by_broker, seconds_by_broker, faults=faults)

    def _missing(self, wanted: _Range, found: int) -> DriftError:
        where = (
            f"{self._manifest.topic}-{wanted.partition}: offsets {wanted.begin} to {wanted.end - 1} "
            f"hold {counted_noun(found, 'record')}, not {wanted.samples}"
        )
        if self._manifest.is_dense:
            return UncountedOffsetsError(
                where, hint="the topic holds transactions or was compacted: pin it with count=True"
            )
        if found > wanted.samples:
            # Kafka 4.1.2 does not list all of them if it appended several at once, as a follower that was behind
            return DriftError(where, hint="a broker did not report an aborted transaction: elect another leader")
        return DriftError(where, hint="the topic has been compacted since it was pinned: pin it again")
