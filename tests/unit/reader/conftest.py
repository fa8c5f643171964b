"""A topic in memory, for tests of what reads one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kafkabal.clusters.kafka import LazyRecords, RawRecord, TooLargeUnpackedError
from kafkabal.clusters.kafka.fetched_range import FetchedRange
from kafkabal.clusters.kafka.lazy_records import PlacedRecords
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.manifest import Manifest, PartitionRange, block_count
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.reader_shard import ReaderShard
from kafkabal.reader.sample_iterator import SampleIterator, Supply

LANES = 6
BROKER = 1


class MemoryTopic:
    """Partitions of records with a few bytes each; what is fetched of it is counted."""

    def __init__(self, counts: list[int], record_bytes: int = 10, missing: frozenset[tuple[int, int]] = frozenset()):
        self.records: dict[int, list[RawRecord]] = {
            p: [(o, 1000 + o, None, bytes(record_bytes), b"\0") for o in range(n) if (p, o) not in missing]
            for p, n in enumerate(counts)
        }
        self.counts = counts
        self.fetched_records = 0
        self.ahead: list[int] = []
        """How many ranges were requested together, each time."""
        self.fault: Exception | None = None
        """Raised by the next fetch."""
        self.damaged: set[tuple[int, int]] = set()
        """Partitions and offsets of records in damaged batches."""
        self.remote: dict[int, int] = {}
        """Records of a partition that only remote storage holds."""
        self.unpacking = 1
        """By which factor batches are larger uncompressed."""
        self.passed_on = 0
        """How many records take so much memory that they are passed on, or refused; 0 for any number."""

    def manifest(self) -> Manifest:
        """Pin all of it as dense."""
        sizes = [n * 10 for n in self.counts]
        cuts = [block_count(n, s, LANES) for n, s in zip(self.counts, sizes, strict=True)]
        ranges = (
            PartitionRange(partition=p, begin=0, end=n, size_bytes=s, blocks=k)
            for p, (n, s, k) in enumerate(zip(self.counts, sizes, cuts, strict=True))
        )
        return Manifest(cluster_id="c", topic="t", topic_id="i", lanes=LANES, partitions=tuple(ranges))

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Offsets of every partition."""
        return {p: (0, n) for p, n in enumerate(self.counts)}

    def local_starts(self) -> dict[int, int]:
        """First offset on disk of every partition."""
        return {p: self.remote.get(p, 0) for p in range(len(self.counts))}

    def fetch(
        self,
        partition: int,
        begin: int,
        end: int,
        size_bytes: int,
        pass_on: Callable[[LazyRecords], None] | None = None,
        *,
        most: int | None = None,
    ) -> FetchedRange:
        """Records of a range."""
        if self.fault is not None:
            raise self.fault
        found = [record for record in self.records[partition] if begin <= record[0] < end][:most]
        self.fetched_records += len(found)
        if pass_on is None and 0 < self.passed_on < len(found):
            raise TooLargeUnpackedError("batches of one block take more than 256 MiB uncompressed")
        while pass_on is not None and 0 < self.passed_on <= len(found):
            pass_on(self._packed(partition, found[: self.passed_on]))
            del found[: self.passed_on]
        packed = self._packed(partition, found)
        size = sum(len(record[3] or b"") for record in found)
        return FetchedRange(packed, {BROKER: size}, compressed_bytes=size, unpacked_bytes=self.unpacking * size)

    def fetch_ahead(self, ranges: Sequence[tuple[int, int, int, int]]) -> None:
        """Only noted: what is in memory takes no request."""
        self.ahead.append(len(ranges))

    def _packed(self, partition: int, records: list[RawRecord]) -> LazyRecords:
        packed = LazyRecords.of((partition, record) for record in records)
        for part in packed.parts:
            assert isinstance(part, PlacedRecords)
            part.heads = [h._replace(is_damaged=(partition, h.base_offset) in self.damaged) for h in part.heads]
        return packed

    def close(self) -> None:
        """Nothing is open."""

    def sequence(
        self,
        shard: ReaderShard,
        progress: EpochProgress | None = None,
        *,
        taken: int = 0,
        seed: int | None = 1,
        until_epoch: int = 1,
        limit_bytes: int = 10_000,
        open_loader: Callable[[], BrokerBlocks] | None = None,
        manifest: Manifest | None = None,
    ) -> SampleIterator:
        """What a reader gets of it."""
        pinned = manifest or self.manifest()
        return SampleIterator(
            pinned,
            Supply(open_loader=open_loader or (lambda: BrokerBlocks(pinned, self)), limit_bytes=limit_bytes),
            seed=seed,
            shard=shard,
            progress=progress or EpochProgress(),
            taken=taken,
            until_epoch=until_epoch,
            metrics=ReaderMetrics(),
        )


def places(samples: SampleIterator, count: int | None = None) -> Iterator[tuple[int, int]]:
    """Partition and offset of each sample, or of the first ``count``."""
    iterator = iter(samples)
    at = 0
    while count is None or at < count:
        sample = next(iterator, None)
        if sample is None:
            return
        at += 1
        yield sample.partition, sample.offset
    iterator.close()  # type: ignore[attr-defined]


def packed_headers(headers: list[tuple[str, bytes | None]]) -> bytes:
    """Headers as they are in a record."""

    def number(value: int) -> bytes:
        zigzag, out = (value << 1) ^ (value >> 63), bytearray()
        while zigzag >= 0x80:
            out.append(zigzag & 0x7F | 0x80)
            zigzag >>= 7
        return bytes([*out, zigzag])

    parts = [number(len(headers))]
    for name, value in headers:
        parts += [number(len(name.encode())), name.encode()]
        parts += [number(-1)] if value is None else [number(len(value)), value]
    return b"".join(parts)
