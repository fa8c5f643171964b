"""The metrics of a report in the Prometheus text format, as node_exporter's textfile collector reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

from kafkabal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric as Family

    from kafkabal.reporting.report import Column, Report, Table
    from kafkabal.reporting.surface import Surface


def render(report: Report, surface: Surface) -> str:  # noqa: ARG001
    """Every column and fact that has a metric; what is not known is left out.

    Raises
    ------
    UsageError
        If the report has no metric.
    """
    families = list(_families(report))
    if not families:
        raise UsageError(f"{report.command} has no metrics", hint="use -o json")
    registry = CollectorRegistry()
    registry.register(_Collected(families))
    return generate_latest(registry).decode()


class _Collected:
    """The families, as a registry wants them."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families


def _families(report: Report) -> Iterator[Family]:
    for fact in report.facts:
        if fact.metric and fact.value is not None:
            yield GaugeMetricFamily(fact.metric.name, fact.metric.help, value=float(fact.value))
    for table in report.tables:
        for column in table.columns:
            if column.metric:
                yield _family(table, column)


def _family(table: Table, column: Column) -> Family:
    labels = [c for c in table.columns if c.label]
    assert column.metric is not None
    family = GaugeMetricFamily(column.metric.name, column.metric.help, labels=[c.key for c in labels])
    for names, value in zip(zip(*(c.values for c in labels), strict=True), column.values, strict=True):
        if value is not None:
            family.add_metric(["" if name is None else str(name) for name in names], float(value))
    return family
