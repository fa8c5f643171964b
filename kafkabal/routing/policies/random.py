"""``random``: a uniformly random partition for every record."""

from __future__ import annotations

from typing import ClassVar

from kafkabal.model import I32
from kafkabal.routing.policy_protocol import About, Context, PolicyBase, RecordBatch
from kafkabal.routing.random_stream import RandomStream
from kafkabal.routing.routing_view import RoutingView


class Random(PolicyBase):
    """Uniform over the partitions that have a leader."""

    about: ClassVar = About(
        name="random",
        meaning="a random partition for every record",
        source="librdkafka 'random'",
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._uniforms = RandomStream(context.seed)

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        self._available = view.available
        self._list: list[int] = self._available.tolist()

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick`."""
        available = self._list
        return available[int(self._uniforms.next() * len(available))]

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.pick_batch`."""
        drawn = self._uniforms.take(len(records)) * len(self._list)
        self._available.take(drawn.astype("int32"), out=out, mode="clip")
