"""Iterates over the samples of one reader if readers take work from each other, in segments that the ledger assigns."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path

from kafkabal.reader.epoch_progress import EpochProgress, Ranges
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.reader_shard import ReaderShard
from kafkabal.reader.sample import Sample
from kafkabal.reader.sample_iterator import SampleIterator, Supply
from kafkabal.reader.shared_work_ledger import Segment, SharedWorkLedger


class WorkStealingIterator:
    """An iterator over one reader's samples of the rest of an epoch; iterating again continues.

    Parameters
    ----------
    folder
        Folder of the ledger, on a file system that all readers share.
    """

    def __init__(
        self,
        manifest: Manifest,
        supply: Supply,
        folder: Path,
        *,
        seed: int | None,
        shard: ReaderShard,
        progress: EpochProgress,
        metrics: ReaderMetrics,
        each_portion: Callable[[], None] = lambda: None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.progress = progress
        """Where the epoch stood when the readers started it or resumed."""
        self._manifest = manifest
        self._supply = supply
        self._seed = seed
        self._shard = shard
        self._metrics = metrics
        self._each_portion = each_portion
        self._taken_segments: list[list[int]] = []
        """Stripe, first sample, and the one after the last, for each segment so far."""
        self._current: Segment | None = None
        self._reserved = 0
        self._ledger = SharedWorkLedger(
            folder,
            f"seed-{seed}-epoch-{progress.epoch}-from-{progress.position}-{len(progress.rounds)}-of-{shard.readers}",
            reader=shard.reader,
            readers=shard.readers,
            count=lambda stripe: ReaderShard(stripe, shard.readers, shard.tail).count(progress.left(manifest.samples)),
            now_s=now_s,
        )

    @property
    def taken(self) -> int:
        """How many samples this reader has had."""
        return sum(after - first for _, first, after in self._taken_segments)

    @property
    def ranges(self) -> Ranges:
        """By stripe, the samples that this reader has had."""
        return tuple(
            tuple((first, after) for of, first, after in self._taken_segments if of == stripe and first < after)
            for stripe in range(self._shard.readers)
        )

    def close(self) -> None:
        """Let other readers see that this one is gone."""
        self._ledger.close()

    def __iter__(self) -> Generator[Sample, None, None]:
        if self._current is not None:  # the trainer left the loop early
            yield from self._samples(self._current)
        while (segment := self._ledger.claim()) is not None:
            self._current = segment
            self._taken_segments.append([segment.stripe, segment.begin, segment.begin])
            self._reserved = segment.begin
            yield from self._samples(segment)
        self.close()

    def _samples(self, segment: Segment) -> Iterator[Sample]:
        taken_segment = self._taken_segments[-1]
        sequence = SampleIterator(
            self._manifest,
            self._supply,
            seed=self._seed,
            shard=ReaderShard(segment.stripe, self._shard.readers, self._shard.tail),
            progress=self.progress,
            taken=taken_segment[2],
            until_epoch=self.progress.epoch + 1,
            metrics=self._metrics,
            each_portion=self._each_portion,
            until=segment.end,
        )
        with closing(iter(sequence)) as samples:
            # reserved first: the next sample may be another reader's by now, and its block need not be waited for
            while self._has_reserved(segment, taken_segment[2]):
                sample = next(samples)
                taken_segment[2] += 1
                yield sample
        self._current = None

    def _has_reserved(self, segment: Segment, number: int) -> bool:
        """Whether the sample with this number is this reader's, if necessary after reserving the next few."""
        if number == self._reserved:
            self._reserved = self._ledger.reserve(segment)
        return number < self._reserved
