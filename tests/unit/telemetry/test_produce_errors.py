"""Failed records of producers, from the metrics that they push."""

from __future__ import annotations

import math

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, MetricsData

from kafkabal.telemetry import produce_errors
from kafkabal.telemetry.otlp_metrics import MetricSample, read_samples
from kafkabal.telemetry.produce_errors import ProduceErrors, TopicErrors
from kafkabal.telemetry.subscriptions import TOPIC_ERRORS


def failed(topic: str, records: float, *, is_delta: bool = True, name: str = TOPIC_ERRORS) -> MetricSample:
    """A push with a topic's failed records."""
    return MetricSample(name, records, {"topic": topic}, is_delta)


def test_pushes_of_all_clients_are_added_up() -> None:
    """Failures add up by topic, the most first; clients without failures and other metrics do not count."""
    errors = ProduceErrors()
    errors.take("a", [failed("images", 3), failed("labels", 0), failed("images", 9, name="other")])
    errors.take("a", [failed("images", 2)])
    errors.take("b", [failed("images", 0), failed("clicks", 7), failed("", 4), failed("labels", math.nan)])

    assert errors.by_topic() == [
        TopicErrors("clicks", 7.0, 1),
        TopicErrors("images", 5.0, 1),
        TopicErrors("labels", 0.0, 0),
    ]


@pytest.mark.parametrize("records", [1.7e308, math.inf, -math.inf])
def test_figures_that_are_no_counts_are_left_out(records: float) -> None:
    """Figures beyond 64 bits, whose sum would be infinite, do not count."""
    errors = ProduceErrors()
    for client in "abc":
        errors.take(client, [failed("images", records)])
    errors.take("d", [failed("images", 2)])

    assert errors.by_topic() == [TopicErrors("images", 2.0, 1)]


def test_totals_count_from_the_second_on() -> None:
    """Failures before the first total are not recent; a client that restarts begins at zero."""
    errors = ProduceErrors()
    for total in (100, 104, 1, 3):
        errors.take("a", [failed("images", total, is_delta=False)])

    assert errors.by_topic() == [TopicErrors("images", 6.0, 1)]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Further topics are ignored and counted; known ones still add up."""
    monkeypatch.setattr(produce_errors, "_MOST_SERIES", 1)
    errors = ProduceErrors()
    errors.take("a", [failed("images", 1), failed("labels", 1), failed("images", 1)])

    assert (errors.by_topic(), errors.ignored) == ([TopicErrors("images", 2.0, 1)], 1)


@pytest.mark.parametrize(("temporality", "is_delta"), [("DELTA", True), ("CUMULATIVE", False), ("UNSPECIFIED", False)])
def test_messages_distinguish_totals_from_increases(temporality: str, is_delta: bool) -> None:
    """A sum states whether it is a total or a delta; a gauge is never added up."""
    message = MetricsData()
    metrics = message.resource_metrics.add().scope_metrics.add().metrics
    total = metrics.add(name=TOPIC_ERRORS).sum
    total.aggregation_temporality = AggregationTemporality.Value(f"AGGREGATION_TEMPORALITY_{temporality}")
    total.data_points.add(as_int=3)
    metrics.add(name="x").gauge.data_points.add(as_double=1.5)

    assert [sample.is_delta for sample in read_samples(message.SerializeToString())] == [is_delta, False]
