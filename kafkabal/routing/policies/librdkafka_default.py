"""``default``: what a librdkafka producer does without configuration."""

from __future__ import annotations

import zlib
from typing import ClassVar

import numpy as np

from kafkabal.config import LINGER_MS
from kafkabal.model import F64, I32
from kafkabal.routing.batch_cuts import cuts_by_time, fill_batches
from kafkabal.routing.key_hashes import KeyTable
from kafkabal.routing.keyless_policy import KeylessPolicy
from kafkabal.routing.policy_protocol import About, Context, Input, RecordBatch
from kafkabal.routing.random_stream import RandomStream
from kafkabal.routing.routing_view import RoutingView

# records picked in one go, so that their columns stay in the processor's cache
_AT_ONCE = 16384


class Default(KeylessPolicy):
    """``consistent_random``: CRC-32 of the key; without a key, a random partition per linger interval.

    An empty key counts as no key, as in librdkafka.

    Parameters
    ----------
    sticky_linger_ms
        ``sticky.partitioning.linger.ms``, 0 to 900,000: by default twice the linger time; 0 draws for every record.
    """

    about: ClassVar = About(
        name="default",
        meaning="the partition by CRC-32 of the key; without a key, a random one for 10 ms at a time",
        source="librdkafka 'consistent_random' with sticky.partitioning.linger.ms",
        inputs=frozenset({Input.KEYS}),
        keeps_key_order=True,
        ranges={"sticky-linger-ms": LINGER_MS},
    )

    def __init__(self, context: Context, *, sticky_linger_ms: float = 10.0) -> None:
        self.about.expect(sticky_linger_ms=sticky_linger_ms)
        super().__init__(context)
        self._linger_s = sticky_linger_ms / 1000
        self._opened_s = -np.inf
        self._uniforms = RandomStream(context.seed)
        self._current = -1

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`; an empty key counts as no key."""
        return super().pick(key or None, size_bytes)

    def hash_key(self, key: bytes, n_partitions: int) -> int:
        """See :meth:`KeylessPolicy.hash_key`."""
        return zlib.crc32(key) % n_partitions

    def hash_keys(self, keys: KeyTable) -> I32:
        """The partitions of many keys; an empty key counts as no key."""
        hashed = (keys.crc32() % np.uint32(self.n_partitions)).astype(np.int32)
        return np.where(keys.length > 0, hashed, np.int32(-1))

    def refresh_keyless(self, view: RoutingView) -> None:
        """See :meth:`KeylessPolicy.refresh_keyless`."""
        self._available = view.available
        if self._current not in self._available:
            self._opened_s = -np.inf

    def pick_keyless(self, size_bytes: int) -> int:
        """See :meth:`KeylessPolicy.pick_keyless`."""
        now_s = self.context.clock()
        if self._linger_s == 0 or now_s > self._opened_s + self._linger_s:
            self._opened_s = now_s
            available = self._available
            self._current = int(available[int(self._uniforms.next() * len(available))])
        return self._current

    def pick_keyless_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`KeylessPolicy.pick_keyless_batch`."""
        for start in range(0, len(out), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            self._fill(None if records.at_s is None else records.at_s[rows], out[rows])

    def _fill(self, at_s: F64 | None, out: I32) -> None:
        if self._linger_s == 0 or at_s is None:
            cuts = np.arange(len(out))
        else:
            cuts, self._opened_s = cuts_by_time(at_s, self._opened_s, self._linger_s)
        available = self._available
        drawn = available[(self._uniforms.take(len(cuts)) * len(available)).astype(np.int32)]
        self._current = fill_batches(self._current, drawn, cuts, out)
