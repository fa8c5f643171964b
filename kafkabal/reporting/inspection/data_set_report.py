"""The report of ``inspect --topics``: which clusters have a copy of a data set, and how far mirrors are behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafkabal.inspection import Member, TopicCopy
from kafkabal.reporting.inspection.fleet_report import same_cluster_notes
from kafkabal.reporting.report import FIRST_ROWS, Column, Metric, Report, Table, Tone, ValueKind
from kafkabal.wording import counted_noun

_COPY_METRICS: Final[Mapping[str, Metric]] = {
    "bytes": Metric("kafkabal_data_set_bytes", "Bytes of all replicas of a topic."),
    "records": Metric("kafkabal_data_set_records", "Records of a topic, by its offsets."),
    "behind": Metric("kafkabal_data_set_behind_records", "Offsets that a mirror is behind its origin."),
}


def data_set_report(
    copies: Sequence[TopicCopy], patterns: Sequence[str], members: Sequence[Member], *, shown_rows: int | None = None
) -> Report:
    """The copies of data sets on several clusters.

    Parameters
    ----------
    patterns
        The requested patterns.
    members
        All clusters that were read; those that did not respond are named.
    shown_rows
        How many copies people see, 0 for all; None for 20.
    """
    n_sets, n_clusters = len({copy.data_set for copy in copies}), len({copy.cluster for copy in copies})
    found = f"{counted_noun(n_sets, 'data set')} on {n_clusters} of {counted_noun(len(members), 'cluster')}"
    columns: tuple[tuple[str, str, ValueKind], ...] = (
        ("data_set", "data set", ValueKind.TEXT),
        ("cluster", "cluster", ValueKind.TEXT),
        ("topic", "topic", ValueKind.TEXT),
        ("partitions", "partitions", ValueKind.NUMBER),
        ("replicas", "replicas", ValueKind.NUMBER),
        ("bytes", "bytes", ValueKind.BYTES),
        ("records", "records", ValueKind.NUMBER),
        ("end_offsets", "end offsets", ValueKind.NUMBER),
        ("origin", "mirror of", ValueKind.TEXT),
        ("behind", "behind", ValueKind.NUMBER),
    )
    return Report(
        command="inspect --topics",
        headline=f"{found}." if copies else f"No topic matches {', '.join(patterns)}.",
        tone=Tone.PLAIN if copies else Tone.WARNING,
        tables=(
            Table(
                key="copies",
                shown_rows=FIRST_ROWS if shown_rows is None else shown_rows or None,
                columns=tuple(
                    Column(
                        key=key,
                        title=title,
                        kind=kind,
                        values=[getattr(copy, key) for copy in copies],
                        estimated=[copy.estimated for copy in copies] if key == "bytes" else None,
                        label=key in ("cluster", "topic"),
                        quiet=key in ("origin", "behind"),
                        metric=_COPY_METRICS.get(key),
                    )
                    for key, title, kind in columns
                ),
            ),
        ),
        notes=(
            *(f"{m.name} did not respond: {m.problem}" for m in members if m.inspection is None),
            *same_cluster_notes(members),
        ),
    )
