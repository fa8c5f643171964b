"""Measures how fast the records of one producer come."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf
from typing import Final

_LEAST_COUNTED_S: Final = 0.05
"""The shortest time over which the rate is measured."""
_MEMORY_S: Final = 0.5
"""Seconds after which a third of an earlier, higher rate still counts."""
_LEAST_BYTES_PER_S: Final = 1e-6
"""What counts as none: an idle rate would decay until a batch is infinitely many linger times."""


class RecordRate:
    """The rate of one topic's records; used by one thread at a time.

    Parameters
    ----------
    clock
        Seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counted_s = -inf
        self._counted_bytes = 0.0
        self.bytes_per_s = 0.0
        """The latest; a lower one is adopted slowly, because a full buffer stalls even a fast producer for moments."""
        self.mean_bytes_per_s = 0.0

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed since the last measurement for another one."""
        return self._clock() - self._counted_s >= _LEAST_COUNTED_S

    def measure(self, sent_bytes: float) -> None:
        """Measure the rate since the last call; all bytes so far are given."""
        now_s = self._clock()
        elapsed_s = now_s - self._counted_s
        newest = (sent_bytes - self._counted_bytes) / elapsed_s
        kept = exp(-elapsed_s / _MEMORY_S)
        before = self.mean_bytes_per_s or newest
        self.mean_bytes_per_s = _noticeable(kept * before + (1 - kept) * newest)
        self.bytes_per_s = _noticeable(max(newest, kept * self.bytes_per_s + (1 - kept) * newest))
        self._counted_s, self._counted_bytes = now_s, sent_bytes

    def at_least_bytes_per_s(self, sent_bytes: float) -> float:
        """The latest rate, or that of a burst which has just begun; all bytes so far are given."""
        return max(self.bytes_per_s, (sent_bytes - self._counted_bytes) / _LEAST_COUNTED_S)


def _noticeable(bytes_per_s: float) -> float:
    return bytes_per_s if bytes_per_s >= _LEAST_BYTES_PER_S else 0.0
