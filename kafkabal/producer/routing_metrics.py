"""Prometheus metrics of what a producer routes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kafkabal.producer.slot_router import RoutingStatus


class RoutingCollector(Collector):
    """Metrics of one producer, to be registered with ``prometheus_client``.

    Parameters
    ----------
    statuses
        :meth:`~kafkabal.producer.drop_in_producer.Producer.routing` of the producer.

    Examples
    --------
    ::

        prometheus_client.REGISTRY.register(RoutingCollector(producer.routing))
    """

    def __init__(self, statuses: Callable[[], tuple[RoutingStatus, ...]]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        """The current metrics."""
        routed = CounterMetricFamily(
            "kafkabal_producer_routed_bytes",
            "Bytes routed to a broker as the leader of their partition",
            labels=["topic", "broker"],
        )
        switches = CounterMetricFamily(
            "kafkabal_producer_switches", "How often the policy was asked for a partition", labels=["topic", "policy"]
        )
        excluded = GaugeMetricFamily(
            "kafkabal_producer_excluded_partitions", "Partitions without a live leader", labels=["topic"]
        )
        age = GaugeMetricFamily(
            "kafkabal_producer_view_age_seconds", "Age of the view that routing uses", labels=["topic"]
        )
        for status in self._statuses():
            for broker, n_bytes in status.broker_bytes.items():
                routed.add_metric([status.topic, str(broker)], n_bytes)
            switches.add_metric([status.topic, status.policy], status.switches)
            excluded.add_metric([status.topic], len(status.excluded_partitions))
            if status.view_age_s is not None:
                age.add_metric([status.topic], status.view_age_s)
        yield from (routed, switches, excluded, age)
