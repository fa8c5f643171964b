"""Counts records whose order within their key is at risk."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32

_ROWS_OF_16_BITS = 2**16
"""Number of keys that 16 bits can distinguish."""


class KeyOrderRisk:
    """Tracks the partition of every key.

    A record that goes to another partition than its key's previous record may overtake it or be overtaken: Kafka orders
    records within a partition only.
    """

    def __init__(self, n_keys: int) -> None:
        # the last item is of records without a key, whose -1 would otherwise be the last key
        self._last = np.full(n_keys + 1, -1, np.int32)
        # numpy radix-sorts 16-bit numbers, which is faster
        self._sortable = np.uint16 if n_keys <= _ROWS_OF_16_BITS else np.int32
        self.violations = 0

    def add(self, key: I32, partition: I32) -> None:
        """Process the next records; -1 stands for no key."""
        last = self._last
        before = last[key]
        last[key] = partition
        # most policies that keep the order do so throughout; checking that needs no sort
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
