"""One row per partition: broken ones first, then by size."""

from __future__ import annotations

import numpy as np

from kafkabal.inspection import Inspection, PartitionFigures, partition_figures
from kafkabal.model import I64, ClusterState
from kafkabal.reporting.inspection import shared_columns
from kafkabal.reporting.report import FIRST_ROWS, Column, Table, Tone, ValueKind, counted


def partition_table(inspection: Inspection) -> Table:
    """All partitions; the bar compares each with the mean partition."""
    state = inspection.state
    p, figures = state.partitions, partition_figures(state)
    size = figures.leader_bytes
    order = np.lexsort((np.arange(len(p)), -size, ~figures.under_replicated, ~figures.offline))
    relative = size[order] / max(float(size.mean()) if len(p) else 1.0, 1e-9)
    names = state.topics.name
    return Table(
        key="partitions",
        shown_rows=FIRST_ROWS,
        columns=(
            Column(key="topic", title="topic", values=[names[t] for t in p.topic[order].tolist()], label=True),
            Column(key="partition", title="partition", kind=ValueKind.ID, values=p.number[order].tolist(), label=True),
            *_state(figures, order),
            Column(key="leader", title="leader", kind=ValueKind.ID, values=_leader_ids(state, order)),
            Column(key="replicas", title="replicas", values=_replica_ids(state, order, only_in_sync=False)),
            Column(key="isr", title="", values=_replica_ids(state, order, only_in_sync=True)),
            _size(figures, order),
            Column(key="bar", title=" ", kind=ValueKind.BAR, dispensable=2, values=relative.tolist()),
            Column(
                key="all_replicas_bytes",
                title="",
                values=figures.bytes[order].tolist(),
                estimated=figures.estimated[order].tolist(),
            ),
            shared_columns.remote(p.remote_bytes[order]),
            Column(key="start_offset", title="", values=counted(p.start_offset[order])),
            Column(key="end_offset", title="", values=counted(p.end_offset[order])),
            Column(
                key="preferred_leader", title="", values=(~figures.not_preferred & ~figures.offline)[order].tolist()
            ),
            *shared_columns.rates("partition", p.in_bytes_per_s, p.out_bytes_per_s, order),
        ),
    )


def _state(figures: PartitionFigures, order: I64) -> tuple[Column, Column]:
    texts = np.where(figures.offline, "offline", np.where(figures.under_replicated, "under-replicated", ""))[order]
    tones = {"offline": Tone.BAD, "under-replicated": Tone.WARNING, "": Tone.PLAIN}
    listed = texts.tolist()
    return (
        Column(key="state", title="", values=[text or "online" for text in listed]),
        Column(
            key="condition",
            title="state",
            for_people=True,
            values=listed,
            quiet=True,
            tones=[tones[text] for text in listed],
        ),
    )


def _size(figures: PartitionFigures, order: I64) -> Column:
    return Column(
        key="size_bytes",
        title="size",
        kind=ValueKind.BYTES,
        values=figures.leader_bytes[order].tolist(),
        estimated=figures.leader_estimated[order].tolist(),
    )


def _leader_ids(state: ClusterState, order: I64) -> list[int | None]:
    leader = state.partitions.leader[order]
    return counted(np.where(leader >= 0, state.brokers.id[leader], -1))


def _replica_ids(state: ClusterState, order: I64, *, only_in_sync: bool) -> list[list[int]]:
    """Broker ids of the replicas of each partition, in the order of the replica list."""
    r = state.replicas
    widest = int(state.replication_factor.max(initial=0))
    ids = np.full((len(state.partitions), widest), -1)
    position = np.arange(len(r)) - state.partitions.first[r.partition]
    ids[r.partition, position] = np.where(r.in_sync | (not only_in_sync), state.brokers.id[r.broker], -1)
    rows: list[list[int]] = ids[order].tolist()
    return [[broker for broker in row if broker >= 0] for row in rows] if (ids < 0).any() else rows
