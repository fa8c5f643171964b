"""Produce latency from what clients push (KIP-714)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from kafkabal.telemetry.otlp_metrics import MetricSample
from kafkabal.telemetry.subscriptions import NODE_LATENCY, REQUEST_LATENCY

_NODE_ATTRIBUTES: Final = ("node.id", "node_id", "node-id")
_NODE_PREFIX: Final = "node-"
_MILLISECONDS: Final = 1e-3
_ID_DIGITS: Final = 10


def produce_latencies_s(samples: Iterable[MetricSample]) -> Mapping[int, float]:
    """Mean seconds of a request by broker id, from one push of one producer.

    A client that made no request to a broker since the last push says 0 or NaN: then nothing is known of the broker.
    A client that produced nothing at all, such as an admin client, has latencies of other requests, which say
    nothing of producing.
    """
    listed = list(samples)
    overall = [sample.value for sample in listed if sample.name == REQUEST_LATENCY]
    if overall and not any(_is_measured(value) for value in overall):
        return {}
    return {
        broker: sample.value * _MILLISECONDS
        for sample in listed
        if sample.name == NODE_LATENCY and _is_measured(sample.value) and (broker := _broker(sample)) >= 0
    }


def _is_measured(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _broker(sample: MetricSample) -> int:
    """Id of the broker, -1 for what is none, such as a bootstrap address."""
    for name in _NODE_ATTRIBUTES:
        if name in sample.attributes:
            text = sample.attributes[name].removeprefix(_NODE_PREFIX)
            return int(text) if text.isdecimal() and len(text) <= _ID_DIGITS else -1
    return -1
