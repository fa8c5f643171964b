"""The reports of ``telemetry``: subscriptions, and latencies of brokers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kafkabal.reporting.report import Column, Fact, Metric, Report, Table, Tone, ValueKind
from kafkabal.telemetry import ClientMetric, Subscription, TopicErrors
from kafkabal.wording import counted_noun

_SHOWN_METRICS = 50
"""A client pushes dozens of metrics; the others are only counted."""
_LONGEST_NAME = 40
"""Ids with a UUID fit; Kafka allows 249 characters and more, which would hide every other column."""


def subscriptions_report(subscriptions: Sequence[Subscription]) -> Report:
    """One row per subscription."""
    count = len(subscriptions)
    matches = [[f"{key}={pattern}" for key, pattern in s.match.items()] for s in subscriptions]
    return Report(
        command="telemetry list",
        headline=counted_noun(count, "subscription") if count else "no telemetry subscriptions",
        tables=(
            Table(
                key="subscriptions",
                columns=(
                    Column(key="name", title="name", values=[s.name for s in subscriptions], label=True),
                    Column(key="metrics", title="metrics", values=[list(s.metrics) for s in subscriptions], wraps=True),
                    Column(
                        key="interval_s",
                        title="every",
                        kind=ValueKind.DURATION,
                        values=[s.interval_s for s in subscriptions],
                    ),
                    Column(key="match", title="", values=matches),
                    Column(key="clients", title="clients", for_people=True, values=[each or "all" for each in matches]),
                ),
            ),
        ),
    )


def latency_report(latencies_s: Mapping[int, float], brokers: Sequence[int], payloads: int, cluster: str) -> Report:
    """One row per broker, slowest first, unmeasured ones last."""
    ordered = sorted(brokers, key=lambda broker: -latencies_s.get(broker, -1.0))
    known = [broker for broker in ordered if broker in latencies_s]
    headline = f"{len(known)} of {counted_noun(len(ordered), 'broker')} measured, from {_pushes(payloads)}"
    return Report(
        command="telemetry latency",
        headline=headline if known else f"no broker measured ({_pushes(payloads)})",
        tone=Tone.PLAIN if known else Tone.WARNING,
        facts=(Fact(key="pushes", value=payloads),),
        metric_labels={"cluster": cluster},
        tables=(
            Table(
                key="brokers",
                columns=(
                    Column(key="broker", title="broker", values=ordered, label=True),
                    Column(
                        key="latency_s",
                        title="produce latency",
                        kind=ValueKind.DURATION,
                        values=[latencies_s.get(broker) for broker in ordered],
                        metric=Metric(
                            "kafkabal_broker_produce_latency_seconds", "Produce latency, as measured by clients."
                        ),
                    ),
                ),
            ),
        ),
    )


def errors_report(errors: Sequence[TopicErrors], payloads: int, cluster: str) -> Report:
    """One row per topic that a producer named, most failed records first."""
    failed = sum(topic.failed_records for topic in errors)
    headline = f"{counted_noun(round(failed), 'record')} not written, from {_pushes(payloads)}"
    return Report(
        command="telemetry errors",
        headline=headline if errors else f"no producer reported on a topic ({_pushes(payloads)})",
        tone=Tone.WARNING if failed or not errors else Tone.PLAIN,
        facts=(Fact(key="pushes", value=payloads),),
        metric_labels={"cluster": cluster},
        tables=(
            Table(
                key="topics",
                columns=(
                    Column(key="topic", title="topic", values=[each.topic for each in errors], label=True),
                    Column(
                        key="failed_records",
                        title="records not written",
                        kind=ValueKind.NUMBER,
                        values=[round(each.failed_records) for each in errors],
                        metric=Metric(
                            "kafkabal_produce_failed_records",
                            "Records that producers recently failed to write, by topic.",
                        ),
                    ),
                    Column(
                        key="clients",
                        title="producers",
                        kind=ValueKind.NUMBER,
                        values=[each.clients for each in errors],
                        metric=Metric(
                            "kafkabal_produce_failing_clients", "Producers that recently failed to write records."
                        ),
                    ),
                ),
            ),
        ),
    )


def metrics_report(metrics: Sequence[ClientMetric], payloads: int, shown_rows: int | None = None) -> Report:
    """One row per metric of a client; people see the first 50 by default."""
    clients = len({metric.client for metric in metrics})
    pushes = _pushes(payloads)
    found = f"{counted_noun(len(metrics), 'metric')} of {counted_noun(clients, 'client')}, from {pushes}"
    from kafkabal.reporting.fit_columns import elide  # imports rich, which no request to a broker has to wait for

    return Report(
        command="telemetry show",
        headline=found if metrics else f"no metrics ({pushes})",
        tone=Tone.PLAIN if metrics else Tone.WARNING,
        facts=(Fact(key="pushes", value=payloads),),
        tables=(
            Table(
                key="metrics",
                shown_rows=_SHOWN_METRICS if shown_rows is None else shown_rows or None,
                columns=(
                    Column(key="client", title="", values=[m.client for m in metrics], label=True),
                    Column(
                        key="short_client",
                        title="client",
                        values=elide([m.client for m in metrics], _LONGEST_NAME),
                        for_people=True,
                    ),
                    Column(key="metric", title="metric", values=[m.name for m in metrics], label=True),
                    Column(
                        key="attributes", title="", kind=ValueKind.MAP, values=[dict(m.attributes) for m in metrics]
                    ),
                    Column(
                        key="short_attributes",
                        title="attributes",
                        kind=ValueKind.MAP,
                        values=_with_short_values([m.attributes for m in metrics]),
                        for_people=True,
                        dispensable=1,
                    ),
                    Column(
                        key="value",
                        title="value",
                        kind=ValueKind.NUMBER,
                        values=[m.value if math.isfinite(m.value) else None for m in metrics],
                    ),
                ),
            ),
        ),
    )


def _with_short_values(attributes: Sequence[Sequence[tuple[str, str]]]) -> list[dict[str, str]]:
    """Attributes of each metric with long values shortened: a client's id is often one of them."""
    from kafkabal.reporting.fit_columns import elide

    values = sorted({value for each in attributes for _, value in each})
    short = dict(zip(values, elide(values, _LONGEST_NAME), strict=True))
    return [{key: short[value] for key, value in each} for each in attributes]


def _pushes(count: int) -> str:
    return f"{count:,} client {'push' if count == 1 else 'pushes'}"
