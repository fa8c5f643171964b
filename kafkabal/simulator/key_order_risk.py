"""Count records whose order within their key is at risk."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32

_ROWS_OF_16_BITS = 2**16
"""Keys that a number of 16 bits tells apart."""


class KeyOrderRisk:
    """Follows the partition of every key.

    A record that goes to another partition than the one of its key before it may overtake it, or be overtaken: Kafka
    orders records within a partition only.
    """

    def __init__(self, n_keys: int) -> None:
        self._last = np.full(n_keys, -1, np.int32)
        # numbers of 16 bits are sorted by their digits, which is quicker
        self._sortable = np.uint16 if n_keys <= _ROWS_OF_16_BITS else np.int32
        self.violations = 0

    def follow(self, key: I32, partition: I32) -> None:
        """Take the next records; a key of -1 is none."""
        last = self._last
        before = last[key]
        last[key] = partition
        # most policies that keep the order keep it throughout, which costs no sort to see
        if ((before == partition) | (before < 0)).all() and (last[key] == partition).all():
            return
        keyed = np.flatnonzero(key >= 0)
        order = keyed[np.argsort(key[keyed].astype(self._sortable), kind="stable")]
        sorted_key, sorted_partition = key[order], partition[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = sorted_key[1:] != sorted_key[:-1]
        of_last = np.empty(len(order), np.int32)
        of_last[1:] = sorted_partition[:-1]
        of_last[first] = before[order[first]]
        self.violations += int(((of_last >= 0) & (of_last != sorted_partition)).sum())
        last[sorted_key] = sorted_partition
