"""Policies that pick record by record: a kernel over their state, called per record or compiled over a batch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.routing.compiled_kernels import as_arrays, compiled, kernel, write_back
from kafkabal.routing.key_hashes import KAFKA_SEED, REMEMBERED_KEYS, murmur2
from kafkabal.routing.policy_protocol import Context, Feedback, PolicyBase, RecordBatch
from kafkabal.routing.random_stream import RandomStream

_SLICE = 65536
"""Arrays of a slice fit into the processor's cache; at this length the cost of one call per slice is negligible."""
NO_KEY = -1


class PerRecordPolicy(PolicyBase):
    """A policy whose pick is a kernel over columns; derive from it and supply the class attributes and the state.

    The state is a named tuple of non-empty lists, each all int or all float; ``refresh`` creates or renews it.
    """

    pick_kernel: ClassVar[Any]
    """Kernel ``pick_kernel(state, size_bytes, hashes, uniforms, now_s) -> partition``; counts the record as sent."""
    learn: ClassVar[Any] = None
    """Kernel ``learn(state, partition, size_bytes, latency_s, now_s)`` called with each acknowledgement; None if
    unused."""
    hash_seeds: ClassVar[tuple[int, ...]] = (KAFKA_SEED,)
    """Seeds of the key hashes that a pick takes; a hash is from 0 to 2^31 - 1, or :data:`NO_KEY`."""
    draws: int = 1
    """Random numbers per pick."""

    state: Any

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._uniforms = RandomStream(context.seed)
        self._hashes_of_key = lru_cache(REMEMBERED_KEYS)(self._hash)
        # without feedback, time does not matter: float() is 0
        self._now_s = context.clock if self.about.feedback is Feedback.ACKS else float

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`."""
        hashes, uniforms = self._hashes_of_key(key), self._uniforms.row(self.draws)
        partition: int = self.pick_kernel(self.state, size_bytes, hashes, uniforms, self._now_s())
        return partition

    def acked(self, partition: int, size_bytes: int, latency_s: float) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.acked`."""
        if self.learn is not None:
            self.learn(self.state, partition, size_bytes, latency_s, self._now_s())

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        for start in range(0, len(records), _SLICE):
            rows = slice(start, start + _SLICE)
            self._pick_slice(records[rows], out[rows])

    def _pick_slice(self, records: RecordBatch, out: I32) -> None:
        columns = (records.size_bytes, *self.columns(records))
        if self.context.compiled:
            lists = self.state
            state = as_arrays(lists)
            compiled(pick_each)(compiled(type(self).pick_kernel), state, *columns, out)
            write_back(state, lists)
            return
        size_bytes, hashes, uniforms, at_s = (column.tolist() for column in columns)
        picks = [0] * len(records)
        pick_each(type(self).pick_kernel, self.state, size_bytes, hashes, uniforms, at_s, picks)
        out[:] = picks

    def columns(self, records: RecordBatch) -> tuple[I64, F64, F64]:
        """What the kernel gets for each record: hashes (n, seeds), uniforms (n, draws) and times (n,)."""
        n = len(records)
        hashes = np.full((n, len(self.hash_seeds)), NO_KEY, np.int64)
        if records.key is not None and records.keys is not None:
            keyed = records.key >= 0
            for column, seed in enumerate(self.hash_seeds):
                of_key = records.keys.murmur2(seed) & np.uint32(0x7FFFFFFF)
                hashes[keyed, column] = of_key[records.key[keyed]]
        uniforms = self._uniforms.take(n * self.draws).reshape(n, self.draws)
        return hashes, uniforms, np.zeros(n) if records.at_s is None else records.at_s

    def _hash(self, key: bytes | None) -> list[int]:
        return [NO_KEY if key is None else murmur2(key, seed) & 0x7FFFFFFF for seed in self.hash_seeds]


@kernel
def learn_nothing(state: Any, partition: int, size_bytes: int, latency_s: float, now_s: float) -> None:
    """``learn`` of a policy that takes no feedback."""


@kernel
def pick_each(pick_kernel: Any, state: Any, size_bytes: Any, hashes: Any, uniforms: Any, now_s: Any, out: Any) -> None:
    """Pick for each record in order."""
    for i in range(len(size_bytes)):
        out[i] = pick_kernel(state, size_bytes[i], hashes[i], uniforms[i], now_s[i])
