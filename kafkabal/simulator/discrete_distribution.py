"""Draws from a discrete distribution by inversion, with a guide table that avoids most searches.

References
----------
Chen, Asau, *On Generating Random Variates from an Empirical Distribution*, AIIE Transactions 1974.

Notes
-----
The interval from 0 to 1 is cut into equal parts, many more than there are outcomes. Most parts are within one outcome,
which the table holds; only numbers in the other parts need a search.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkabal.model import F64, I32

_PARTS_AN_OUTCOME: Final = 16
"""At least 15 of 16 parts are then within one outcome, and need no search."""
_MOST_PARTS: Final = 2**20
"""The table then has 5 MB."""


class DiscreteDistribution:
    """Outcomes 0, 1, ... with probabilities proportional to weights.

    Parameters
    ----------
    weights
        float64, shape (n,), n >= 1, > 0.
    """

    def __init__(self, weights: F64) -> None:
        # rounding may leave the last bound just below 1
        self._bounds: F64 = (np.cumsum(weights) / weights.sum())[:-1]
        # a power of two, so that the part of a number is exact
        self._parts = min(_MOST_PARTS, 1 << (_PARTS_AN_OUTCOME * len(weights) - 1).bit_length())
        first = self._search(np.arange(self._parts + 1) / self._parts)
        self._first = first[:-1]
        self._is_split = first[:-1] != first[1:]

    def outcomes(self, uniforms: F64) -> I32:
        """int32, shape (n,): one outcome for each number, in [0, 1)."""
        part = (uniforms * self._parts).astype(np.int32)
        found: I32 = self._first.take(part)
        split = np.flatnonzero(self._is_split.take(part))
        found[split] = self._search(uniforms[split])
        return found

    def _search(self, uniforms: F64) -> I32:
        return np.searchsorted(self._bounds, uniforms, side="right").astype(np.int32)
