"""How long each broker takes to respond to the smallest request that every version supports, in parallel."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from kafka.protocol.metadata import MetadataRequest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.errors import KafkabalError

# a broker that stalls for 0.3 s of every second responds to seven of ten requests as fast as ever: with one request per
# measurement it is found slow three times in a row in only 3 % of cases, with the mean of ten spread over a second in
# all of 40 trials
_REQUESTS: Final = 10
_LEAST_REQUESTS: Final = 2
"""A single request may hit a garbage collection pause of a healthy broker."""
_MOST_REQUESTS_IN_ALL: Final = 100
"""Measuring many brokers must not cost more than measuring a few."""
_PAUSE_S: Final = 0.1
"""Spreads ten requests over a second, to meet a stall that occurs once per second."""


def response_times(client: KafkaClient, brokers: Collection[int], deadline_s: float) -> Mapping[int, float | None]:
    """Mean seconds of a few requests by broker id; None if a response did not arrive within the deadline.

    The first response on a new connection is not counted: connecting takes several round trips.
    """
    count = max(_LEAST_REQUESTS, min(_REQUESTS, _MOST_REQUESTS_IN_ALL // max(len(brokers), 1)))

    def ask(broker: int, deadline: Deadline) -> float:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False, min_version=1)
        client.call_broker(broker, request, deadline)
        spent_s = 0.0
        for _ in range(count):
            client.clock.sleep(_PAUSE_S)
            begin_s = client.clock.monotonic()
            client.call_broker(broker, request, deadline)
            spent_s += client.clock.monotonic() - begin_s
        return spent_s / count

    found = client.for_each(brokers, ask, deadline_s)
    return {broker: None if isinstance(response, KafkabalError) else response for broker, response in found.items()}
