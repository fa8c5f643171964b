"""Random orders that depend only on integers, and are the same on every machine and with every version of numpy.

numpy may change what its generators draw from a seed (NEP 19), so each number is hashed with SplitMix64 (Steele, Lea,
Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014), and the hashes are sorted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kafkabal.model import I64

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
"""This and the next two are the constants of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_MASK = (1 << 64) - 1


def keys(count: int, *seeds: int) -> NDArray[np.uint64]:
    """uint64, shape (count,): a random number for each of 0, 1, ...; they depend on the seeds."""
    state = np.uint64(0)
    for seed in seeds:
        state = _mixed(np.array([state ^ np.uint64(seed & _MASK)]))[0]
    return _mixed(np.arange(count, dtype=np.uint64) * _GAMMA + state)


def permutation(count: int, *seeds: int) -> I64:
    """int64, shape (count,): the numbers 0 to count - 1 in random order."""
    return np.argsort(keys(count, *seeds), kind="stable")


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = numbers + _GAMMA
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    mixed: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed
