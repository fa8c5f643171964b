"""Reads all partitions of a topic from end to end, several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Protocol, TypeAlias, TypeVar

from kafkabal.clusters.kafka import LazyRecords
from kafkabal.reader.block_loader import Fetcher

_T = TypeVar("_T")
CountingListener: TypeAlias = "Callable[[int, int], None]"
"""Called with the bytes read and their total while a whole topic is read to pin it; by one thread at a time."""
_Range: TypeAlias = "tuple[int, int, int, int]"
"""Partition, first offset, end and expected size."""
_COUNTED_AT_ONCE_BYTES = 4 * 2**20
"""Counting needs only offsets and sizes, so blocks are dropped at once; a few MiB keep the connection busy, of one
partition or of several small ones."""
_MOST_TOGETHER = 200
"""Ranges of a request: every thread should find some, also if they are tiny."""
_THREADS = 4
"""While some threads unpack, others wait for brokers; because of the interpreter's lock, more threads do not help."""


class TopicFetcher(Fetcher, Protocol):
    """Reads one topic; :class:`~kafkabal.clusters.kafka.range_fetcher.RangeFetcher` does."""

    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """First offset and last stable offset of each partition."""

    def local_starts(self) -> Mapping[int, int]:
        """First offset of each partition that is not only in remote storage, if brokers report it."""


class PartitionReaders:
    """Reads several partitions at the same time, each thread with a reader of its own.

    A reader is used for one partition after another: connecting for each of thousands would take longer than reading.
    Small ranges are requested together: 2,000 requests took 2 s of an otherwise idle machine.
    """

    def __init__(self, fetcher: Callable[[], TopicFetcher]) -> None:
        self.are_stopped = Event()
        """Set at the end: a thread reads no further, even if the end is early, such as by Ctrl-C."""
        self._fetcher = fetcher
        self._idle: SimpleQueue[TopicFetcher] = SimpleQueue()
        self._pool = ThreadPoolExecutor(_THREADS)

    def __enter__(self) -> PartitionReaders:
        return self

    def __exit__(self, *_: object) -> None:
        self.are_stopped.set()
        self._pool.shutdown(cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def each(self, ranges: Iterable[_Range], job: Callable[[TopicFetcher, int], _T]) -> Iterator[_T]:
        """Results for the partitions of these ranges, which the job will fetch, in their order."""
        return chain.from_iterable(self._pool.map(partial(self._run, job), _together(ranges)))

    def _run(self, job: Callable[[TopicFetcher, int], _T], ranges: Sequence[_Range]) -> list[_T]:
        with self.one() as reader:
            if len(ranges) > 1:
                reader.fetch_ahead(ranges)
            return [job(reader, partition) for partition, _, _, _ in ranges]

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


def _together(ranges: Iterable[_Range]) -> Iterator[list[_Range]]:
    """Parts of the ranges with few bytes each, or a single range."""
    some: list[_Range] = []
    some_bytes = 0
    for each in ranges:
        some_bytes += each[3]
        if some and (some_bytes > _COUNTED_AT_ONCE_BYTES or len(some) == _MOST_TOGETHER):
            yield some
            some, some_bytes = [], each[3]
        some.append(each)
    if some:
        yield some


class WholeReading:
    """Reads partitions from end to end, and tells a listener how far that is.

    Parameters
    ----------
    ranges, sizes
        Offsets and bytes of each partition.
    """

    def __init__(
        self,
        readers: PartitionReaders,
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

    def each(self, job: Callable[[int, LazyRecords], _T]) -> Iterator[list[_T]]:
        """By partition, what a function makes of its number and its records, which it gets a few MiB at a time."""
        self._listener(0, self._total_bytes)
        ranges = ((p, begin, end, self.sizes[p]) for p, (begin, end) in self.ranges.items())
        return self._readers.each(ranges, lambda reader, p: self._read(reader, p, partial(job, p)))

    def _read(self, reader: TopicFetcher, p: int, job: Callable[[LazyRecords], _T]) -> list[_T]:
        (begin, end), size_bytes = self.ranges[p], self.sizes[p]
        step = max(1, (end - begin) * _COUNTED_AT_ONCE_BYTES // max(size_bytes, 1))
        at, made = begin, []

        def use(records: LazyRecords) -> None:
            made.append(job(records))

        while at < end and not self._readers.are_stopped.is_set():
            until = min(at + step, end)
            done = [size_bytes * (offset - begin) // (end - begin) for offset in (at, until)]
            fetched = reader.fetch(p, at, until, done[1] - done[0], use)
            use(fetched.records)
            self._add(done[1] - done[0])
            if sum(fetched.bytes_by_broker.values()) < _COUNTED_AT_ONCE_BYTES // 2:
                # its size was estimated too large: 71 MB with one record of 5 MB of a single letter took 3 min
                step *= 2
            at = until
        return made

    def _add(self, n_bytes: int) -> None:
        with self._lock:
            self._done_bytes += n_bytes
            self._listener(self._done_bytes, self._total_bytes)
