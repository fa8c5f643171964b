"""Makes a manifest of the current content of a topic."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from kafkabal.clusters import (
    ConfigResource,
    ConfigValue,
    Fault,
    PartitionStatus,
    ReplicaLog,
    ReplicaOn,
    ResourceKind,
    TopicDescription,
)
from kafkabal.clusters.kafka import LazyRecords, RawRecord
from kafkabal.config import ANSWER_S
from kafkabal.errors import NotAuthorizedError, OperationError, UsageError, unknown_topic
from kafkabal.model import I64, TopicPartition
from kafkabal.reader.block_loader import FetchedRecords
from kafkabal.reader.join_file_pieces import FileKey, is_piece, place_of
from kafkabal.reader.manifest import LANES, CountedBlock, FileBlock, Manifest, PartitionRange, block_counts
from kafkabal.wording import counted_noun, first_of

_T = TypeVar("_T")
CountingListener: TypeAlias = "Callable[[int, int], None]"
"""Called with the bytes read and their total while a whole topic is read to pin it; by one thread at a time."""
_PROBE_BYTES = 2**20
"""Sixteen records of usual size, to estimate the mean from."""
_COUNTED_AT_ONCE_BYTES = 4 * 2**20
"""Counting needs only offsets and sizes, so blocks are dropped at once; a few MiB keep the connection busy."""
_THREADS = 4
"""While some threads unpack, others wait for brokers; because of the interpreter's lock, more threads do not help."""
_PROBED = 64
"""Records read at either end of a partition: enough to detect pieces of files and markers of transactions."""
_LEAST_PROBED = 4
"""Minimum even if records are large: a few are enough to tell whether the last offsets hold records at all."""
_PROBED_BYTES = 2 * 2**20
"""Limit at either end of a partition; 64 records of 100 kB each would be a twelfth of a topic of 600 MB."""
_CLEANUP_KEY = "cleanup.policy"


class TopicReporter(Protocol):
    """Describes a topic of a live cluster; :class:`~kafkabal.clusters.kafka.cluster.KafkaCluster` does."""

    def describe_topic(self, topic: str, deadline_s: float) -> TopicDescription | None:
        """A topic as described by some broker; None if it is unknown."""

    def topic_names(self) -> Collection[str]:
        """The topics that there are."""

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Leader, replicas and ISR of each partition."""

    def replica_logs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
        """Sizes of replicas, and which brokers did not respond."""

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Values of some keys, and the resources that did not respond."""


class TopicFetcher(Protocol):
    """Reads one topic; :class:`~kafkabal.clusters.kafka.range_fetcher.RangeFetcher` does."""

    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """First offset and last stable offset of each partition."""

    def fetch(self, partition: int, begin: int, end: int, size_bytes: int) -> FetchedRecords:
        """All committed records of a range."""

    def close(self) -> None:
        """Drop all connections."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A record as a piece of a file; most files have one."""

    file: FileKey
    number: int
    of: int
    place: tuple[int, int, int]
    """Timestamp, partition, offset."""
    size: int


@dataclass(frozen=True, slots=True)
class _OffsetsAndSizes:
    """Offsets of the records of a partition, and the bytes of each."""

    offset: I64
    size: I64


class _Readers:
    """Reads several partitions at the same time, each thread with a reader of its own.

    A reader is used for one partition after another: connecting for each of thousands would take longer than reading.
    """

    def __init__(self, fetcher: Callable[[], TopicFetcher]) -> None:
        self.are_stopped = Event()
        """Set at the end: a thread reads no further, even if the end is early, such as by Ctrl-C."""
        self._fetcher = fetcher
        self._idle: SimpleQueue[TopicFetcher] = SimpleQueue()
        self._pool = ThreadPoolExecutor(_THREADS)

    def __enter__(self) -> _Readers:
        return self

    def __exit__(self, *_: object) -> None:
        self.are_stopped.set()
        self._pool.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def each(self, partitions: Iterable[int], job: Callable[[TopicFetcher, int], _T]) -> Iterator[_T]:
        """Results for the partitions, in their order."""
        return self._pool.map(lambda p: self._run(job, p), partitions)

    def _run(self, job: Callable[[TopicFetcher, int], _T], partition: int) -> _T:
        with self.one() as reader:
            return job(reader, partition)

    @contextmanager
    def one(self) -> Iterator[TopicFetcher]:
        """A reader that no other thread uses meanwhile."""
        try:
            reader = self._idle.get_nowait()
        except Empty:
            reader = self._fetcher()
        try:
            yield reader
        finally:
            self._idle.put(reader)


class _WholeReading:
    """Reads partitions from end to end, and tells a listener how far that is.

    Parameters
    ----------
    ranges, sizes
        Offsets and bytes of each partition.
    """

    def __init__(
        self,
        readers: _Readers,
        ranges: Mapping[int, tuple[int, int]],
        sizes: Mapping[int, int],
        listener: CountingListener,
    ) -> None:
        self.ranges = ranges
        self.sizes = sizes
        self._readers = readers
        self._listener = listener
        self._done_bytes = 0
        self._total_bytes = sum(sizes[p] for p in ranges)
        self._lock = Lock()

    def each(self, job: Callable[[int, Iterator[LazyRecords]], _T]) -> Iterator[_T]:
        """What a function makes of each partition and its records, which it gets a few MiB at a time."""
        self._listener(0, self._total_bytes)
        return self._readers.each(self.ranges, lambda reader, p: job(p, self._steps(reader, p)))

    def _steps(self, reader: TopicFetcher, p: int) -> Iterator[LazyRecords]:
        (begin, end), size_bytes = self.ranges[p], self.sizes[p]
        step = max(1, (end - begin) * _COUNTED_AT_ONCE_BYTES // max(size_bytes, 1))
        for at in range(begin, end, step):
            if self._readers.are_stopped.is_set():
                return
            until = min(at + step, end)
            yield reader.fetch(p, at, until, _COUNTED_AT_ONCE_BYTES).records
            done = [size_bytes * (offset - begin) // (end - begin) for offset in (at, until)]
            self._add(done[1] - done[0])

    def _add(self, n_bytes: int) -> None:
        with self._lock:
            self._done_bytes += n_bytes
            self._listener(self._done_bytes, self._total_bytes)


def pin_topic(
    brokers: TopicReporter,
    fetcher: Callable[[str], TopicFetcher],
    topic: str,
    *,
    counting: CountingListener = lambda *_: None,
    lanes: int = LANES,
    count: bool | None = None,
    join: bool = True,
) -> Manifest:
    """Pin the current content of a topic.

    Parameters
    ----------
    fetcher
        Creates a fetcher for a topic id.
    counting
        Called while the whole topic is read, which takes as long as reading it for training.
    count
        Whether to read the topic once to find out which offsets hold records, and which hold pieces of files. None
        reads it if it is compacted, if the last offset of a partition holds no record (as after a transaction), or if a
        piece is among the first or last 64 records of a partition, or among as many as 2 MiB hold.
    join
        Whether a file that was split (``produce --chunk``) is one sample.

    Raises
    ------
    UsageError
        If the topic is unknown or empty, or no file in it is whole.
    KafkabalError
        If the brokers do not respond, or refuse.
    """
    described = brokers.describe_topic(topic, ANSWER_S)
    if described is None:
        raise unknown_topic(topic, brokers.topic_names())
    with _Readers(partial(fetcher, described.topic_id)) as readers:
        with readers.one() as reader:
            ranges = reader.ranges()
            filled = {p: r for p, r in ranges.items() if r[0] < r[1]}
            sizes = _partition_sizes(brokers, reader, topic, filled)
        probe = list(readers.each(filled, lambda reader, p: _probe_ends(reader, p, *filled[p], sizes[p])))
        has_gaps = any(ends[-1:] != [end - 1] for (ends, _), (_, end) in zip(probe, filled.values(), strict=True))
        counts = count or (count is None and (_is_compacted(brokers, topic) or has_gaps))
        splits = join and count is not False and (count or any(has_pieces for _, has_pieces in probe))
        files = _file_blocks(_WholeReading(readers, filled, sizes, counting), topic, lanes) if splits else None
        if files is not None or not counts:
            partitions = _dense_ranges(filled, sizes, lanes)
        else:
            partitions = _counted_ranges(_WholeReading(readers, filled, sizes, counting), lanes)
    manifest = Manifest(
        cluster_id=described.cluster_id,
        topic=topic,
        topic_id=described.topic_id,
        lanes=lanes,
        partitions=partitions,
        files=files,
    )
    if not manifest.samples:
        raise UsageError(f"empty topic: {topic}", hint=f"kafkabal produce {topic} FOLDER")
    return manifest


def _dense_ranges(
    ranges: Mapping[int, tuple[int, int]], sizes: Mapping[int, int], lanes: int
) -> tuple[PartitionRange, ...]:
    records = [end - begin for begin, end in ranges.values()]
    cuts = block_counts(records, [sizes[p] for p in ranges], lanes)
    return tuple(
        PartitionRange(partition=p, begin=begin, end=end, size_bytes=sizes[p], blocks=blocks)
        for (p, (begin, end)), blocks in zip(ranges.items(), cuts, strict=True)
    )


def _counted_ranges(reading: _WholeReading, lanes: int) -> tuple[PartitionRange, ...]:
    ranges = reading.ranges
    found = dict(zip(ranges, reading.each(lambda _, steps: _offsets_and_sizes(steps)), strict=True))
    cuts = block_counts([len(f.offset) for f in found.values()], [int(f.size.sum()) for f in found.values()], lanes)
    return tuple(_counted_range(p, ranges[p], found[p], blocks) for p, blocks in zip(ranges, cuts, strict=True))


def _file_blocks(reading: _WholeReading, topic: str, lanes: int) -> tuple[FileBlock, ...] | None:
    """Blocks of whole files; None if no file was split. Files with missing pieces are left out, with a warning.

    Raises
    ------
    UsageError
        If no file is whole.
    """

    def pieces_of(p: int, steps: Iterator[LazyRecords]) -> list[_Piece]:
        return [_piece(topic, p, record) for records in steps for record in records]

    files: dict[FileKey, dict[int, _Piece]] = {}
    for pieces in reading.each(pieces_of):
        for piece in pieces:
            files.setdefault(piece.file, {}).setdefault(piece.number, piece)
    if all(pieces[1].of == 1 for pieces in files.values() if 1 in pieces):
        return None
    whole = sorted(
        (list(pieces.values()) for (_, _, of), pieces in files.items() if len(pieces) == of),
        key=lambda pieces: min(pieces, key=lambda piece: piece.number).place,
    )
    incomplete = _incomplete(files)
    if incomplete and not whole:
        raise UsageError(
            f"topic {topic}: no file is whole: {first_of(incomplete)}",
            hint="run 'kafkabal produce' again to send the missing pieces",
        )
    if incomplete:
        warnings.warn(
            f"topic {topic}: {counted_noun(len(incomplete), 'file')} left out, since pieces are missing: "
            f"{first_of(incomplete)}",
            stacklevel=2,
        )
    total = sum(piece.size for pieces in whole for piece in pieces)
    (blocks,) = block_counts([len(whole)], [total], lanes)
    cut = np.arange(blocks + 1, dtype=np.int64) * len(whole) // max(blocks, 1)
    return tuple(_file_block(whole[first:last]) for first, last in pairwise(cut.tolist()))


def _incomplete(files: Mapping[FileKey, Mapping[int, _Piece]]) -> list[str]:
    """Files with missing pieces, and how many there are; not those of which another version is whole."""
    whole = {path for (path, _, of), pieces in files.items() if len(pieces) == of}
    return [
        f"{path.decode(errors='backslashreplace')} ({len(pieces)} of {counted_noun(of, 'piece')})"
        for (path, _, of), pieces in files.items()
        if path not in whole
    ]


def _file_block(files: Sequence[Sequence[_Piece]]) -> FileBlock:
    pieces = [piece for file in files for piece in file]
    by_partition: dict[int, list[int]] = {}
    for piece in pieces:
        by_partition.setdefault(piece.place[1], []).append(piece.place[2])
    return FileBlock(
        first=min(files[0], key=lambda piece: piece.number).place,
        samples=len(files),
        size_bytes=sum(piece.size for piece in pieces),
        ranges=tuple((p, min(offsets), max(offsets) + 1) for p, offsets in sorted(by_partition.items())),
    )


def _piece(topic: str, partition: int, record: RawRecord) -> _Piece:
    try:
        file, number, of = place_of(partition, record)
    except OperationError as error:  # another program may use the header for something else
        raise OperationError(
            f"topic {topic}, {error.message}", hint="join=False returns records as they are, and joins no files"
        ) from error
    return _Piece(file, number, of, (record[1], partition, record[0]), _record_bytes(record))


def _probe_ends(reader: TopicFetcher, p: int, begin: int, end: int, size_bytes: int) -> tuple[list[int], bool]:
    """Offsets of the last few records of a partition, and whether pieces of files are among the first or last few."""
    within = _PROBED_BYTES * (end - begin) // max(size_bytes, 1)
    few = min(end - begin, max(_LEAST_PROBED, min(_PROBED, within)))
    size = size_bytes * few // (end - begin)
    last = reader.fetch(p, end - few, end, size).records
    first = list(reader.fetch(p, begin, begin + few, size).records) if few < end - begin else []
    return [record[0] for record in last], any(is_piece(record[4]) for record in (*first, *last))


def _counted_range(p: int, offsets: tuple[int, int], found: _OffsetsAndSizes, blocks: int) -> PartitionRange:
    """The blocks of a partition: equal numbers of records, each block ending at the first record of the next."""
    count = len(found.offset)
    cut = np.arange(blocks + 1, dtype=np.int64) * count // max(blocks, 1)
    ends = [*found.offset[cut[1:-1]].tolist(), offsets[1]]
    before = np.concatenate(([0], np.cumsum(found.size)))
    counted = tuple(
        CountedBlock(end, int(last - first), int(before[last] - before[first]))
        for end, first, last in zip(ends, cut[:-1].tolist(), cut[1:].tolist(), strict=False)
    )
    return PartitionRange(
        partition=p,
        begin=offsets[0],
        end=offsets[1],
        size_bytes=int(found.size.sum()),
        blocks=blocks,
        counted=counted,
    )


def _offsets_and_sizes(steps: Iterator[LazyRecords]) -> _OffsetsAndSizes:
    offset, size = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for records in steps:
        columns = records.columns()
        offset.append(columns.offset.copy())  # a view would keep the received bytes
        size.append(columns.size_bytes)
    return _OffsetsAndSizes(np.concatenate(offset), np.concatenate(size))


def _partition_sizes(
    brokers: TopicReporter, reader: TopicFetcher, topic: str, ranges: Mapping[int, tuple[int, int]]
) -> Mapping[int, int]:
    """Bytes of each partition in its leader's log dir; estimated from a few records if that is not accessible."""
    leaders = {key: status.leader for key, status in brokers.partition_status([topic]).items()}
    try:
        logs, _ = brokers.replica_logs(set(leaders.values()) - {-1}, leaders.keys())
    except NotAuthorizedError:
        logs = {}
    by_leader = {on.partition: log.size_bytes for on, log in logs.items() if leaders.get(_key(on)) == on.broker}
    return {p: by_leader.get(p) or _estimate_bytes(reader, p, *offsets) for p, offsets in ranges.items()}


def _key(on: ReplicaOn) -> TopicPartition:
    return TopicPartition(on.topic, on.partition)


def _estimate_bytes(reader: TopicFetcher, p: int, begin: int, end: int) -> int:
    few = min(end - begin, 16)
    records = reader.fetch(p, begin, begin + few, _PROBE_BYTES).records
    mean = sum(map(_record_bytes, records)) / max(len(records), 1)
    return max(1, round(mean * (end - begin)))


def _is_compacted(brokers: TopicReporter, topic: str) -> bool:
    resource = ConfigResource(ResourceKind.TOPIC, topic)
    found, _ = brokers.configs([resource], [_CLEANUP_KEY])
    value = found.get(resource, {}).get(_CLEANUP_KEY)
    return value is not None and "compact" in (value.value or "")


def _record_bytes(record: RawRecord) -> int:
    """Approximate memory of a record."""
    return len(record[2] or b"") + len(record[3] or b"") + len(record[4])
