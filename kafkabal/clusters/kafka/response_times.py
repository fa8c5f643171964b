"""How long each broker takes to respond to the smallest request that every version supports, in parallel."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from statistics import fmean
from typing import Final

from kafka.protocol.metadata import MetadataRequest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.cluster_protocol import ResponseTime
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.errors import KafkabalError

# a broker that stalls for 0.3 s of every second responds to seven of ten requests as fast as ever: with one request per
# measurement it is found slow three times in a row in only 3% of cases, with the mean of ten spread over a second in
# all of 40 trials
_REQUESTS: Final = 10
_LEAST_REQUESTS: Final = 2
"""A single request may hit a garbage collection pause of a healthy broker."""
_MOST_REQUESTS_IN_ALL: Final = 100
"""Measuring many brokers must not cost more than measuring a few."""
_PAUSE_S: Final = 0.1
"""Spreads ten requests over a second, to meet a stall that occurs once per second."""
_FRACTION_FOR_ALL: Final = 0.5
"""No further request is begun after this fraction of the time: a broker that has responded must not count as one that
has not, because the pauses alone take longer than a short deadline, or because this host wakes us late."""


def response_times(
    client: KafkaClient, brokers: Collection[int], deadline_s: float
) -> Mapping[int, ResponseTime | None]:
    """Mean of a few requests by broker id; None if a response did not arrive within the deadline.

    The first response on a new connection is not counted: connecting takes several round trips.
    """
    count = max(_LEAST_REQUESTS, min(_REQUESTS, _MOST_REQUESTS_IN_ALL // max(len(brokers), 1)))

    def ask(broker: int, deadline: Deadline) -> ResponseTime:
        request = MetadataRequest(topics=[], allow_auto_topic_creation=False, min_version=1)
        client.call_broker(broker, request, deadline)
        spent_s: list[float] = []
        late_s: list[float] = []
        now = client.clock.monotonic
        while len(spent_s) < count and not (spent_s and deadline.remaining_s < (1 - _FRACTION_FOR_ALL) * deadline_s):
            paused_at_s = now()
            client.clock.sleep(_PAUSE_S)
            begin_s = now()
            client.call_broker(broker, request, deadline)
            spent_s.append(now() - begin_s)
            late_s.append(max(begin_s - paused_at_s - _PAUSE_S, 0.0))
        return ResponseTime(fmean(spent_s), fmean(late_s))

    found = client.for_each(brokers, ask, deadline_s)
    return {broker: None if isinstance(response, KafkabalError) else response for broker, response in found.items()}
