"""The samples of one reader, one after the other: the schedule, the blocks loaded ahead, and what is counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkabal.reader.block_schedule import schedule
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.prefetch import Prefetch

if TYPE_CHECKING:
    from kafkabal.reader.block_schedule import Opening, Visits
    from kafkabal.reader.blocks import BlockSource, LoadedBlock
    from kafkabal.reader.manifest import Manifest
    from kafkabal.reader.metrics import ReaderMetrics
    from kafkabal.reader.reader_shard import ReaderShard
    from kafkabal.reader.sample import Sample

# clocks are read, and given-out memory is told to the threads, once for so many samples: a lock and a clock for each
# of them would cost as much as the sample
_PORTION = 16


@dataclass(slots=True)
class _OpenBlock:
    """A block that is being given out."""

    block: LoadedBlock
    order: list[int]
    """Places of its records, in the order in which they are given out."""
    each_bytes: int
    """Of its memory, what counts for one record."""
    given: int = 0

    @property
    def left_bytes(self) -> int:
        """Of its memory, what has not been released."""
        return self.block.size_bytes - self.given * self.each_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Where blocks come from, and how much of them is held."""

    source: Callable[[], BlockSource]
    """Makes one for each thread."""
    limit_bytes: int
    threads: int


class SampleSequence:
    """An iterator over the samples of a reader, from some progress to the end of some epoch; for one thread.

    Its :attr:`progress` and :attr:`taken` say at any moment what has been given out.
    """

    def __init__(
        self,
        manifest: Manifest,
        supply: Supply,
        *,
        seed: int | None,
        share: ReaderShard,
        progress: EpochProgress,
        taken: int,
        until_epoch: int,
        metrics: ReaderMetrics,
        each_portion: Callable[[], None] = lambda: None,
        until: int | None = None,
    ) -> None:
        self.progress = progress
        """When the readers began the current epoch, or this part of it."""
        self.taken = taken
        """Samples that this reader has given out since."""
        self._manifest = manifest
        self._supply = supply
        self._seed = seed
        self._share = share
        self._until_epoch = until_epoch
        self._metrics = metrics
        self._each_portion = each_portion
        self._until = until
        self._began_s = 0.0
        self._open: dict[int, _OpenBlock] = {}

    def __iter__(self) -> Iterator[Sample]:
        self._began_s = time.monotonic() - self._metrics.elapsed_s
        with Prefetch(
            self._visits(),
            self._supply.source,
            self._expected_bytes,
            limit_bytes=self._supply.limit_bytes,
            threads=self._supply.threads,
        ) as prefetch:
            for piece in prefetch.visits():
                self._turn_to(piece.order.epoch, prefetch)
                yield from self._piece(piece, prefetch)
        self._metrics.elapsed_s = time.monotonic() - self._began_s

    def _visits(self) -> Iterator[Visits]:
        progress, skip = self.progress, self.taken
        while progress.epoch < self._until_epoch:
            yield from schedule(self._manifest, self._seed, self._share, progress, skip, self._until)
            progress, skip = EpochProgress(progress.epoch + 1), 0

    def _turn_to(self, epoch: int, prefetch: Prefetch) -> None:
        if epoch <= self.progress.epoch:
            return
        self.progress, self.taken = EpochProgress(epoch), 0
        prefetch.release(sum(each.left_bytes for each in self._open.values()))
        self._open.clear()

    def _piece(self, piece: Visits, prefetch: Prefetch) -> Iterator[Sample]:
        openings = iter(piece.openings)
        metrics, is_open = self._metrics, self._open
        released, samples, size = 0, 0, 0
        try:
            for lane, number, opens in zip(piece.lane, piece.number, piece.opens, strict=True):
                if opens:
                    prefetch.release(is_open[lane].left_bytes if lane in is_open else 0)
                    is_open[lane] = self._opened(piece, next(openings), prefetch)
                each = is_open[lane]
                sample = each.block.take(each.order[number])
                each.given += 1
                released += each.each_bytes
                samples += 1
                size += len(sample.value) + len(sample.key or b"") + len(sample.packed_headers)
                if samples == _PORTION:
                    metrics.samples += samples
                    metrics.size_bytes += size
                    metrics.elapsed_s = time.monotonic() - self._began_s
                    prefetch.release(released)
                    released, samples, size = 0, 0, 0
                    self._each_portion()
                self.taken += 1
                yield sample
        finally:
            metrics.samples += samples
            metrics.size_bytes += size
            prefetch.release(released)

    def _opened(self, piece: Visits, opening: Opening, prefetch: Prefetch) -> _OpenBlock:
        before_s = prefetch.waited_s
        block = prefetch.next_block()
        self._metrics.waited_s += prefetch.waited_s - before_s
        self._metrics.count_block(block.bytes_by_broker, block.seconds_by_broker, is_cached=block.is_cached)
        count = len(block.records)
        order = [0] if opening.only is not None else piece.order.within(opening.block, count).tolist()
        return _OpenBlock(block, order, block.size_bytes // max(count, 1))

    def _expected_bytes(self, opening: Opening) -> int:
        blocks = self._manifest.blocks
        size = int(blocks.size_bytes[opening.block])
        return size if opening.only is None else size // int(blocks.samples[opening.block])
