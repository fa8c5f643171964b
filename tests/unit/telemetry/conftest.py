"""Payloads as clients push them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

_PREFIX = "org.apache.kafka.producer."


@pytest.fixture
def push() -> Callable[..., bytes]:
    """Create the payload of a push."""
    return _push


def _push(
    nodes: dict[Any, float],
    *,
    overall: float | None = 1.0,
    attribute: str = "node-id",
    resource: dict[str, str] | None = None,
) -> bytes:
    """Mean latencies in milliseconds by node, and over all produce requests; with Java's names by default."""
    message = MetricsData()
    own = message.resource_metrics.add()
    for key, value in (resource or {}).items():
        own.resource.attributes.add(key=key).value.string_value = value
    metrics = own.scope_metrics.add().metrics
    for node, value in nodes.items():
        point = metrics.add(name=f"{_PREFIX}node.request.latency.avg").gauge.data_points.add(as_double=value)
        pair = point.attributes.add(key=attribute)
        if isinstance(node, int):
            pair.value.int_value = node
        else:
            pair.value.string_value = node
    if overall is not None:
        metrics.add(name=f"{_PREFIX}request.latency.avg").gauge.data_points.add(as_double=overall)
    metrics.add(name=f"{_PREFIX}connection.creation.total").sum.data_points.add(as_int=3)
    return bytes(message.SerializeToString())
