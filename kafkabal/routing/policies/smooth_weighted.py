"""``smooth-weighted``: smooth weighted round-robin by the brokers' disk space."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.config import Range
from kafkabal.errors import UsageError
from kafkabal.model import F64, I64
from kafkabal.routing.cyclic_sequences import CyclicSequencePolicy, smooth_weighted
from kafkabal.routing.policy_protocol import About, Context, Input
from kafkabal.routing.routing_view import RoutingView


class SmoothWeighted(CyclicSequencePolicy):
    """The partitions that a broker leads share its weight; weights are rounded to parts of the ring.

    Parameters
    ----------
    weight
        ``capacity``: the broker's disk capacity in bytes; ``free``: its free bytes.
    ring
        Turns until the sequence repeats, 1 to 10,000; at least one per partition is used.
    """

    about: ClassVar = About(
        name="smooth-weighted",
        meaning="brokers in turn, weighted by capacity or free space, spread evenly over time",
        source="nginx, smooth weighted round-robin",
        inputs=frozenset({Input.LOG_DIRS}),
        ranges={"ring": Range(1, 10_000)},
    )

    def __init__(self, context: Context, *, weight: str = "capacity", ring: int = 400) -> None:
        if weight not in ("capacity", "free"):
            raise UsageError(f"smooth-weighted: weight must be capacity or free, not {weight!r}")
        self.about.expect(ring=ring)
        super().__init__(context)
        self._by_free = weight == "free"
        self._length = ring

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        available = view.available
        leader = view.leader[available]
        weights = (self._broker_weights(view) / np.bincount(leader, minlength=view.n_brokers).clip(1))[leader]
        turns = apportion(weights, max(self._length, len(available))).clip(1)
        self.set_ring(available[smooth_weighted(turns.astype(np.float64), int(turns.sum()))])

    def _broker_weights(self, view: RoutingView) -> F64:
        """Above 0 for every broker, so that a full one still gets a record now and then."""
        if not self._by_free:
            return view.capacity_bytes
        free = view.capacity_bytes - view.used_bytes
        return np.maximum(free, 0.01 * view.capacity_bytes)


def apportion(weights: F64, total: int) -> I64:
    """Integers that add up to ``total``, proportional to weights >= 0, by largest remainder."""
    exact = weights * (total / weights.sum())
    counts: I64 = np.floor(exact).astype(np.int64)
    short = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:short]] += 1
    return counts
