"""Counts the bytes of each partition, the older ones less and less."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np

from kafkabal.model import F64, I64
from kafkabal.routing.routing_view import fitted_to


class RecentBytes:
    """The recent bytes of one topic's partitions; used by one thread at a time.

    Parameters
    ----------
    clock
        Seconds.
    memory_s
        Seconds after which a byte counts a third.
    """

    def __init__(self, clock: Callable[[], float], memory_s: float) -> None:
        self._clock = clock
        self._memory_s = memory_s
        self._at_s = clock()
        self._total: F64 = np.zeros(0)
        self.by_partition: F64 = np.zeros(0)
        """shape (n_partitions,)."""
        self.span_s = 0.0
        """The time that counts, by the same weights."""

    def count(self, total: I64 | F64) -> float:
        """Take notice of the bytes since the start, shape (n_partitions,); returns how many are new."""
        now_s, n = self._clock(), len(total)
        elapsed_s, self._at_s = max(0.0, now_s - self._at_s), now_s
        if len(self._total) != n:
            self._total, self.by_partition = fitted_to(self._total, n), fitted_to(self.by_partition, n)
        kept, new = exp(-elapsed_s / self._memory_s), np.maximum(total - self._total, 0)
        self.by_partition = kept * self.by_partition + new
        self.span_s = kept * self.span_s + elapsed_s
        self._total = total.astype(np.float64)
        return float(new.sum())
