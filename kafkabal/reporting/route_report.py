"""The report of ``route``: where records without keys go now, by topic, broker and partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafkabal.producer import WeighedTopic
from kafkabal.reporting.report import Column, Fact, Report, Table, ValueKind
from kafkabal.wording import first_of


def route_report(weighed: Sequence[WeighedTopic], *, published: bool) -> Report:
    """One row per topic and broker that leads some of it, one per partition, and one per topic.

    Parameters
    ----------
    published
        Whether clients follow these weights.
    """
    names = first_of([each.record.topic for each in weighed])
    return Report(
        command="route",
        headline=f"weights of {names}: {'published' if published else 'as --publish would publish them'}",
        facts=(Fact(key="is_published", value=published),),
        tables=(_brokers(weighed), _partitions(weighed), _topics(weighed)),
        notes=() if published else ("Add --publish to let Java producers with kafkabal-routing.jar follow them.",),
    )


def _brokers(weighed: Sequence[WeighedTopic]) -> Table:
    rows = []
    for each in weighed:
        record = each.record
        leader, weights = np.array(record.leaders), np.array(record.weights)
        for row in np.unique(leader[leader >= 0]).tolist():
            led = leader == row
            rows.append(
                (
                    record.topic,
                    record.brokers[row],
                    int(led.sum()),
                    int(each.view.used_bytes[row]),
                    float(weights[led].sum()),
                    float(led.sum() / (leader >= 0).sum()),
                )
            )
    topics, brokers, partitions, used, weight, even = zip(*rows, strict=True) if rows else ((),) * 6
    return Table(
        key="brokers",
        columns=(
            Column(key="topic", title="topic", values=topics, label=True),
            Column(key="broker", title="broker", values=brokers, label=True),
            Column(key="partitions", title="leads", values=partitions),
            Column(key="used_bytes", title="used", kind=ValueKind.BYTES, values=used),
            Column(key="weight", title="of the records", kind=ValueKind.PERCENT, values=weight),
            Column(
                key="even", title="if all partitions got the same", kind=ValueKind.PERCENT, values=even, dispensable=1
            ),
        ),
    )


def _partitions(weighed: Sequence[WeighedTopic]) -> Table:
    rows = [
        (each.record.topic, partition, each.record.brokers[row] if row >= 0 else None, weight)
        for each in weighed
        for partition, (row, weight) in enumerate(zip(each.record.leaders, each.record.weights, strict=True))
    ]
    topics, partitions, leaders, weights = zip(*rows, strict=True) if rows else ((),) * 4
    return Table(
        key="partitions",
        for_programs=True,
        columns=(
            Column(key="topic", title="topic", values=topics, label=True),
            Column(key="partition", title="partition", values=partitions, label=True),
            Column(key="leader", title="leader", values=leaders),
            Column(key="weight", title="of the records", kind=ValueKind.PERCENT, values=weights),
        ),
    )


def _topics(weighed: Sequence[WeighedTopic]) -> Table:
    records = [each.record for each in weighed]
    return Table(
        key="topics",
        for_programs=True,
        columns=(
            Column(key="topic", title="topic", values=[r.topic for r in records], label=True),
            Column(key="published_at", title="at", values=[r.published_at for r in records]),
            Column(key="scores", title="scores", kind=ValueKind.MAP, values=[r.scores for r in records]),
            Column(key="valid_s", title="valid", kind=ValueKind.DURATION, values=[r.valid_ms / 1000 for r in records]),
            Column(key="slot_bytes", title="slot", kind=ValueKind.BYTES, values=[r.slot_bytes for r in records]),
            Column(
                key="slot_part", title="slot over sent", kind=ValueKind.PERCENT, values=[r.slot_part for r in records]
            ),
        ),
    )
