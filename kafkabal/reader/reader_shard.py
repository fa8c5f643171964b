"""Which part of an epoch one of many readers gets, and how all of them get equally many samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kafkabal.model import I64
from kafkabal.reader.epoch_progress import EpochProgress

_CHUNK = 4096
"""Positions computed at once: enough for numpy to be faster than a loop, few enough to start immediately."""


class Tail(StrEnum):
    """What to do with the last samples of an epoch, fewer than there are readers."""

    DROP = "drop"
    """Leave them out: every reader gets as many as the least."""
    REPEAT = "repeat"
    """Fill up with the first samples of the epoch: every reader gets as many as the most."""
    KEEP = "keep"
    """Give them out once each: some readers get one sample more."""


class Balance(StrEnum):
    """What to do with the share of a slow reader."""

    STATIC = "static"
    """It keeps it: readers in step, as in synchronous training, wait for the slowest."""
    DYNAMIC = "dynamic"
    """Readers that have finished take parts of it."""


@dataclass(frozen=True, slots=True)
class ReaderShard:
    """Reader ``reader`` of ``readers``."""

    reader: int = 0
    readers: int = 1
    tail: Tail = Tail.DROP

    def count(self, left: int) -> int:
        """How many of the remaining samples it gets."""
        whole, over = divmod(left, self.readers)
        if self.tail is Tail.DROP or not over:
            return whole
        return whole + (self.tail is Tail.REPEAT or self.reader < over)

    def positions(
        self, progress: EpochProgress, samples: int, skip: int = 0, until: int | None = None
    ) -> Iterator[I64]:
        """Yield the positions of its samples in order, in pieces.

        Parameters
        ----------
        samples
            Samples of the epoch.
        skip
            How many of its own samples to skip at the start.
        until
            Number of its own samples to stop before; None for all.
        """
        left = progress.left(samples)
        count = self.count(left) if until is None else until
        for start in range(skip, count, _CHUNK):
            number = self.reader + self.readers * np.arange(start, min(start + _CHUNK, count), dtype=np.int64)
            position = progress.positions(np.minimum(number, left - 1))
            repeated = number >= left
            position[repeated] = (number[repeated] - left) % samples
            yield position
