"""The samples of one reader, one after the other: the schedule, the blocks loaded ahead, and what is counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkabal.reader.blocks import record_bytes
from kafkabal.reader.prefetch import Prefetch
from kafkabal.reader.progress import Progress
from kafkabal.reader.sample import Sample
from kafkabal.reader.schedule import schedule

if TYPE_CHECKING:
    from kafkabal.reader.blocks import BlockSource, LoadedBlock
    from kafkabal.reader.manifest import Manifest
    from kafkabal.reader.metrics import ReaderMetrics
    from kafkabal.reader.schedule import Opening, Visits
    from kafkabal.reader.share import Share

# given-out memory is told to the threads in portions: a lock for every sample would cost more than the sample
_RELEASED_AT_ONCE_BYTES = 2**20


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
        share: Share,
        progress: Progress,
        taken: int,
        until_epoch: int,
        metrics: ReaderMetrics,
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
        self._open: dict[int, tuple[LoadedBlock, list[int]]] = {}

    def __iter__(self) -> Iterator[Sample]:
        began_s = time.monotonic() - self._metrics.elapsed_s
        waited_s = self._metrics.waited_s
        with Prefetch(
            self._visits(),
            self._supply.source,
            self._expected_bytes,
            limit_bytes=self._supply.limit_bytes,
            threads=self._supply.threads,
        ) as prefetch:
            for piece in prefetch.visits():
                self._turn_to(piece.order.epoch, prefetch)
                for sample in self._piece(piece, prefetch):
                    self.taken += 1
                    yield sample
                    self._metrics.elapsed_s = time.monotonic() - began_s
                    self._metrics.waited_s = waited_s + prefetch.waited_s

    def _visits(self) -> Iterator[Visits]:
        progress, skip = self.progress, self.taken
        while progress.epoch < self._until_epoch:
            yield from schedule(self._manifest, self._seed, self._share, progress, skip)
            progress, skip = Progress(progress.epoch + 1), 0

    def _turn_to(self, epoch: int, prefetch: Prefetch) -> None:
        if epoch <= self.progress.epoch:
            return
        self.progress, self.taken = Progress(epoch), 0
        for block, _ in self._open.values():
            prefetch.release(block.size_bytes)
        self._open.clear()

    def _piece(self, piece: Visits, prefetch: Prefetch) -> Iterator[Sample]:
        openings = iter(piece.openings)
        released = 0
        for lane, number, opens in zip(piece.lane, piece.number, piece.opens, strict=True):
            if opens:
                released += self._close(lane)
                prefetch.release(released)
                released = 0
                self._open[lane] = self._opened(piece, next(openings), prefetch)
            block, order = self._open[lane]
            partition, record = block.take(order[number])
            size = record_bytes(record)
            released += size
            if released > _RELEASED_AT_ONCE_BYTES:
                prefetch.release(released)
                released = 0
            self._metrics.samples += 1
            self._metrics.size_bytes += size
            yield Sample(partition, record)
        prefetch.release(released)

    def _close(self, lane: int) -> int:
        """Bytes of what other readers take of the block that is open in a lane."""
        before = self._open.pop(lane, None)
        return 0 if before is None else before[0].size_bytes

    def _opened(self, piece: Visits, opening: Opening, prefetch: Prefetch) -> tuple[LoadedBlock, list[int]]:
        block = prefetch.next_block()
        self._metrics.count_block(block.bytes_by_broker, block.seconds_by_broker)
        if opening.only is not None:
            return block, [0]
        return block, piece.order.within(opening.block, len(block.records)).tolist()

    def _expected_bytes(self, opening: Opening) -> int:
        blocks = self._manifest.blocks
        size = int(blocks.size_bytes[opening.block])
        return size if opening.only is None else size // int(blocks.samples[opening.block])
