"""A stream of random numbers that is the same whether drawn one by one or many at a time."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64

_BLOCK = 1024
"""Numpy draws a block in about the time of ten single numbers; short runs would waste a longer block."""


class RandomStream:
    """Uniform float64 in [0, 1) from a seed."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._block: list[float] = []
        self._at = 0

    def next(self) -> float:
        """The next number."""
        at = self._at
        if at == len(self._block):
            self._renew()
            at = 0
        self._at = at + 1
        return self._block[at]

    def row(self, n: int) -> list[float]:
        """The next ``n`` numbers, for small ``n``."""
        end = self._at + n
        row = self._block[self._at : end]
        if len(row) < n:
            self._renew()
            return row + self.row(n - len(row))
        self._at = end
        return row

    def take(self, n: int) -> F64:
        """The next ``n`` numbers: float64, shape (n,)."""
        kept = np.array(self._block[self._at : self._at + n])
        self._at += len(kept)
        if len(kept) == n:
            return kept
        fresh = self._generator.random(n - len(kept))
        return np.concatenate((kept, fresh)) if len(kept) else fresh

    def _renew(self) -> None:
        self._block = self._generator.random(_BLOCK).tolist()
        self._at = 0
