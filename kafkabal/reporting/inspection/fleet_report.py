"""The report of ``inspect`` on several clusters: one row per cluster, worst first, then their rows combined."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kafkabal.inspection import Inspection, Member, Severity, profiles_of_one_cluster
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.reporting.inspection.inspection_report import (
    cluster_counts,
    holder_table,
    outlook_of,
    score_table,
)
from kafkabal.reporting.inspection.share_charts import fleet_charts
from kafkabal.reporting.report import Column, Metric, Report, Table, Tone, ValueKind
from kafkabal.units import format_duration
from kafkabal.wording import counted_noun, first_of

_NO_RESPONSE: Final = "no-response"
_TONES: Final[Mapping[str, Tone]] = {
    Severity.BALANCED: Tone.GOOD,
    Severity.IMBALANCED: Tone.WARNING,
    Severity.BROKEN: Tone.BAD,
    _NO_RESPONSE: Tone.BAD,
}
_MOST_DESCRIBED: Final = 10
"""Imbalanced or broken clusters that get a paragraph; the table has all."""


def fleet_report(
    members: Sequence[Member],
    by: Grouping | None = None,
    *,
    shown_rows: int | None = None,
    rows_first: bool = False,
) -> Report:
    """The report of ``inspect`` on several clusters.

    Parameters
    ----------
    members
        Worst first.
    by
        Grouping of further rows; None for none.
    rows_first
        Put these rows before the clusters, for formats with a single table.
    """
    clusters = _cluster_table(members)
    inspected = [(member.name, member.inspection) for member in members if member.inspection is not None]
    tables = [clusters]
    if by is not None:
        joined = _joined([(name, holder_table(inspection, by)) for name, inspection in inspected], by, shown_rows)
        tables = [joined, clusters] if rows_first else [clusters, joined]
    return Report(
        command="inspect --all-profiles",
        headline=_headline(members),
        tone=_TONES[_state(members[0])],
        tables=(*tables, _scores(inspected)),
        notes=tuple(_notes(members)),
        charts=partial(fleet_charts, inspected),
    )


def _state(member: Member) -> str:
    return _NO_RESPONSE if member.figures is None else member.figures.verdict.severity


def _headline(members: Sequence[Member]) -> str:
    counted = counted_noun(len(members), "cluster")
    words = {_NO_RESPONSE: "did not respond", Severity.BROKEN: "broken", Severity.IMBALANCED: "imbalanced"}
    parts = []
    for state, word in words.items():
        names = [member.name for member in members if _state(member) == state]
        if names:
            parts.append(f"{len(names)} {word} ({first_of(names)})")
    return f"{counted}: {'; '.join(parts)}." if parts else f"{counted}: balanced."


def _cluster_table(members: Sequence[Member]) -> Table:
    """One row per cluster; a cluster that did not respond has only its name and the reason."""
    columns = (
        *_condition(members),
        *_brokers_and_bytes(members),
        *_partitions(members),
        *_time_to_full(members),
        *_reading(members),
    )
    shown = {column.metric.name for column in columns if column.metric is not None}
    return Table(key="clusters", columns=(*columns, *_other_counts(members, shown)))


def _other_counts(members: Sequence[Member], shown: Container[str]) -> Iterator[Column]:
    """For monitoring: counts in the report of a single cluster without a column here, since alerts use them too."""
    counts = [
        {} if m.inspection is None else {fact.key: fact for fact in cluster_counts(m.inspection)} for m in members
    ]
    for key, fact in next(filter(None, counts), {}).items():
        if fact.metric is not None and fact.metric.name not in shown:
            values = [found[key].value if found else None for found in counts]
            yield Column(key=key, title="", for_people=True, values=values, metric=fact.metric)


def _figure(
    members: Sequence[Member],
    key: str,
    title: str,
    kind: ValueKind = ValueKind.NUMBER,
    metric: Metric | None = None,
    **more: Any,
) -> Column:
    """A figure of every cluster that responded."""
    values = [None if m.figures is None else getattr(m.figures, key) for m in members]
    return Column(key=key, title=title, kind=kind, values=values, metric=metric, **more)


def _condition(members: Sequence[Member]) -> Iterator[Column]:
    states = [_state(member) for member in members]
    yield Column(key="cluster", title="cluster", values=[m.name for m in members], label=True)
    yield Column(key="state", title="state", values=states, tones=[_TONES[state] for state in states])
    yield Column(
        key="up",
        title="",
        values=[m.figures is not None for m in members],
        metric=Metric("kafkabal_up", "Whether the cluster responded."),
    )
    ids = [None if m.inspection is None else m.inspection.state.cluster_id for m in members]
    yield Column(key="cluster_id", title="", values=ids)


def _brokers_and_bytes(members: Sequence[Member]) -> Iterator[Column]:
    brokers = Metric("kafkabal_brokers", "Brokers, including dead ones.")
    dead = Metric("kafkabal_dead_brokers", "Brokers that hold replicas and are not registered.")
    used = Metric("kafkabal_used_bytes", "Bytes of all replicas, including estimates.")
    capacity = Metric("kafkabal_capacity_bytes", "Size of all volumes in bytes.")
    fullest = Metric("kafkabal_fullest_broker_ratio", "How full the fullest broker is.")
    yield _figure(members, "brokers", "brokers", metric=brokers)
    yield _figure(members, "dead_brokers", "dead", metric=dead)
    estimated = [m.figures is not None and m.figures.used_estimated for m in members]
    yield _figure(members, "used_bytes", "used", ValueKind.BYTES, used, estimated=estimated)
    yield _figure(members, "capacity_bytes", "", ValueKind.BYTES, capacity)
    yield _figure(members, "full", "full", ValueKind.PERCENT)
    yield _figure(members, "fullest", "fullest", ValueKind.PERCENT, fullest)
    yield _figure(members, "fullest_broker", "on broker", ValueKind.ID, dispensable=3)
    yield _figure(members, "skew", "worst skew", ValueKind.PERCENT)
    yield _figure(members, "worst_score", "by score", ValueKind.TEXT, dispensable=1)


def _partitions(members: Sequence[Member]) -> Iterator[Column]:
    moving = Metric("kafkabal_moving_partitions", "Partitions being reassigned.")
    offline = Metric("kafkabal_offline_partitions", "Partitions without a leader.")
    under_replicated = Metric("kafkabal_under_replicated_partitions", "Under-replicated partitions.")
    yield _figure(members, "moving_partitions", "moving", metric=moving, dispensable=2)
    yield _figure(members, "offline_partitions", "offline", metric=offline, quiet=True)
    yield _figure(
        members, "under_replicated_partitions", "under-repl.", metric=under_replicated, quiet=True, dispensable=4
    )


def _time_to_full(members: Sequence[Member]) -> Iterator[Column]:
    yield Column(
        key="full_s",
        title="",
        values=[None if m.full_s is None or math.isinf(m.full_s) else m.full_s for m in members],
    )
    yield Column(key="full_outlook", title="", values=[outlook_of(m.full_s) for m in members])
    yield Column(
        key="seconds_to_full",
        title="",
        for_people=True,
        values=[m.full_s for m in members],
        metric=Metric("kafkabal_full_seconds", "Seconds until the first disk is full; +Inf for never."),
    )
    yield Column(
        key="time_to_full",
        title="full in",
        for_people=True,
        values=[
            None if m.full_s is None else "never" if math.isinf(m.full_s) else format_duration(m.full_s)
            for m in members
        ],
        quiet=True,
    )


def _reading(members: Sequence[Member]) -> Iterator[Column]:
    """Why a cluster was not read, or when it was."""
    yield Column(key="problem", title="", values=[m.problem or None for m in members])
    yield Column(
        key="read_at_s",
        title="",
        values=[m.read_at_s for m in members],
        metric=Metric("kafkabal_last_success_timestamp_seconds", "When the cluster was last read."),
    )


def _scores(inspected: Sequence[tuple[str, Inspection]]) -> Table:
    """For programs: the scores of every cluster."""
    return _with_cluster(
        [(name, score_table(inspection)) for name, inspection in inspected],
        Table(key="scores", columns=(), for_programs=True),
    )


def _joined(tables: Sequence[tuple[str, Table]], by: Grouping, shown_rows: int | None) -> Table:
    default = tables[0][1].shown_rows if tables else None
    shown = default if shown_rows is None else shown_rows or None
    key = tables[0][1].key if tables else f"{by.value.replace('-', '_')}s"
    return _with_cluster(tables, Table(key=key, columns=(), shown_rows=shown))


def _with_cluster(tables: Sequence[tuple[str, Table]], frame: Table) -> Table:
    """The rows of equal tables of several clusters concatenated, with the cluster as first column."""
    named = Column(
        key="cluster",
        title="cluster",
        values=[name for name, table in tables for _ in range(table.n_rows)],
        label=True,
    )
    keys: dict[str, Column] = {}
    for _, table in tables:
        for column in table.columns:
            if column.key not in keys or (column.title and not keys[column.key].title):
                keys[column.key] = column
    columns = (_stacked(column, [table for _, table in tables]) for column in keys.values())
    return replace(frame, columns=(named, *columns))


def _stacked(like: Column, tables: Sequence[Table]) -> Column:
    """A column of all tables concatenated; None in the rows of tables without it."""
    found = [(next((c for c in table.columns if c.key == like.key), None), table.n_rows) for table in tables]

    def joined(field: str, missing: object) -> list[Any]:
        return [v for c, n in found for v in (list(getattr(c, field) or ()) if c else []) or [missing] * n]

    has_estimates = any(c is not None and c.estimated is not None for c, _ in found)
    return replace(
        like,
        values=joined("values", None),
        outside=joined("outside", 0),
        tones=joined("tones", Tone.PLAIN),
        estimated=joined("estimated", missing=False) if has_estimates else None,
    )


def _notes(members: Sequence[Member]) -> Iterator[str]:
    """Why clusters did not respond, and what is wrong with the worst of the others."""
    for member in members:
        if member.figures is None:
            yield f"{member.name} did not respond: {member.problem}"
    bad = [
        (member.name, member.figures.verdict)
        for member in members
        if member.figures is not None and member.figures.verdict.severity is not Severity.BALANCED
    ]
    if len(bad) > _MOST_DESCRIBED:
        yield f"the worst {_MOST_DESCRIBED} of {len(bad)} imbalanced or broken:"
    for name, verdict in bad[:_MOST_DESCRIBED]:
        yield f"{name}: {verdict.sentence}"
    yield from same_cluster_notes(members)


def same_cluster_notes(members: Sequence[Member]) -> Iterator[str]:
    """Which profiles name the same cluster: its figures appear once for each."""
    for names in profiles_of_one_cluster(members):
        yield f"the same cluster: {', '.join(names)}"
