"""Weighted choices as sequences that are replayed cyclically, so that each choice costs a look-up."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32
from kafkabal.routing.policy_protocol import Context, PolicyBase, RecordBatch


class CyclicSequencePolicy(PolicyBase):
    """Walks round a ring of partitions; derive from it and supply the ring of a view."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._count = context.seed

    def set_ring(self, ring: I32) -> None:
        """Switch to this ring, at the current position."""
        self._ring = ring
        self._turns: list[int] = ring.tolist()

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`."""
        turns, at = self._turns, self._count
        self._count = at + 1
        return turns[at % len(turns)]

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        replay(self._ring, self._count, out)
        self._count += len(out)


def replay(ring: I32, start: int, out: I32) -> None:
    """Fill ``out`` with the ring from position ``start`` on, over and over."""
    at = start % len(ring)
    head = min(len(ring) - at, len(out))
    out[:head] = ring[at : at + head]
    whole = (len(out) - head) // len(ring) * len(ring)
    out[head : head + whole].reshape(-1, len(ring))[:] = ring
    out[head + whole :] = ring[: len(out) - head - whole]


def smooth_weighted(weights: F64, length: int) -> I32:
    """Smooth weighted round-robin: weights 5, 1, 1 give a a b a c a a.

    In each turn every candidate gains its weight; the one with the most, the first of equals, is picked and pays the
    sum.

    Returns
    -------
    int32, shape (length,)
        Indexes of the picked candidates.

    References
    ----------
    nginx, upstream module, "smooth weighted round-robin balancing".
    """
    total = weights.sum()
    credit = np.zeros(len(weights))
    ring = np.empty(length, np.int32)
    for turn in range(length):
        credit += weights
        ring[turn] = taken = int(credit.argmax())
        credit[taken] -= total
    return ring
