"""The latest values that clients push."""

from __future__ import annotations

import pytest

from kafkabal.telemetry import client_metrics
from kafkabal.telemetry.client_metrics import ClientMetrics
from kafkabal.telemetry.otlp_metrics import MetricSample


def test_the_latest_value_of_each_metric_counts() -> None:
    """A metric is identified by client, name and attributes, and a later push replaces an earlier one."""
    metrics = ClientMetrics()
    metrics.take("b", [MetricSample("x.rate", 1.0, {"node": "1"}), MetricSample("y", 5.0, {})])
    metrics.take("a", [MetricSample("x.rate", 2.0, {"node": "1"})])
    metrics.take("b", [MetricSample("x.rate", 3.0, {"node": "1"}), MetricSample("x.rate", 4.0, {"node": "2"})])

    found = [(m.client, m.name, m.value, dict(m.attributes)) for m in metrics.metrics("x.")]
    assert found == [
        ("a", "x.rate", 2.0, {"node": "1"}),
        ("b", "x.rate", 3.0, {"node": "1"}),
        ("b", "x.rate", 4.0, {"node": "2"}),
    ]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of further metrics are ignored and counted; known ones are still updated."""
    monkeypatch.setattr(client_metrics, "_MOST_METRICS", 2)
    metrics = ClientMetrics()
    metrics.take("a", [MetricSample(name, 1.0, {}) for name in "xyz"])
    metrics.take("a", [MetricSample("x", 2.0, {})])

    assert [(m.name, m.value) for m in metrics.metrics()] == [("x", 2.0), ("y", 1.0)]
    assert metrics.ignored == 1
