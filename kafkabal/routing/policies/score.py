"""``score``: to every broker what it still lacks to its fair share, by the scores of the registry."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.routing.byte_ring import ByteRing
from kafkabal.routing.fair_weights import even_weights, fair_weights
from kafkabal.routing.policy import About, Context, Input, PolicyBase
from kafkabal.routing.uniforms import Uniforms

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I32
    from kafkabal.routing.policy import RecordBatch
    from kafkabal.routing.view import RoutingView


class ScoreWeighted(PolicyBase):
    """Weights from the pressures of the view, given out in bytes.

    Parameters
    ----------
    floor
        Least weight of a partition over an even one, above 0 and at most 1: a broker that got one bad measurement is
        measured again.
    max_change
        How much a weight may grow from one view to the next, above 0; 0.5 is by half, or down by a third.
    horizon
        Part of the bytes now on the brokers that may be written until all have their fair share, above 0. The
        shorter, the fewer brokers take most of the writes meanwhile.
    batch_size
        Bytes, 1 or more, that go to one partition before the next is considered.
    """

    about: ClassVar = About(
        name="score",
        meaning="what each broker still lacks to its fair share, by the scores that are asked for",
        source="kafkabal's scoring registry",
        inputs=frozenset({Input.LOG_DIRS}),
    )

    def __init__(
        self,
        context: Context,
        *,
        floor: float = 0.1,
        max_change: float = 0.5,
        horizon: float = 0.2,
        batch_size: int = 16384,
    ) -> None:
        if not (0 < floor <= 1 and max_change > 0 and horizon > 0 and batch_size >= 1):
            raise UsageError("score: floor is above 0 and at most 1, max-change, horizon and batch-size are above 0")
        super().__init__(context)
        self._floor = floor
        self._max_change = max_change
        self._horizon = horizon
        self._ring = ByteRing(batch_size, Uniforms(context.seed).next())
        self._weights: F64 = np.empty(0)
        self._topic_bytes: float | None = None
        self._last = (0.0, np.empty(0, np.int64))

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy.Policy.refresh`."""
        seen = self._with_own_bytes(view)
        even = even_weights(view.available, view.n_partitions)
        low, high, start = self._floor * even, np.where(even > 0, 1.0, 0.0), even
        if len(self._weights) == view.n_partitions:
            start = np.where(even > 0, np.maximum(self._weights, low), 0.0)
            start /= start.sum()
            low = np.maximum(low, start / (1 + self._max_change))
            high = np.minimum(high, start * (1 + self._max_change))
        self._weights = fair_weights(seen, self._horizon_bytes(view), start, low, high)
        self._ring.set_weights(self._weights)

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy.Policy.pick`."""
        return self._ring.next(size_bytes)

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy.Policy.pick_batch`."""
        self._ring.fill(records.size_bytes, out)

    def _with_own_bytes(self, view: RoutingView) -> RoutingView:
        """The view with what this producer has sent since it was measured, which it cannot show yet."""
        now_s, sent = self.context.clock(), self._ring.sent_bytes
        before_s, before = self._last
        self._last = (now_s, sent)
        if len(before) != view.n_partitions or not before_s < now_s:
            return view
        unseen_part = min(1.0, max(0.0, (now_s - view.at_s) / (now_s - before_s)))
        unseen = (sent - before).astype(np.float64) * unseen_part
        return replace(view, pressures=tuple(p.after(unseen, view.replica_partition) for p in view.pressures))

    def _horizon_bytes(self, view: RoutingView) -> float:
        """Bytes of one copy; at least twice what came from one view to the next, so that no correction overshoots."""
        topic_bytes = float(view.partition_bytes.sum())
        grown = 0.0 if self._topic_bytes is None else topic_bytes - self._topic_bytes
        self._topic_bytes = topic_bytes
        holds = np.zeros(view.n_brokers, np.bool_)
        holds[view.replica_broker] = True
        copies = len(view.replica_broker) / view.n_partitions
        return max(self._horizon * float(view.used_bytes[holds].sum()) / copies, 2 * grown, 1.0)
