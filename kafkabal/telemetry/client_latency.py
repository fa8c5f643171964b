"""Produce latency from what clients push (KIP-714)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafkabal.telemetry.otlp_metrics import MetricSample
from kafkabal.telemetry.subscriptions import NODE_LATENCY, REQUEST_LATENCY

_LIBRDKAFKA_ATTRIBUTE: Final = "node.id"
_NODE_ATTRIBUTES: Final = (_LIBRDKAFKA_ATTRIBUTE, "node_id", "node-id")
_NODE_PREFIX: Final = "node-"
_MILLISECONDS: Final = 1e-3
_LONGEST_MS: Final = 2.0**31
"""The longest request timeout that a client can have."""
_ID_DIGITS: Final = 10
"""Digits of the largest 32-bit number: a longer attribute is not a broker id."""
_LEAST_SHARE: Final = 0.05
"""A broker with a smaller share of a client's produce requests counts as having got none: means are rounded, and
include other requests."""


def produce_latencies_s(samples: Iterable[MetricSample], *, is_first: bool = False) -> Mapping[int, float]:
    """Mean seconds of a produce request by broker id, from one push of one producer.

    Parameters
    ----------
    is_first
        Whether this is the client's first push: it has just connected, which takes requests of other kinds.

    Notes
    -----
    A client that made no request to a broker since the last push reports 0 or NaN; the broker's latency is then
    unknown. A client that produced nothing, such as an admin client, has only latencies of other requests, which say
    nothing about producing.

    Java clients report produce requests per broker. librdkafka counts all requests to a broker, including those for
    connecting and the pushes themselves, so the broker it pushes to has a latency even if nothing was produced to it.
    Its mean over all produce requests reveals what fraction of them a broker got.
    """
    listed = list(samples)
    by_broker = {
        broker: sample.value * _MILLISECONDS
        for sample in listed
        if sample.name == NODE_LATENCY and _is_measured(sample.value) and (broker := _broker(sample)) >= 0
    }
    overall = [sample.value for sample in listed if sample.name == REQUEST_LATENCY]
    if not overall:
        return by_broker
    if not any(map(_is_measured, overall)):
        return {}
    if len(overall) > 1 or not any(_LIBRDKAFKA_ATTRIBUTE in sample.attributes for sample in listed):
        return by_broker
    return {} if is_first else _of_produce_requests(by_broker, overall[0] * _MILLISECONDS)


def _of_produce_requests(by_broker: Mapping[int, float], overall_s: float) -> Mapping[int, float]:
    """Latencies without a broker that got only other requests; with three brokers, one overall mean cannot tell."""
    if len(by_broker) == 1:
        return dict.fromkeys(by_broker, overall_s)
    if len(by_broker) != 2:
        return by_broker
    (one, one_s), (other, other_s) = by_broker.items()
    if one_s == other_s:
        return by_broker
    share = (overall_s - one_s) / (other_s - one_s)
    if not -_LEAST_SHARE < share < 1 + _LEAST_SHARE:
        return {}
    if share < _LEAST_SHARE:
        return {one: overall_s}
    if share > 1 - _LEAST_SHARE:
        return {other: overall_s}
    return by_broker


def _is_measured(value: float) -> bool:
    return 0 < value <= _LONGEST_MS


def _broker(sample: MetricSample) -> int:
    """Id of the broker; -1 for anything else, such as a bootstrap address."""
    for name in _NODE_ATTRIBUTES:
        if name in sample.attributes:
            text = sample.attributes[name].removeprefix(_NODE_PREFIX)
            return int(text) if text.isdecimal() and len(text) <= _ID_DIGITS else -1
    return -1
