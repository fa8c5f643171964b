"""How long each broker takes to answer: the smallest request that every version knows, to all of them at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka.protocol.metadata import MetadataRequest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.kafka.broker_requests import KafkaClient
from kafkabal.errors import KafkabalError


def response_times(client: KafkaClient, brokers: Collection[int], deadline_s: float) -> Mapping[int, float | None]:
    """Seconds by broker id; None where none came within the deadline.

    The first answer over a new connection is asked for twice: setting a connection up takes several round trips.
    """

    def ask(broker: int, deadline: Deadline) -> float:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False, min_version=1)
        client.call_broker(broker, request, deadline)
        begin_s = client.clock.monotonic()
        client.call_broker(broker, request, deadline)
        return client.clock.monotonic() - begin_s

    found = client.for_each(brokers, ask, deadline_s)
    return {broker: None if isinstance(answer, KafkabalError) else answer for broker, answer in found.items()}
