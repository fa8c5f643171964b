"""Renders the metrics of a report in the Prometheus text format, for node_exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.core import Metric as Family

from kafkabal.errors import UsageError
from kafkabal.printable import printable
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import Column, Metric, Report


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001
    """Every column and fact that has a metric, without unknown values.

    Raises
    ------
    UsageError
        If the report has no metrics.
    """
    families = list(_families(report))
    if not families:
        raise UsageError(f"prometheus output not supported: {report.command}", hint="use -o json")
    return text_of(families).decode()


def text_of(families: Sequence[Family]) -> bytes:
    """Families of metrics in the text format.

    Counters of the library itself would add a time of creation, which is wrong where they are created for every text.
    """
    registry = CollectorRegistry()
    registry.register(_Collected(families))
    return generate_latest(registry)


class _Collected:
    """Provides the families to a registry."""

    def __init__(self, families: Sequence[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families


def _families(report: Report) -> Iterator[Family]:
    common = report.metric_labels
    families: dict[str, GaugeMetricFamily] = {}
    for fact in report.facts:
        if fact.metric and fact.value is not None:
            family = families.setdefault(fact.metric.name, _family(fact.metric, [*common]))
            family.add_metric([*map(printable, common.values()), *fact.metric.labels.values()], float(fact.value))
    for table in report.tables:
        labels = [column for column in table.columns if column.label]
        for column in table.columns:
            if column.metric:
                keys = [*common, *(c.key for c in labels)]
                family = families.setdefault(column.metric.name, _family(column.metric, keys))
                _add(family, column, column.metric, labels, common)
    return iter(families.values())


def _family(metric: Metric, keys: list[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.help, labels=[*keys, *metric.labels])


def _add(
    family: GaugeMetricFamily, column: Column, metric: Metric, labels: list[Column], common: Mapping[str, str]
) -> None:
    same, own = [*map(printable, common.values())], list(metric.labels.values())
    for names, value in zip(zip(*(c.values for c in labels), strict=True), column.values, strict=True):
        if value is not None:
            texts = ("" if name is None else printable(str(name)) for name in names)
            family.add_metric([*same, *texts, *own], float(value))
