"""``round-robin``: the partitions in turn, or the brokers in turn."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import I32
from kafkabal.routing.cyclic_sequences import replay
from kafkabal.routing.led_partitions import LedPartitions
from kafkabal.routing.policy_protocol import About, Context, Pick, PolicyBase, RecordBatch
from kafkabal.routing.routing_view import RoutingView


class RoundRobin(PolicyBase):
    """In turn; with ``over=brokers``, brokers take turns, and so do the partitions of each broker.

    Parameters
    ----------
    over
        ``partitions`` or ``brokers``.
    """

    about: ClassVar = About(
        name="round-robin",
        meaning="partitions in turn, or brokers in turn with over=brokers",
        source="Kafka's RoundRobinPartitioner",
    )

    def __init__(self, context: Context, *, over: str = "partitions") -> None:
        if over not in ("partitions", "brokers"):
            raise UsageError(f"round-robin: over must be partitions or brokers, not {over!r}")
        super().__init__(context)
        self._over_brokers = over == "brokers"
        self._count = context.seed

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        self._ring = view.available
        self._led = led = LedPartitions.of(view)
        self._turns: list[int] = self._ring.tolist()
        self._by_broker: list[list[int]] = [
            led.partition[led.first[broker] : led.first[broker + 1]].tolist() for broker in led.broker
        ]

    @property
    def pick(self) -> Pick:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`."""
        return self._next_of_broker if self._over_brokers else self._next

    def _next(self, key: bytes | None, size_bytes: int) -> int:
        turns, at = self._turns, self._count
        self._count = at + 1
        return turns[at % len(turns)]

    def _next_of_broker(self, key: bytes | None, size_bytes: int) -> int:
        brokers, at = self._by_broker, self._count
        self._count = at + 1
        own = brokers[at % len(brokers)]
        return own[at // len(brokers) % len(own)]

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        count, self._count = self._count, self._count + len(out)
        if not self._over_brokers:
            replay(self._ring, count, out)
            return
        led = self._led
        first, skipped = divmod(count, len(led.broker))
        rounds = np.empty((-(-(skipped + len(out)) // len(led.broker)), len(led.broker)), np.int32)
        for column, broker in enumerate(led.broker):
            own = led.partition[led.first[broker] : led.first[broker + 1]]
            rounds[:, column] = np.resize(np.roll(own, -first), len(rounds))
        out[:] = rounds.reshape(-1)[skipped : skipped + len(out)]
