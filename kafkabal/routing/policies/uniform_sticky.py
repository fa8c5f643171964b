"""``uniform-sticky``: a random partition for each full batch (KIP-794 without adaptive partitioning)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.config import BATCH_BYTES
from kafkabal.model import I32, I64
from kafkabal.routing.batch_cuts import cuts_by_bytes, fill_batches
from kafkabal.routing.keyless_policy import KeylessPolicy
from kafkabal.routing.policy_protocol import About, Context, Input, RecordBatch
from kafkabal.routing.random_stream import RandomStream
from kafkabal.routing.routing_view import RoutingView

# records picked in one go, so that their columns stay in the processor's cache
_AT_ONCE = 16384


class UniformSticky(KeylessPolicy):
    """Stays until ``batch_size`` bytes went to a partition, however long that takes; then draws the next.

    Parameters
    ----------
    batch_size
        Bytes, 1 to 2^31 - 1; ``batch.size`` of the Java client.
    """

    about: ClassVar = About(
        name="uniform-sticky",
        meaning="a random partition for one full batch; records with a key by hash",
        source="KIP-794, partitioner.adaptive.partitioning.enable=false",
        inputs=frozenset({Input.KEYS}),
        keeps_key_order=True,
        ranges={"batch-size": BATCH_BYTES},
    )

    def __init__(self, context: Context, *, batch_size: int = 16384) -> None:
        self.about.expect(batch_size=batch_size)
        super().__init__(context)
        self._batch_bytes = batch_size
        self._room_bytes = 0
        self._uniforms = RandomStream(context.seed)
        self._current = -1

    def refresh_keyless(self, view: RoutingView) -> None:
        """See :meth:`KeylessPolicy.refresh_keyless`."""
        self._available = view.available
        if self._current not in self._available:
            self._room_bytes = 0

    def pick_keyless(self, size_bytes: int) -> int:
        """See :meth:`KeylessPolicy.pick_keyless`."""
        if self._room_bytes <= 0:
            available = self._available
            self._current = int(available[int(self._uniforms.next() * len(available))])
            self._room_bytes = self._batch_bytes
        self._room_bytes -= size_bytes
        return self._current

    def pick_keyless_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`KeylessPolicy.pick_keyless_batch`."""
        for start in range(0, len(out), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            self._fill(records.size_bytes[rows], out[rows])

    def _fill(self, size_bytes: I64, out: I32) -> None:
        cuts, self._room_bytes = cuts_by_bytes(size_bytes, self._room_bytes, self._batch_bytes)
        available = self._available
        drawn = available[(self._uniforms.take(len(cuts)) * len(available)).astype(np.int32)]
        self._current = fill_batches(self._current, drawn, cuts, out)
