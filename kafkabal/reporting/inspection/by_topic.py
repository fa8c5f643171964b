"""One row per topic, the one that contributes most to the imbalance first."""

from __future__ import annotations

import numpy as np

from kafkabal.inspection import Inspection, partition_figures, rate_by, sum_by
from kafkabal.model import (
    F64,
    I64,
    Bools,
    ClusterState,
    broker_capacity_bytes,
    is_diskless,
    is_tiered,
    replica_bytes,
)
from kafkabal.reporting.inspection import shared_columns
from kafkabal.reporting.report import FIRST_ROWS, Column, Table, Tone, ValueKind
from kafkabal.scoring import due_of_factors, rules_of


def topic_table(inspection: Inspection) -> Table:
    """All topics.

    ``excess`` is the bytes above each broker's fair share of the topic: what would have to move to balance the
    topic, if partitions could be split at will.
    """
    state, n = inspection.state, len(inspection.state.topics)
    p, figures = state.partitions, partition_figures(state)
    offline, under = sum_by(p.topic, figures.offline, n), sum_by(p.topic, figures.under_replicated, n)
    total, uneven = sum_by(p.topic, figures.bytes, n), uneven_bytes(state)
    order = np.lexsort((np.arange(n), -total, -uneven, -under, -offline))
    fraction = total[order] / max(int(total.sum()), 1)
    tiered = is_tiered(state)
    return Table(
        key="topics",
        shown_rows=FIRST_ROWS,
        columns=(
            Column(key="topic", title="topic", values=[state.topics.name[i] for i in order.tolist()], label=True),
            _kind_column(state, tiered, order),
            Column(key="internal", title="", values=state.topics.internal[order].tolist()),
            Column(key="tiered", title="", values=tiered[order].tolist()),
            _count("partitions", "partitions", np.bincount(p.topic, minlength=n), order),
            _count("replicas", "replicas", sum_by(p.topic, state.replication_factor.astype(np.int64), n), order),
            shared_columns.used("topic", total, sum_by(p.topic, figures.estimated, n) > 0, order),
            shared_columns.remote(remote_bytes_of_topics(state)[order]),
            Column(
                key="fraction_of_bytes", title="of all", kind=ValueKind.PERCENT, dispensable=4, values=fraction.tolist()
            ),
            Column(
                key="uneven_bytes",
                title="excess",
                kind=ValueKind.BYTES,
                values=np.rint(uneven[order]).astype(int).tolist(),
            ),
            Column(
                key="bar",
                title=" ",
                kind=ValueKind.BAR,
                dispensable=2,
                values=(uneven[order] / max(float(uneven.max(initial=0)), 1)).tolist(),
            ),
            *shared_columns.partition_troubles(
                "topic", under, offline, sum_by(p.topic, figures.not_preferred, n), order
            ),
            *shared_columns.rates(
                "topic", rate_by(p.topic, p.in_bytes_per_s, n), rate_by(p.topic, p.out_bytes_per_s, n), order
            ),
        ),
    )


def uneven_bytes(state: ClusterState) -> F64:
    """float64, shape (n_topics,): bytes above the fair share of each live broker, by its capacity and the racks."""
    n_topics, n_brokers = len(state.topics), len(state.brokers)
    topic = state.partitions.topic[state.replicas.partition].astype(np.int64)
    pairs, index = np.unique(topic * n_brokers + state.replicas.broker, return_inverse=True)
    held = np.bincount(index, replica_bytes(state), len(pairs))
    topic_of, broker_of = pairs // max(n_brokers, 1), pairs % max(n_brokers, 1)
    weight, kind = _due_of_topics(state)
    part = weight[kind[topic_of], broker_of] / np.maximum(weight.sum(1), 1e-9)[kind[topic_of]]
    fair = np.bincount(topic_of, held, n_topics)[topic_of] * part
    return np.asarray(np.bincount(topic_of, np.maximum(held - fair, 0), n_topics), np.float64)


def remote_bytes_of_topics(state: ClusterState) -> I64:
    """int64, shape (n_topics,): bytes only in remote storage, -1 if unknown for all partitions."""
    p, n = state.partitions, len(state.topics)
    known = p.remote_bytes >= 0
    total = sum_by(p.topic, np.where(known, p.remote_bytes, 0), n)
    return np.where(sum_by(p.topic, known, n) > 0, total, -1)


def _due_of_topics(state: ClusterState) -> tuple[F64, I64]:
    """What brokers are due of a topic, one row per replication factor, and the row of each topic."""
    capacity, live, rules = _weights(state), state.brokers.is_live, rules_of(state)
    by_factor = due_of_factors(capacity, live, rules)
    distinct = sorted(by_factor)
    factor = np.zeros(len(state.topics), np.int64)
    np.maximum.at(factor, state.partitions.topic, rules.factor)
    row = np.searchsorted(distinct, factor) + 1
    # rules do not bind what they keep in place, such as internal topics
    known = np.isin(factor, distinct)
    rows = np.array([capacity, *(by_factor[each] for each in distinct)])
    return np.where(live, rows, 0.0), np.where(known, row, 0)


def _weights(state: ClusterState) -> F64:
    """Capacity of each broker; equal if any live broker's is unknown."""
    capacity = broker_capacity_bytes(state)
    unknown = np.isnan(capacity[state.brokers.is_live]).any()
    return np.ones(len(capacity)) if unknown else np.nan_to_num(capacity)


def _kind_column(state: ClusterState, tiered: Bools, order: I64) -> Column:
    internal, diskless = state.topics.internal, is_diskless(state)
    texts = [
        "internal" if internal[i] else "tiered" if tiered[i] else "diskless" if diskless[i] else None
        for i in order.tolist()
    ]
    return Column(
        key="kind",
        title="kind",
        for_people=True,
        values=texts,
        quiet=True,
        dispensable=1,
        tones=[Tone.FAINT] * len(texts),
    )


def _count(key: str, title: str, values: I64, order: I64) -> Column:
    return Column(key=key, title=title, kind=ValueKind.NUMBER, values=values[order].tolist())
