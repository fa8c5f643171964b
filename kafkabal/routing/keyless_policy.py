"""Policies that leave keyed records to the hash of the key, and pick only for records without one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from kafkabal.model import I32
from kafkabal.routing.key_hashes import REMEMBERED_KEYS, KeyTable, key_partition
from kafkabal.routing.policy_protocol import Context, PolicyBase, RecordBatch
from kafkabal.routing.routing_view import RoutingView


class KeylessPolicy(PolicyBase, ABC):
    """Sends keyed records where Kafka's clients would, to any partition whether it has a leader or not."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._partition_of_key = lru_cache(REMEMBERED_KEYS)(self.hash_key)
        self._table: KeyTable | None = None
        self.n_partitions = 0

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        if view.n_partitions != self.n_partitions:
            self.n_partitions = view.n_partitions
            self._table = None
        self.refresh_keyless(view)

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`."""
        return self.pick_keyless(size_bytes) if key is None else self._partition_of_key(key, self.n_partitions)

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        if records.key is None or not records.keys:
            self.pick_keyless_batch(records, out)
            return
        self._hashed(records.keys).take(records.key, out=out, mode="clip")
        is_keyless = records.key < 0
        if self._some_count_as_none:
            is_keyless |= out < 0
        keyless = np.flatnonzero(is_keyless)
        if keyless.size:
            rest = np.empty(len(keyless), np.int32)
            at_s = None if records.at_s is None else records.at_s[keyless]
            self.pick_keyless_batch(RecordBatch(size_bytes=records.size_bytes[keyless], at_s=at_s), rest)
            out[keyless] = rest

    def hash_key(self, key: bytes, n_partitions: int) -> int:
        """The partition of a key; the number of partitions is given, since another thread may change it meanwhile."""
        return key_partition(key, n_partitions)

    def hash_keys(self, keys: KeyTable) -> I32:
        """The partitions of many keys, as :meth:`hash_key` would pick them; -1 for a key that counts as none."""
        return keys.partitions(self.n_partitions)

    @abstractmethod
    def refresh_keyless(self, view: RoutingView) -> None:
        """Take a new view, for records without a key."""

    @abstractmethod
    def pick_keyless(self, size_bytes: int) -> int:
        """The partition of the next record without a key."""

    @abstractmethod
    def pick_keyless_batch(self, records: RecordBatch, out: I32) -> None:
        """The partitions of the next records, none of which has a key."""

    def _hashed(self, keys: KeyTable) -> I32:
        if keys is not self._table:
            self._table, self._of_row = keys, self.hash_keys(keys)
            self._some_count_as_none = bool((self._of_row < 0).any())
        return self._of_row
