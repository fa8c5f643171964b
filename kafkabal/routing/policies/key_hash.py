"""``key-hash``: the murmur2 hash of the key, bit-equal to the Java client."""

from __future__ import annotations

from typing import ClassVar

from kafkabal.model import I32
from kafkabal.routing.keyless_policy import KeylessPolicy
from kafkabal.routing.policies.random import Random
from kafkabal.routing.policy_protocol import About, Context, Input, RecordBatch
from kafkabal.routing.routing_view import RoutingView


class KeyHash(KeylessPolicy):
    """``toPositive(murmur2(key)) % partitions``; a record without a key goes to a random partition."""

    about: ClassVar = About(
        name="key-hash",
        meaning="the partition by murmur2 of the key; without a key, a random one",
        source="Kafka's Java client; librdkafka 'murmur2_random'",
        inputs=frozenset({Input.KEYS}),
        keeps_key_order=True,
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._keyless = Random(context)

    def refresh_keyless(self, view: RoutingView) -> None:
        """See :meth:`KeylessPolicy.refresh_keyless`."""
        self._keyless.refresh(view)

    def pick_keyless(self, size_bytes: int) -> int:
        """See :meth:`KeylessPolicy.pick_keyless`."""
        return self._keyless.pick(None, size_bytes)

    def pick_keyless_batch(self, records: RecordBatch, out: I32) -> None:
        """See :meth:`KeylessPolicy.pick_keyless_batch`."""
        self._keyless.pick_batch(records, out)
