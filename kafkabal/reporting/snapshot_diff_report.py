"""The differences between two snapshots of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kafkabal.clusters.unknown_cluster_id import are_two_clusters
from kafkabal.inspection import Comparison, Inspection, compare, partition_figures
from kafkabal.model import I64, ClusterState
from kafkabal.reporting.plan_moves import FIRST_MOVES
from kafkabal.reporting.report import Column, Fact, Report, Table, ValueKind
from kafkabal.wording import counted_noun, replica_list


def snapshot_diff_report(first: Inspection, second: Inspection, shown_rows: int | None = FIRST_MOVES) -> Report:
    """Scores, brokers, topics and partitions, first and second side by side.

    Parameters
    ----------
    shown_rows
        How many topics and partitions people see; programs see all.
    """
    found = compare(first.state, second.state)
    return Report(
        command="inspect diff",
        headline=_headline(found),
        facts=(
            Fact(key="first_cluster_id", value=first.state.cluster_id or None),
            Fact(key="second_cluster_id", value=second.state.cluster_id or None),
            Fact(key="first_taken_at", value=first.state.taken_at or None, title="first", kind=ValueKind.TIME),
            Fact(key="second_taken_at", value=second.state.taken_at or None, title="second", kind=ValueKind.TIME),
        ),
        tables=(
            _scores(first, second),
            _brokers(found, first.state, second.state),
            _topics(found, shown_rows),
            _partitions(found, first.state, second.state, shown_rows),
        ),
        notes=("the snapshots are of different clusters",)
        if are_two_clusters(first.state.cluster_id, second.state.cluster_id)
        else (),
    )


def _headline(found: Comparison) -> str:
    moved = int(np.count_nonzero(found.is_moved))
    counts = (
        (sum(1 for b in found.brokers if b.first < 0), "new broker", ""),
        (sum(1 for b in found.brokers if b.second < 0), "removed broker", ""),
        (sum(1 for t in found.topics if not t.first_partitions), "new topic", ""),
        (sum(1 for t in found.topics if not t.second_partitions), "removed topic", ""),
        (moved, "moved partition", ""),
        (len(found.is_moved) - moved, "partition", " with another leader or order"),
    )
    words = [counted_noun(count, what) + after for count, what, after in counts if count]
    return ", ".join(words) or "same brokers, topics and placement"


def _scores(first: Inspection, second: Inspection) -> Table:
    one, two = ({s.score.name: s.evaluation for s in inspected.scored} for inspected in (first, second))
    names = list(dict.fromkeys([*one, *two]))

    def column(key: str, title: str, of: dict[str, Any], kind: ValueKind) -> Column:
        values = [_figure(of.get(name), kind) for name in names]
        return Column(key=key, title=title, kind=kind, values=values, dispensable=int(kind is ValueKind.NUMBER))

    return Table(
        key="scores",
        title="scores",
        columns=(
            Column(key="score", title="score", values=names, label=True),
            column("first_skew", "skew first", one, ValueKind.PERCENT),
            column("second_skew", "second", two, ValueKind.PERCENT),
            column("first_outside", "outside band first", one, ValueKind.NUMBER),
            column("second_outside", "second", two, ValueKind.NUMBER),
        ),
    )


def _figure(evaluation: Any, kind: ValueKind) -> float | int | None:
    if evaluation is None:
        return None
    return float(evaluation.skew) if kind is ValueKind.PERCENT else int(evaluation.outside.sum())


def _brokers(found: Comparison, first: ClusterState, second: ClusterState) -> Table:
    rows = [b.first for b in found.brokers], [b.second for b in found.brokers]
    figures = (found.first_brokers, found.second_brokers)

    def pair(name: str, title: str, kind: ValueKind = ValueKind.NUMBER, dispensable: int = 0) -> tuple[Column, Column]:
        """One figure in both snapshots."""
        keys_and_titles = ((f"first_{name}", f"{title} first"), (f"second_{name}", "second"))
        first_column, second_column = (
            Column(
                key=key,
                title=titled,
                kind=kind,
                values=_at(getattr(of, name), at),
                estimated=[row >= 0 and bool(of.estimated[row]) for row in at] if name == "bytes" else None,
                dispensable=dispensable,
            )
            for (key, titled), of, at in zip(keys_and_titles, figures, rows, strict=True)
        )
        return first_column, second_column

    return Table(
        key="brokers",
        title="brokers",
        columns=(
            Column(key="broker", title="broker", values=[b.broker for b in found.brokers], label=True),
            Column(key="first_state", title="state first", values=_states(first, rows[0]), dispensable=3),
            Column(key="second_state", title="second", values=_states(second, rows[1]), dispensable=3),
            *pair("bytes", "used", ValueKind.BYTES),
            *pair("replicas", "replicas", dispensable=1),
            *pair("leaders", "leaders", dispensable=2),
        ),
    )


def _states(state: ClusterState, rows: Sequence[int]) -> list[str]:
    live = state.brokers.is_live
    return ["absent" if row < 0 else "online" if live[row] else "dead" for row in rows]


def _at(values: I64, rows: Sequence[int]) -> list[int | None]:
    return [None if row < 0 else int(values[row]) for row in rows]


def _topics(found: Comparison, shown_rows: int | None) -> Table:
    topics = sorted(found.topics, key=lambda t: (-abs(t.second_bytes - t.first_bytes), t.topic))
    return Table(
        key="topics",
        title="topics",
        shown_rows=shown_rows,
        columns=(
            Column(key="topic", title="topic", values=[t.topic for t in topics], label=True),
            Column(
                key="first_partitions",
                title="partitions first",
                kind=ValueKind.NUMBER,
                values=[t.first_partitions for t in topics],
                dispensable=1,
            ),
            Column(
                key="second_partitions",
                title="second",
                kind=ValueKind.NUMBER,
                values=[t.second_partitions for t in topics],
                dispensable=1,
            ),
            Column(
                key="first_bytes",
                title="bytes first",
                kind=ValueKind.BYTES,
                values=[t.first_bytes for t in topics],
                estimated=[t.first_estimated for t in topics],
            ),
            Column(
                key="second_bytes",
                title="second",
                kind=ValueKind.BYTES,
                values=[t.second_bytes for t in topics],
                estimated=[t.second_estimated for t in topics],
            ),
        ),
    )


def _partitions(found: Comparison, first: ClusterState, second: ClusterState, shown_rows: int | None) -> Table:
    figures = partition_figures(second)
    size, estimated = figures.leader_bytes[found.second_rows], figures.leader_estimated[found.second_rows]
    # moved ones first, then by size
    order = np.lexsort((found.second_rows, -size, ~found.is_moved))
    rows_a, rows_b = found.first_rows[order].tolist(), found.second_rows[order].tolist()
    names = [second.topic_partition(row) for row in rows_b]
    one, two = [list(first.replicas_of(row)) for row in rows_a], [list(second.replicas_of(row)) for row in rows_b]
    led_a, led_b = [_leader(first, row) for row in rows_a], [_leader(second, row) for row in rows_b]
    changes = [_in_words(*each) for each in zip(one, two, led_a, led_b, strict=True)]
    return Table(
        key="partitions",
        title="partitions",
        shown_rows=shown_rows,
        columns=(
            Column(key="topic", title="", values=[name.topic for name in names], label=True),
            Column(
                key="partition", title="", kind=ValueKind.NUMBER, values=[name.partition for name in names], label=True
            ),
            Column(key="name", title="partition", values=[str(name) for name in names], for_people=True),
            Column(key="change", title="change", values=changes, for_people=True, wraps=True),
            Column(key="first_replicas", title="", values=one),
            Column(key="second_replicas", title="", values=two),
            Column(key="first_leader", title="", values=led_a),
            Column(key="second_leader", title="", values=led_b),
            Column(
                key="bytes",
                title="bytes",
                kind=ValueKind.BYTES,
                values=size[order].tolist(),
                estimated=estimated[order].tolist(),
            ),
        ),
    )


def _leader(state: ClusterState, row: int) -> int | None:
    leader = int(state.partitions.leader[row])
    return int(state.brokers.id[leader]) if leader >= 0 else None


def _in_words(one: list[int], two: list[int], led_a: int | None, led_b: int | None) -> str:
    if one != two:
        return f"{replica_list(one)} -> {replica_list(two)}"
    return f"leader {'none' if led_a is None else led_a} -> {'none' if led_b is None else led_b}"
