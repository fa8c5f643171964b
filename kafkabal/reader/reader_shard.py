"""What one of many readers takes of an epoch, and how all of them come to equally many samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kafkabal.model import I64
from kafkabal.reader.epoch_progress import EpochProgress

_CHUNK = 4096
"""Positions worked out at once: enough for numpy to be faster than a loop, few enough to start at once."""


class Tail(StrEnum):
    """What becomes of the last few samples of an epoch, fewer than there are readers."""

    DROP = "drop"
    """Left out: every reader gets as many as the least."""
    REPEAT = "repeat"
    """Completed with the first samples of the epoch: every reader gets as many as the most."""
    KEEP = "keep"
    """Given out once each: some readers get one sample more."""


class Balance(StrEnum):
    """What becomes of the part of a reader that is late."""

    STATIC = "static"
    """It stays its own: readers in step, as synchronous training keeps them, wait for the slowest."""
    DYNAMIC = "dynamic"
    """Readers that have finished take parts of it."""


@dataclass(frozen=True, slots=True)
class ReaderShard:
    """Reader ``reader`` of ``readers``."""

    reader: int = 0
    readers: int = 1
    tail: Tail = Tail.DROP

    def count(self, left: int) -> int:
        """How many samples it gets of those that are left."""
        whole, over = divmod(left, self.readers)
        if self.tail is Tail.DROP or not over:
            return whole
        return whole + (self.tail is Tail.REPEAT or self.reader < over)

    def positions(
        self, progress: EpochProgress, samples: int, skip: int = 0, until: int | None = None
    ) -> Iterator[I64]:
        """Yield the positions of its samples in their order, in pieces.

        Parameters
        ----------
        samples
            Of the epoch.
        skip
            How many of its own samples to leave out at the beginning.
        until
            How many of its own samples to end before; None: all.
        """
        left = progress.left(samples)
        count = self.count(left) if until is None else until
        for start in range(skip, count, _CHUNK):
            number = self.reader + self.readers * np.arange(start, min(start + _CHUNK, count), dtype=np.int64)
            position = progress.positions(np.minimum(number, left - 1))
            repeated = number >= left
            position[repeated] = (number[repeated] - left) % samples
            yield position
