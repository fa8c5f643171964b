"""What a producer routes, as Prometheus metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from kafkabal.producer.routing_metrics import RoutingCollector
from kafkabal.producer.slot_router import RoutingStatus


def test_every_figure_is_a_metric() -> None:
    """Every figure is a metric labelled with its topic; a topic that is not routed yet has no age."""
    routed = RoutingStatus("images", "score", 2.5, 7, {1: 100, 2: 90}, (3, 4))
    waiting = RoutingStatus("texts", "score", None, 1, {}, ())
    registry = CollectorRegistry()
    registry.register(RoutingCollector(lambda: (routed, waiting)))
    lines = {line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")}
    assert lines == {
        'kafkabal_producer_routed_bytes_total{broker="1",topic="images"} 100.0',
        'kafkabal_producer_routed_bytes_total{broker="2",topic="images"} 90.0',
        'kafkabal_producer_switches_total{policy="score",topic="images"} 7.0',
        'kafkabal_producer_switches_total{policy="score",topic="texts"} 1.0',
        'kafkabal_producer_excluded_partitions{topic="images"} 2.0',
        'kafkabal_producer_excluded_partitions{topic="texts"} 0.0',
        'kafkabal_producer_view_age_seconds{topic="images"} 2.5',
    }
