"""Iterates over the samples of one reader: follows the schedule, takes prefetched blocks, and counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import length_hint
from typing import Final

import numpy as np

from kafkabal.model import I64
from kafkabal.reader.block_loader import BlockLoader
from kafkabal.reader.block_schedule import Opening, Run, Visits, schedule
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.loaded_blocks import SampleBlock
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.prefetch import UNKNOWN_BROKER, Prefetch
from kafkabal.reader.reader_shard import ReaderShard
from kafkabal.reader.sample import Sample

_PORTION: Final = 32
"""Samples per clock reading, count and memory release: a lock and a clock per sample would cost as much as the
sample."""


@dataclass(slots=True)
class _OpenBlock:
    """A block that is being yielded."""

    block: SampleBlock
    each_bytes: int
    """Its memory, divided by its records."""
    yielded: int = 0
    """Samples yielded so far, including the current piece."""

    @property
    def left_bytes(self) -> int:
        """Memory of it that has not been released."""
        return self.block.size_bytes - self.yielded * self.each_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Where blocks come from, and how much memory they may take."""

    open_loader: Callable[[], BlockLoader]
    """Creates one for each thread."""
    limit_bytes: int
    broker_of: Callable[[int], int] = lambda _: UNKNOWN_BROKER
    """The broker that a block will come from."""


class SampleIterator:
    """An iterator over the samples of a reader, from a given progress to the end of a given epoch; for one thread.

    Its :attr:`progress` and :attr:`taken` are always exact.

    Parameters
    ----------
    check_damaged
        Raises an error for damaged samples, or leaves them out; only called while a block with such samples is open,
        because a look at each sample would slow down the reading of small ones.
    """

    def __init__(
        self,
        manifest: Manifest,
        supply: Supply,
        *,
        seed: int | None,
        shard: ReaderShard,
        progress: EpochProgress,
        taken: int,
        until_epoch: int,
        metrics: ReaderMetrics,
        each_portion: Callable[[], None] = lambda: None,
        until: int | None = None,
        check_damaged: Callable[[Iterator[Sample]], Iterator[Sample]] = iter,
    ) -> None:
        self.progress = progress
        """Where the epoch stood when the readers started it or resumed."""
        self._taken = taken
        self._portion: Sequence[Iterator[Sample]] = ()
        """The iterators of the samples being yielded; the next attribute has those that remain."""
        self._left: Iterator[Iterator[Sample]] = iter(self._portion)
        self._manifest = manifest
        self._supply = supply
        self._seed = seed
        self._shard = shard
        self._until_epoch = until_epoch
        self._metrics = metrics
        self._each_portion = each_portion
        self._until = until
        self._check_damaged = check_damaged
        self._began_s = 0.0
        self._open: dict[int, _OpenBlock] = {}
        self._is_damaged = False
        """Whether an open block has damaged samples."""

    @property
    def taken(self) -> int:
        """Samples that this reader has yielded since."""
        return self._taken + self._yielded

    @property
    def is_ready(self) -> bool:
        """Whether the next sample waits for no block."""
        return length_hint(self._left) > 0

    @property
    def _yielded(self) -> int:
        """Samples of the current portion that were yielded."""
        return len(self._portion) - length_hint(self._left)

    def __iter__(self) -> Generator[Sample, None, None]:
        self._began_s = time.monotonic() - self._metrics.elapsed_s
        with Prefetch(
            self._visits(),
            self._supply.open_loader,
            self._expected_bytes,
            self._supply.broker_of,
            limit_bytes=self._supply.limit_bytes,
            brokers=len(self._manifest.partitions),
        ) as prefetch:
            try:
                for piece in prefetch.visits():
                    self._begin_epoch(piece.order.epoch, prefetch)
                    yield from self._samples_of_piece(piece, prefetch)
            finally:
                self._open.clear()  # the position outlives a loop that is left, but the next one loads its own blocks
        self._metrics.elapsed_s = time.monotonic() - self._began_s

    def _visits(self) -> Iterator[Visits]:
        progress, skip = self.progress, self._taken
        while progress.epoch < self._until_epoch:
            yield from schedule(self._manifest, self._seed, self._shard, progress, skip, self._until)
            progress, skip = EpochProgress(progress.epoch + 1), 0

    def _begin_epoch(self, epoch: int, prefetch: Prefetch) -> None:
        if epoch <= self.progress.epoch:
            return
        self.progress, self._taken = EpochProgress(epoch), 0
        prefetch.release(sum(each.left_bytes for each in self._open.values()))
        self._open.clear()

    def _samples_of_piece(self, piece: Visits, prefetch: Prefetch) -> Iterator[Sample]:
        samples: dict[int, Iterator[Sample]] = {}
        counted = np.zeros((2, len(piece.lane)), np.int64)  # for each visit: bytes yielded, and memory released
        for lane, run in piece.continued.items():
            samples[lane] = _samples(self._open[lane], run, counted)
        begin = 0
        for end, run in zip(piece.opens, piece.opened, strict=True):
            yield from self._portions(piece.lane[begin:end], samples, counted[:, begin:end], prefetch)
            lane = piece.lane[end]
            if lane in self._open:
                prefetch.release(self._open[lane].left_bytes)
            self._open[lane] = self._open_next_block(prefetch)
            self._is_damaged = any(each.block.is_damaged for each in self._open.values())
            samples[lane] = _samples(self._open[lane], run, counted)
            begin = end
        yield from self._portions(piece.lane[begin:], samples, counted[:, begin:], prefetch)

    def _portions(
        self, lanes: list[int], samples: Mapping[int, Iterator[Sample]], counted: I64, prefetch: Prefetch
    ) -> Iterator[Sample]:
        """Yield the next sample of each of these lanes."""
        metrics = self._metrics
        begins = range(0, len(lanes), _PORTION)
        # at once for all portions: a sum for each would take a tenth of the time
        totals = np.add.reduceat(counted, begins, axis=1).T.tolist() if begins else []
        for begin, (size, released) in zip(begins, totals, strict=True):
            self._portion = list(map(samples.__getitem__, lanes[begin : begin + _PORTION]))
            self._left = iter(self._portion)
            try:
                # runs in C; only the consumer of the samples is interpreted
                portion = map(next, self._left)
                yield from self._check_damaged(portion) if self._is_damaged else portion
            finally:
                yielded = self._yielded
                if yielded < len(self._portion):  # the consumer stopped
                    size, released = counted[:, begin : begin + yielded].sum(axis=1).tolist()
                metrics.samples += yielded
                metrics.size_bytes += size
                self._taken += yielded
                self._portion, self._left = (), iter(())
                prefetch.release(released)
            metrics.elapsed_s = time.monotonic() - self._began_s
            self._each_portion()

    def _open_next_block(self, prefetch: Prefetch) -> _OpenBlock:
        before_s = prefetch.waited_s
        block = prefetch.next_block()
        self._metrics.waited_s += prefetch.waited_s - before_s
        self._metrics.count_block(block.bytes_by_broker, block.seconds_by_broker, is_cached=block.is_cached)
        return _OpenBlock(block, block.size_bytes // max(len(block), 1))

    def _expected_bytes(self, opening: Opening) -> int:
        blocks = self._manifest.blocks
        size = int(blocks.size_bytes[opening.block])
        return size if opening.only is None else size // int(blocks.samples[opening.block])


def _samples(opened: _OpenBlock, run: Run, counted: I64) -> Iterator[Sample]:
    """The samples of a run of visits; fills ``counted`` with the bytes of each."""
    counted[:, run.visits] = opened.block.sample_bytes[run.numbers], np.full(len(run.numbers), opened.each_bytes)
    opened.yielded += len(run.numbers)
    return opened.block.samples(run.numbers)
