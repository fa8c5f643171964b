"""The report of ``inspect --growth``: bytes per day, an interval, and when disks are full or usage is steady."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import numpy as np

from kafkabal.history import (
    FARTHEST_FULL_S,
    HolderGrowth,
    MeasuredGrowth,
    TopicGrowth,
    broker_growth,
    dir_growth,
    topic_growth,
)
from kafkabal.inspection import broker_figures, dir_figures, partition_figures, sum_by
from kafkabal.model import (
    F64,
    I64,
    ClusterState,
    broker_capacity_bytes,
    foreign_of_brokers,
)
from kafkabal.reporting.inspection import shared_columns
from kafkabal.reporting.inspection.disk_charts import growth_charts
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.reporting.report import FIRST_ROWS, Column, Fact, Metric, Report, Table, Tone, ValueKind, known
from kafkabal.units import DAY_S, format_bytes, format_duration
from kafkabal.wording import counted_noun, first_brokers, first_of


def growth_report(
    growth: MeasuredGrowth,
    by: Grouping,
    *,
    shown_rows: int | None = None,
    full_within_s: float | None = None,
    cluster_label: str = "",
) -> Report:
    """The growth of a cluster.

    Parameters
    ----------
    by
        One of :data:`~kafkabal.reporting.inspection.grouping.GROWTH_GROUPINGS`.
    full_within_s
        A disk that is full sooner is highlighted.
    """
    dirs = _dirs(growth)
    brokers = broker_growth(growth.state, dirs, growth.partitions)
    if by is Grouping.TOPIC:
        table = _topic_table(growth, topic_growth(growth.state, growth.partitions, growth.retention), shown_rows)
    else:
        table = _holder_table(growth, by, brokers if by is Grouping.BROKER else dirs, shown_rows, full_within_s)
    soonest = brokers.full_s[~np.isnan(brokers.full_s)]
    is_near = full_within_s is not None and bool((soonest < full_within_s).any())
    return Report(
        command="inspect --growth",
        headline=_headline(growth, brokers),
        tone=Tone.BAD if is_near else Tone.PLAIN if full_within_s is None else Tone.GOOD,
        facts=(
            Fact(key="cluster_id", value=growth.state.cluster_id),
            Fact(key="over_s", value=growth.partitions.over_s),
            Fact(key="points", value=len(growth.past)),
            Fact(key="written_bytes_per_day", value=float(np.nansum(brokers.written)) * DAY_S),
            Fact(key="first_full_s", value=_finite(float(soonest.min())) if soonest.size else None),
        ),
        tables=(table,),
        notes=tuple(_notes(growth)),
        charts=partial(growth_charts, growth),
        metric_labels={"cluster": cluster_label or growth.state.cluster_id},
    )


def _dirs(growth: MeasuredGrowth) -> HolderGrowth:
    return dir_growth(growth.state, growth.partitions, growth.retention, growth.past[0], growth.now_s)


def _holder_table(
    growth: MeasuredGrowth, by: Grouping, found: HolderGrowth, shown_rows: int | None, full_within_s: float | None
) -> Table:
    state = growth.state
    figures = broker_figures(state) if by is Grouping.BROKER else dir_figures(state)
    used = figures.bytes
    order = np.lexsort((np.arange(len(used)), -found.written, np.where(np.isnan(found.full_s), np.inf, found.full_s)))
    prefix = "broker" if by is Grouping.BROKER else "log_dir"
    return Table(
        key="brokers" if by is Grouping.BROKER else "log_dirs",
        shown_rows=shown_rows or None,
        columns=(
            *_names(state, by, order),
            Column(
                key="used_bytes",
                title="used",
                kind=ValueKind.BYTES,
                values=used[order].tolist(),
                estimated=figures.estimated[order].tolist(),
            ),
            shared_columns.fullness(
                figures.occupied_bytes, foreign_of_brokers(state), broker_capacity_bytes(state), order
            )
            if by is Grouping.BROKER
            else shared_columns.fullness_of_log_dirs(state, used, order),
            *_written(prefix, found.written, found.low, found.high, order),
            Column(key="net_bytes_per_day", title="", values=known(_finite_or_nan(found.net * DAY_S)[order])),
            Column(
                key="steady_bytes",
                title="steady at",
                kind=ValueKind.BYTES,
                values=known(_finite_or_nan(found.steady_bytes)[order]),
                dispensable=3,
            ),
            *_full(prefix, found, order, growth.now_s, full_within_s),
        ),
    )


def _names(state: ClusterState, by: Grouping, order: I64) -> Iterator[Column]:
    broker = np.arange(len(state.brokers)) if by is Grouping.BROKER else state.log_dirs.broker
    yield Column(key="broker", title="broker", values=state.brokers.id[broker][order].tolist(), label=True)
    if by is Grouping.LOG_DIR:
        paths = [state.log_dirs.path[row] for row in order.tolist()]
        yield Column(key="log_dir", title="log dir", values=paths, label=True)


def _written(prefix: str, written: F64, low: F64, high: F64, order: I64) -> Iterator[Column]:
    per_day, least, most = (known((values * DAY_S)[order]) for values in (written, low, high))
    metric = Metric(f"kafkabal_{prefix}_written_bytes_per_second", "Bytes per second written to the replicas.")
    yield Column(key="written_bytes_per_s", title="", values=known(written[order]), metric=metric)
    yield Column(key="written_bytes_per_day", title="written a day", kind=ValueKind.BYTES, values=per_day)
    yield Column(key="written_low_bytes_per_day", title="", values=least)
    yield Column(key="written_high_bytes_per_day", title="", values=most)
    spans = [
        None if a is None or b is None else f"{format_bytes(a)} to {format_bytes(b)}"
        for a, b in zip(least, most, strict=True)
    ]
    yield Column(key="interval", title="90% between", for_people=True, values=spans, quiet=True, dispensable=4)


def _full(prefix: str, found: HolderGrowth, order: I64, now_s: float, within_s: float | None) -> Iterator[Column]:
    seconds = found.full_s[order].tolist()
    soon = [within_s is not None and s < within_s for s in seconds]
    yield Column(key="outlook", title="", values=["unknown" if math.isnan(s) else _outlook(s) for s in seconds])
    yield Column(key="full_s", title="", values=[_finite(s) for s in seconds])
    for key, values in (("full_low_s", found.full_low_s), ("full_high_s", found.full_high_s)):
        yield Column(key=key, title="", values=[_finite(s) for s in values[order].tolist()])
    yield Column(
        key="straight_line_full_s", title="", values=[_finite(s) for s in found.straight_full_s[order].tolist()]
    )
    yield Column(
        key="seconds_to_full",
        title="",
        for_people=True,
        values=known(np.array(seconds)),
        metric=Metric(f"kafkabal_{prefix}_full_seconds", "Seconds until the volume is full; +Inf for never."),
    )
    yield Column(
        key="time_to_full",
        title="full in",
        for_people=True,
        values=[_duration(s) for s in seconds],
        tones=[Tone.BAD if is_soon else Tone.PLAIN for is_soon in soon],
    )
    ends = zip(found.full_low_s[order].tolist(), found.full_high_s[order].tolist(), strict=True)
    spans = [None if a == b or math.isnan(a) else f"{_duration(a)} to {_duration(b)}" for a, b in ends]
    yield Column(key="full_between", title="between", for_people=True, values=spans, quiet=True, dispensable=5)
    yield Column(key="full_on", title="on", values=[_date(now_s, s) for s in seconds], quiet=True, dispensable=2)


def _topic_table(growth: MeasuredGrowth, found: TopicGrowth, shown_rows: int | None) -> Table:
    state = growth.state
    order = np.lexsort((np.arange(len(found.written)), -found.bytes, -found.written))
    seconds = found.steady_s[order].tolist()
    estimated = sum_by(state.partitions.topic, partition_figures(state).estimated, len(state.topics)) > 0
    limits = [found.limit[row] for row in order.tolist()]
    return Table(
        key="topics",
        shown_rows=FIRST_ROWS if shown_rows is None else shown_rows or None,
        columns=(
            Column(key="topic", title="topic", values=[state.topics.name[row] for row in order.tolist()], label=True),
            Column(
                key="used_bytes",
                title="used",
                kind=ValueKind.BYTES,
                values=found.bytes[order].tolist(),
                estimated=estimated[order].tolist(),
            ),
            *_written("topic", found.written, found.low, found.high, order),
            Column(key="limit", title="limited by", values=limits),
            Column(
                key="steady_bytes",
                title="steady at",
                kind=ValueKind.BYTES,
                values=known(_finite_or_nan(found.steady_bytes)[order]),
                metric=Metric("kafkabal_topic_steady_bytes", "Bytes that all replicas of the topic end at."),
            ),
            Column(key="steady_s", title="", values=[_finite(s) for s in seconds]),
            Column(
                key="time_to_steady",
                title="reached in",
                for_people=True,
                values=["now" if s == 0 else _duration(s) for s in seconds],
            ),
        ),
    )


def _headline(growth: MeasuredGrowth, brokers: HolderGrowth) -> str:
    a_day = f"{format_bytes(float(np.nansum(brokers.written)) * DAY_S)} a day written"
    measured = f"measured over {format_duration(growth.partitions.over_s)}"
    if np.isnan(brokers.full_s).all():
        return f"{a_day} ({measured}); the size of disks is unknown, and so is when they will be full."
    row = int(np.nanargmin(brokers.full_s))
    seconds = float(brokers.full_s[row])
    if _outlook(seconds) == "never":
        unknown = growth.state.brokers.id[np.isnan(brokers.full_s)].tolist()
        if unknown:
            which = first_brokers(unknown)
            return f"No disk of known size will be full; those of {which} are unknown. {a_day} ({measured})."
        if not np.nansum(brokers.written):
            return f"No disk will be full: nothing was written in {format_duration(growth.partitions.over_s)}."
        steady = float(brokers.steady_bytes.sum())
        reached = f": retention limits the cluster to {format_bytes(steady)}" if math.isfinite(steady) else ""
        return f"No disk will be full{reached}. {a_day} ({measured})."
    low, high = float(brokers.full_low_s[row]), float(brokers.full_high_s[row])
    span = f", between {_duration(low)} and {_duration(high)}" if low != high else ""
    broker = growth.state.brokers.id[row]
    return f"Broker {broker} will be full in {_duration(seconds)}{span}. {a_day} ({measured})."


def _notes(growth: MeasuredGrowth) -> Iterator[str]:
    state, retention = growth.state, growth.retention
    compacted = np.unique(state.partitions.topic[retention.is_compacted & (growth.partitions.mean > 0)]).size
    if compacted:
        shown = counted_noun(compacted, "topic")
        yield f"{shown} compacted: measured by size, because what compaction deletes is unknown"
    unlimited = np.isinf(retention.keep_s) & np.isinf(retention.keep_bytes) & ~retention.is_compacted
    topics = np.unique(state.partitions.topic[unlimited & (growth.partitions.mean > 0)])
    if topics.size:
        names = first_of([state.topics.name[t] for t in topics.tolist()])
        yield f"without retention, growing without limit: {names}"
    unknown = int(np.count_nonzero(~growth.partitions.is_known))
    if unknown:
        yield f"{counted_noun(unknown, 'partition')} of unknown growth, assumed not to grow"
    if not growth.is_default_read:
        yield "topics that set no retention are assumed to have Kafka's default (7 days)"
    if len(growth.past) == 1:
        yield "no interval: only one record to compare with; run 'kafkabal inspect --record' again later"


def _outlook(seconds: float) -> str:
    return "never" if seconds > FARTHEST_FULL_S else "full"


def _duration(seconds: float) -> str | None:
    if math.isnan(seconds):
        return None
    return "never" if seconds > FARTHEST_FULL_S else format_duration(seconds)


def _date(now_s: float, seconds: float) -> str | None:
    if math.isnan(seconds) or seconds > FARTHEST_FULL_S:
        return None
    return datetime.fromtimestamp(now_s + seconds, UTC).strftime("%Y-%m-%d")


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _finite_or_nan(values: F64) -> F64:
    return np.where(np.isfinite(values), values, np.nan)
