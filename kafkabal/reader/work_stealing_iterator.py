"""Iterates over the samples of one reader if readers take work from each other, in segments that the ledger assigns."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from kafkabal.reader.epoch_progress import EpochProgress, Ranges
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.reader_shard import ReaderShard
from kafkabal.reader.sample import Sample
from kafkabal.reader.sample_iterator import SampleIterator, Supply
from kafkabal.reader.shared_work_ledger import RankStart, Segment, SharedWorkLedger


@dataclass(slots=True)
class _Part:
    """A segment of the epoch that this reader works on, or has finished."""

    segment: Segment
    after: int
    """The first sample that was not yielded."""
    reserved: int
    """The first sample that is not reserved; samples before it are this reader's."""
    is_finished: bool = False


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
        start: RankStart,
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
        self.each_portion = each_portion
        """Called often; a loop that continues the iteration sets its own."""
        self._parts: list[_Part] = []
        self._ledger = SharedWorkLedger(
            folder,
            f"seed-{seed}-epoch-{progress.epoch}-from-{progress.position}-{len(progress.rounds)}-of-{shard.readers}",
            reader=shard.reader,
            readers=shard.readers,
            start=start,
            count=lambda number: ReaderShard(number, shard.readers, shard.tail).count(progress.left(manifest.samples)),
            now_s=now_s,
        )

    @property
    def taken(self) -> int:
        """How many samples this reader has had."""
        return sum(part.after - part.segment.begin for part in self._parts)

    @property
    def ranges(self) -> Ranges:
        """By shard, the samples that this reader has had."""
        had = [(part.segment.shard, part.segment.begin, part.after) for part in self._parts]
        return tuple(
            tuple((first, after) for of, first, after in had if of == shard and first < after)
            for shard in range(self._shard.readers)
        )

    def give_back(self, taken: int) -> None:
        """Give all samples but the first ``taken`` again in the next iteration; they stay this reader's own."""
        left = self.taken - taken
        # copies: the thread of a cancelled asyncio loop may still take a sample
        self._parts = [replace(part) for part in self._parts]
        for part in reversed(self._parts):
            returned = min(left, part.after - part.segment.begin)
            if returned > 0:
                part.after, part.is_finished = part.after - returned, False
                left -= returned

    def close(self) -> None:
        """Let other readers see that this one is gone."""
        self._ledger.close()

    def __iter__(self) -> Generator[Sample, None, None]:
        parts = self._parts
        for part in parts:
            if not part.is_finished:  # the trainer left the loop early, or samples were given back
                yield from self._samples(part)
        while (segment := self._ledger.claim()) is not None:
            part = _Part(segment, after=segment.begin, reserved=segment.begin)
            self._parts.append(part)
            if self._parts is not parts:  # given back meanwhile: the next iteration takes the segment
                return
            yield from self._samples(part)
        self.close()

    def _samples(self, part: _Part) -> Iterator[Sample]:
        segment = part.segment
        sequence = SampleIterator(
            self._manifest,
            self._supply,
            seed=self._seed,
            shard=ReaderShard(segment.shard, self._shard.readers, self._shard.tail),
            progress=self.progress,
            taken=part.after,
            until_epoch=self.progress.epoch + 1,
            metrics=self._metrics,
            each_portion=self.each_portion,
            until=segment.end,
        )
        with closing(iter(sequence)) as samples:
            # reserved first: the next sample may be another reader's by now, and its block need not be waited for
            while self._has_reserved(part):
                sample = next(samples)
                part.after += 1
                yield sample
        part.is_finished = True

    def _has_reserved(self, part: _Part) -> bool:
        """Whether the next sample is this reader's, if necessary after reserving the next few."""
        if part.after == part.reserved:
            part.reserved = self._ledger.reserve(part.segment)
        return part.after < part.reserved
