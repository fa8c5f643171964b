"""Reads all partitions of a topic from end to end, several at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Protocol, TypeAlias, TypeVar

from kafkabal.clusters.kafka import LazyRecords
from kafkabal.reader.block_loader import Fetcher

_T = TypeVar("_T")
CountingListener: TypeAlias = "Callable[[int, int], None]"
"""Called with the bytes read and their total while a whole topic is read to pin it; by one thread at a time."""
_COUNTED_AT_ONCE_BYTES = 4 * 2**20
"""Counting needs only offsets and sizes, so blocks are dropped at once; a few MiB keep the connection busy."""
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
        return self._readers.each(self.ranges, lambda reader, p: self._read(reader, p, partial(job, p)))

    def _read(self, reader: TopicFetcher, p: int, job: Callable[[LazyRecords], _T]) -> list[_T]:
        (begin, end), size_bytes = self.ranges[p], self.sizes[p]
        step = max(1, (end - begin) * _COUNTED_AT_ONCE_BYTES // max(size_bytes, 1))
        at, made = begin, []

        def use(records: LazyRecords) -> None:
            made.append(job(records))

        while at < end and not self._readers.are_stopped.is_set():
            until = min(at + step, end)
            use(reader.fetch(p, at, until, _COUNTED_AT_ONCE_BYTES, use).records)
            done = [size_bytes * (offset - begin) // (end - begin) for offset in (at, until)]
            self._add(done[1] - done[0])
            at = until
        return made

    def _add(self, n_bytes: int) -> None:
        with self._lock:
            self._done_bytes += n_bytes
            self._listener(self._done_bytes, self._total_bytes)
