"""The report of ``inspect``: the verdict, a table of the selected holders, and the scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from kafkabal.clusters import ConsumerRacks
from kafkabal.config import DEFAULT_CHECK_TOLERANCE
from kafkabal.inspection import (
    Inspection,
    Severity,
    SmallRack,
    advice,
    full_log_dirs,
    judge,
    partition_figures,
    small_racks,
    unknown_sizes,
    with_rack_level,
    worst_group,
)
from kafkabal.model import (
    ClusterState,
    LogDirState,
    is_diskless,
    is_estimated,
    is_reassigned,
    is_tiered,
    reports_no_log_dir,
)
from kafkabal.reporting.inspection.by_broker import broker_table
from kafkabal.reporting.inspection.by_log_dir import log_dir_table
from kafkabal.reporting.inspection.by_partition import partition_table
from kafkabal.reporting.inspection.by_rack import no_traffic, rack_table, traffic_table
from kafkabal.reporting.inspection.by_topic import topic_table
from kafkabal.reporting.inspection.consumer_group_table import consumer_group_table
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.reporting.inspection.share_charts import inspection_charts
from kafkabal.reporting.report import Column, Fact, Metric, Report, Table, Tone, ValueKind
from kafkabal.reporting.tolerance_notes import TWO_TOLERANCES, rounding_note
from kafkabal.units import format_bytes
from kafkabal.wording import counted_noun, first_of

_TABLES: Final[Mapping[Grouping, Callable[[Inspection], Table]]] = {
    Grouping.BROKER: broker_table,
    Grouping.LOG_DIR: log_dir_table,
    Grouping.RACK: rack_table,
    Grouping.TOPIC: topic_table,
    Grouping.PARTITION: partition_table,
}

_MOST_RACKS = 5
"""With more, the line of racks is longer than a terminal is wide."""
_TONES = {Severity.BALANCED: Tone.GOOD, Severity.IMBALANCED: Tone.WARNING, Severity.BROKEN: Tone.BAD}


def inspection_report(
    inspection: Inspection,
    by: Grouping = Grouping.BROKER,
    *,
    shown_rows: int | None = None,
    rebalance_options: str | None = "",
    read_at_s: float = 0.0,
    cluster_label: str = "",
    rack_level: int | None = None,
    price_per_gb: float | None = None,
    full_s: float | None = None,
    consumer_racks: ConsumerRacks | None = None,
) -> Report:
    """The report of ``inspect``.

    Parameters
    ----------
    shown_rows
        Number of rows that people see; 0 for all, None for the view's default.
    rebalance_options
        The options of the suggested command: cluster, scores, tolerance; None to suggest none.
    read_at_s
        When the cluster was in this state, in seconds since the epoch; 0 if unknown.
    cluster_label
        Name of the cluster in metrics; empty for its id.
    rack_level
        By rack: how many parts of a rack's path identify a row; None for all.
    price_per_gb
        By rack: the price of 10^9 bytes across racks.
    full_s
        Seconds until the first disk is full, by history; infinite for never, None if unknown.
    consumer_racks
        By rack: the reported racks of consumers; None if not requested.
    """
    verdict = judge(inspection)
    shown = inspection
    if by is Grouping.RACK and rack_level is not None:
        shown = replace(inspection, state=with_rack_level(inspection.state, rack_level))
    table = holder_table(shown, by)
    traffic = traffic_table(shown.state, price_per_gb) if by is Grouping.RACK else no_traffic()
    if shown_rows is not None:
        table = replace(table, shown_rows=shown_rows or None)
    has_next = bool(verdict.next_command) and rebalance_options is not None
    command = f"{verdict.next_command} {rebalance_options}".strip() if has_next else ""
    small = small_racks(inspection)
    return Report(
        command="inspect",
        headline=verdict.sentence,
        tone=_TONES[verdict.severity],
        facts=(*_facts(inspection, command, read_at_s), *_full_facts(full_s)),
        tables=(table, score_table(inspection), _rack_table(small), traffic, consumer_group_table(inspection.state)),
        notes=(
            *_notes(inspection, command),
            *_notes_on_racks(small),
            *_notes_on_traffic(shown.state, by),
            *_notes_on_consumers(consumer_racks),
        ),
        charts=partial(inspection_charts, inspection),
        metric_labels={"cluster": cluster_label or inspection.state.cluster_id},
    )


def holder_table(inspection: Inspection, by: Grouping) -> Table:
    """One row per broker, log dir, rack, topic or partition."""
    return _TABLES[by](inspection)


def score_table(inspection: Inspection) -> Table:
    """One row per score, in the given order."""
    evaluations = [scored.evaluation for scored in inspection.scored]
    groups = [worst_group(scored, inspection.state) for scored in inspection.scored]
    most = [g.max_share if g else e.max_share for g, e in zip(groups, evaluations, strict=True)]
    least = [g.min_share if g else e.min_share for g, e in zip(groups, evaluations, strict=True)]
    return Table(
        key="scores",
        columns=(
            Column(key="score", title="score", values=[s.score.name for s in inspection.scored], label=True),
            Column(key="unit", title="", values=[s.score.unit for s in inspection.scored]),
            Column(key="max_share", title="highest", kind=ValueKind.FAIR, values=most),
            Column(key="min_share", title="lowest", kind=ValueKind.FAIR, values=least),
            Column(
                key="skew",
                title="skew",
                kind=ValueKind.PERCENT,
                values=[float(e.skew) for e in evaluations],
                metric=Metric("kafkabal_skew_ratio", "Largest deviation of a broker or log dir from its fair share."),
            ),
            Column(
                key="outside",
                title="outside band",
                kind=ValueKind.NUMBER,
                values=[int(e.outside.sum()) for e in evaluations],
                metric=Metric("kafkabal_outside_band", "Brokers or log dirs outside their band."),
            ),
            Column(
                key="worst_topic",
                title="worst in topic",
                values=[g.topic if g and max(g.max_share - 1, 1 - g.min_share) > 0 else None for g in groups],
                quiet=True,
                dispensable=1,
            ),
        ),
    )


def _rack_table(small: Sequence[SmallRack]) -> Table:
    """For programs: racks that prevent equal shares of their brokers."""
    return Table(
        key="small_racks",
        columns=(
            Column(key="rack", title="rack", values=[r.rack for r in small], label=True),
            Column(key="brokers", title="brokers", values=[r.brokers for r in small]),
            Column(key="part", title="part", kind=ValueKind.PERCENT, values=[r.part for r in small]),
            Column(key="fair", title="fair", kind=ValueKind.FAIR, values=[r.fair_over_mean for r in small]),
            Column(key="brokers_to_add", title="to add", values=[r.brokers_to_add for r in small]),
        ),
        for_programs=True,
    )


def _notes_on_racks(small: Sequence[SmallRack]) -> Iterator[str]:
    """The effect of the racks, and what would help."""
    yield from (str(rack) for rack in small[:_MOST_RACKS])
    if len(small) > _MOST_RACKS:
        yield f"and {counted_noun(len(small) - _MOST_RACKS, 'more rack')} with too few brokers"
    if advice(small):
        yield advice(small)


def _full_facts(full_s: float | None) -> tuple[Fact, Fact]:
    """When the first disk is full; never is +Inf as a metric, and null plus a word in JSON."""
    metric = Metric("kafkabal_full_seconds", "Seconds until the first disk is full; +Inf for never.")
    outlook = outlook_of(full_s)
    title = "first disk full in" if outlook == "full" else ""
    return (
        Fact(key="full_s", value=full_s, title=title, kind=ValueKind.DURATION, metric=metric),
        Fact(key="full_outlook", value=outlook),
    )


def outlook_of(full_s: float | None) -> str:
    """The word for when the first disk is full: JSON has null both for never and for unknown."""
    if full_s is None:
        return "unknown"
    return "full" if math.isfinite(full_s) else "never"


def _notes_on_traffic(state: ClusterState, by: Grouping) -> Iterator[str]:
    """What the figures across racks mean, or what they require."""
    if by is not Grouping.RACK or len(state.racks) < 2:
        return
    if np.isnan(state.partitions.in_bytes_per_s).all():
        yield "bytes across racks need --sample 10s (with a snapshot: when it is saved)"
        return
    yield "* if clients are spread evenly over the racks: brokers do not know where producers are"


def _notes_on_consumers(racks: ConsumerRacks | None) -> Iterator[str]:
    """Which consumers may be reading from another rack unnecessarily."""
    if racks is None:
        return
    stating, without = sum(racks.members_by_rack.values()), racks.without_rack
    if stating or without:
        total = counted_noun(stating + len(without), "consumer")
        yield f"{stating:,} of {total} that can report their rack set client.rack"
    if without:
        yield f"without client.rack: {first_of(without)}"
    if racks.classic_groups:
        groups = counted_noun(racks.classic_groups, "group")
        yield f"{groups} of the classic protocol: brokers do not know the racks of their consumers"


def _facts(inspection: Inspection, command: str, read_at_s: float) -> Iterator[Fact]:
    yield Fact(key="cluster_id", value=inspection.state.cluster_id)
    yield Fact(key="taken_at", value=inspection.state.taken_at)
    yield Fact(key="tolerance", value=inspection.tolerance)
    yield Fact(key="next_command", value=command or None)
    yield from cluster_counts(inspection)
    yield Fact(
        key="read_at_s",
        value=read_at_s or None,
        metric=Metric("kafkabal_last_success_timestamp_seconds", "When the cluster was last read."),
    )


def cluster_counts(inspection: Inspection) -> Iterator[Fact]:
    """Counts of what a cluster consists of, and of what is wrong with it: each is a metric."""
    state, figures = inspection.state, partition_figures(inspection.state)
    for key, value, help_text in (
        ("brokers", len(state.brokers), "Brokers, including dead ones."),
        ("dead_brokers", int((~state.brokers.is_live).sum()), "Brokers that hold replicas and are not registered."),
        ("unreachable_brokers", int(reports_no_log_dir(state).sum()), "Registered brokers that did not report."),
        ("offline_log_dirs", int((state.log_dirs.state == LogDirState.OFFLINE).sum()), "Log dirs that are offline."),
        ("topics", len(state.topics), "Topics."),
        ("partitions", len(state.partitions), "Partitions."),
        ("replicas", len(state.replicas), "Replicas."),
        ("offline_partitions", int(figures.offline.sum()), "Partitions without a leader."),
        ("under_replicated_partitions", int(figures.under_replicated.sum()), "Under-replicated partitions."),
        ("not_preferred_partitions", int(figures.not_preferred.sum()), "Partitions not led by their preferred leader."),
        ("moving_partitions", _moving(inspection), "Partitions being reassigned."),
    ):
        yield Fact(key=f"n_{key}", value=value, metric=Metric(f"kafkabal_{key}", help_text))


def _moving(inspection: Inspection) -> int | None:
    state = inspection.state
    return int(is_reassigned(state).sum()) if state.reassignments_known else None


def _notes_on_sizes(state: ClusterState) -> Iterator[str]:
    """How many sizes are unknown, and how they are estimated."""
    lost = int(np.count_nonzero(unknown_sizes(state)))
    estimated, of_all = (
        int(np.count_nonzero(is_estimated(state))) - lost,
        f"of {counted_noun(len(state.replicas), 'replica')}",
    )
    if estimated:
        yield f"~ {estimated:,} {of_all}: size estimated from other replicas"
    if lost:
        yield f"~ {lost:,} {of_all}: size unknown, counted as 0"


def _notes_on_full_log_dirs(state: ClusterState) -> Iterator[str]:
    full = full_log_dirs(state)
    if full:
        yield f"{full}; no replica is moved there, see 'kafkabal help full-disk'"


def _notes_on_remote_storage(state: ClusterState) -> Iterator[str]:
    """Data that brokers keep elsewhere: it uses no disk, and moves do not copy it."""
    remote = state.partitions.remote_bytes
    held = int(remote[remote > 0].sum())
    tiered = max(int(is_tiered(state).sum()), len(np.unique(state.partitions.topic[remote > 0])))
    if tiered:
        elsewhere = f"; about {format_bytes(held)} more are in remote storage" if held else ""
        yield (
            f"{counted_noun(tiered, 'topic')} with tiered storage: only local bytes are counted, "
            f"and only those are copied by a move{elsewhere}"
        )
    diskless = int(is_diskless(state).sum())
    if diskless:
        yield f"{counted_noun(diskless, 'diskless topic')}: counted by leaders and replicas only, at zero bytes"


def _notes(inspection: Inspection, command: str) -> Iterator[str]:
    state = inspection.state
    if command:
        yield f"next: {command}"
        if inspection.tolerance == DEFAULT_CHECK_TOLERANCE:
            yield TWO_TOLERANCES
    rounded = [scored.score.name for scored in inspection.scored if inspection.is_rounded(scored)]
    yield from rounding_note(rounded, inspection.tolerance)
    yield from inspection.unavailable
    yield from _notes_on_full_log_dirs(state)
    yield from _notes_on_sizes(state)
    yield from _notes_on_remote_storage(state)
    moving = _moving(inspection)
    if moving:
        yield f"{counted_noun(moving, 'partition')} being reassigned: old and new replicas are both counted"
    if any(scored.score.name == "bytes-out" for scored in inspection.scored):
        yield "bytes-out excludes reads that commit no offset and reads from followers"
