"""Groups and sizes in one whole number each, so that one sort and one search serve both."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64

_SIZE_BITS = 43
"""Replicas of up to 8 TiB to the byte; what is left of 63 bits numbers a million groups, two a broker."""
_SIZE_MASK = (1 << _SIZE_BITS) - 1


class SizeKeys:
    """Keys that sort by group, then by bytes; sizes beyond 8 TiB are distinguished a little less finely."""

    def __init__(self, bytes_: I64) -> None:
        self._shift = max(0, int(bytes_.max(initial=0)).bit_length() - _SIZE_BITS)

    def of(self, group: I32 | I64, bytes_: I64) -> I64:
        """Keys of entries; those of a larger group number sort last."""
        return (group.astype(np.int64) << _SIZE_BITS) | (bytes_ >> self._shift)

    def at_least(self, group: I32 | I64, size: F64) -> I64:
        """Keys to search for the smallest entry of each group that is at least so large."""
        return self.of(group, np.clip(size, 0, _SIZE_MASK << self._shift).astype(np.int64))

    def bytes_of(self, key: I64) -> I64:
        """Sizes, rounded down to what a key can tell."""
        return (key & _SIZE_MASK) << self._shift

    @staticmethod
    def last_of(group: int) -> int:
        """A key that no entry of a group is behind."""
        return ((group + 1) << _SIZE_BITS) - 1

    @staticmethod
    def group_of(key: I64) -> I64:
        """Groups of keys."""
        return key >> _SIZE_BITS

    @staticmethod
    def ends(key: I64, n_groups: int) -> I64:
        """int64, shape (n_groups + 1,): where each group starts among sorted keys, and where the last one ends."""
        return np.searchsorted(key, np.arange(n_groups + 1) << _SIZE_BITS)
