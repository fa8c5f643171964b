"""Metrics in OpenTelemetry's published protobufs: what KIP-714 clients push, and what OTLP/HTTP posts.

A client pushes a ``MetricsData``, an exporter posts an ``ExportMetricsServiceRequest``: both consist only of ``repeated
ResourceMetrics resource_metrics = 1``, so one reader serves both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kafkabal.errors import OperationError, UsageError
from kafkabal.wording import counted_noun


class MalformedPayloadError(OperationError):
    """The payload is not a metrics message."""


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One data point of a gauge or a sum."""

    name: str
    value: float
    """NaN if the client sent no value."""
    attributes: Mapping[str, str]
    """Attributes of the data point, which override those of the resource."""
    is_delta: bool = False
    """Whether it is the increase since the last push, not a total."""


class PushReceiver(Protocol):
    """Processes what clients push; called by the threads of an intake."""

    def take(self, client: str, samples: Sequence[MetricSample]) -> None:
        """Process one push of a client."""


def require_extra() -> None:
    """Check that messages can be read, before waiting for any.

    Raises
    ------
    UsageError
        If the extra ``telemetry`` is not installed.
    """
    try:
        import google.protobuf.message  # noqa: F401
        import opentelemetry.proto.metrics.v1.metrics_pb2  # noqa: F401 - only whether it is there
    except ImportError:
        raise UsageError(
            "reading telemetry requires the package opentelemetry-proto", hint="pip install 'kafkabal[telemetry]'"
        ) from None


def read_samples(payload: bytes) -> list[MetricSample]:
    """Parse a message; histograms and summaries are skipped.

    Raises
    ------
    MalformedPayloadError
        If it is not a metrics message.
    UsageError
        If the extra ``telemetry`` is not installed.
    """
    require_extra()
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    try:
        message = MetricsData.FromString(payload)
    except DecodeError as error:
        raise MalformedPayloadError(
            f"not an OTLP metrics message: payload of {counted_noun(len(payload), 'byte')}"
        ) from error
    return list(_samples(message))


def _samples(message: Any) -> Iterator[MetricSample]:
    from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_DELTA

    for resource_metrics in message.resource_metrics:
        resource = _attributes(resource_metrics.resource.attributes)
        for scope_metrics in resource_metrics.scope_metrics:
            for metric in scope_metrics.metrics:
                kind = metric.WhichOneof("data")
                if kind in ("gauge", "sum"):
                    data = getattr(metric, kind)
                    is_delta = kind == "sum" and data.aggregation_temporality == AGGREGATION_TEMPORALITY_DELTA
                    for point in data.data_points:
                        attributes = resource | _attributes(point.attributes)
                        yield MetricSample(metric.name, _value(point), attributes, is_delta)


def _value(point: Any) -> float:
    kind = point.WhichOneof("value")
    return float(getattr(point, kind)) if kind is not None else math.nan


def _attributes(pairs: Any) -> dict[str, str]:
    return {pair.key: str(getattr(pair.value, pair.value.WhichOneof("value") or "string_value")) for pair in pairs}
