"""Charts of ``inspect``: brokers against their bands, and topics by brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from kafkabal.inspection import Inspection, Scored
from kafkabal.model import F64, ClusterState, replica_bytes
from kafkabal.reporting.report import Chart, HeatMap, ShareChart, known
from kafkabal.scoring import Grain, fair_shares

# limits that keep a page legible
_MOST_TOPICS = 30
_MOST_BROKERS = 40
"""Columns stay wide enough to be told apart; the table has all brokers."""
_MOST_CLUSTERS = 6
"""The worst ones; the table, which follows the charts, has all."""


def inspection_charts(inspection: Inspection) -> tuple[Chart, ...]:
    """One chart for each broker score, and one of where the largest topics are."""
    scored = _broker_scores(inspection)
    weights = np.nan_to_num(scored[0].evaluation.fair) if scored else np.zeros(len(inspection.state.brokers))
    heat_map = topic_heat_map(inspection.state, weights)
    return (
        *(_shares(each, inspection.state) for each in scored),
        *((heat_map,) if heat_map is not None else ()),
    )


def fleet_charts(inspected: Sequence[tuple[str, Inspection]]) -> tuple[Chart, ...]:
    """One chart for each of the first clusters: its brokers by the first broker score."""
    charts = ((name, _shares(scored[0], each.state)) for name, each in inspected if (scored := _broker_scores(each)))
    named = (replace(chart, title=f"{name}: {chart.title}") for name, chart in charts)
    return tuple(islice(named, _MOST_CLUSTERS))


def _broker_scores(inspection: Inspection) -> list[Scored]:
    return [each for each in inspection.of_grain(Grain.BROKER) if each.evaluation.counted.any()]


def _shares(scored: Scored, state: ClusterState) -> ShareChart:
    evaluation = scored.evaluation
    order = np.lexsort((state.brokers.id, -np.nan_to_num(evaluation.share, nan=-1.0)))
    fair = np.where(evaluation.fair > 0, evaluation.fair, np.nan)
    low, high = (fair_shares(edge, fair) for edge in (evaluation.low, evaluation.high))
    has_bands = bool((~np.isnan(low)).any())
    return ShareChart(
        title=f"{scored.score.name} by broker",
        labels=[f"broker {broker}" for broker in state.brokers.id[order].tolist()],
        shares=known(evaluation.share[order]),
        low=known(low[order]) if has_bands else (),
        high=known(high[order]) if has_bands else (),
        outside=evaluation.outside[order].tolist(),
    )


def topic_heat_map(state: ClusterState, fair: F64) -> HeatMap | None:
    """The largest topics by broker: bytes of a topic on a broker relative to its fair part there.

    Parameters
    ----------
    fair
        float64, shape (n_brokers,): fair load of each broker, in any unit; 0 if it has none.

    Returns
    -------
    HeatMap or None
        None without bytes or fair loads.
    """
    n_topics, n_brokers = len(state.topics), len(state.brokers)
    topic, sizes = state.partitions.topic[state.replicas.partition], replica_bytes(state)
    bytes_of_topic = np.bincount(topic, sizes, n_topics)
    topics = np.lexsort((np.arange(n_topics), -bytes_of_topic))[:_MOST_TOPICS]
    topics = topics[bytes_of_topic[topics] > 0]
    brokers = np.flatnonzero(fair > 0)[:_MOST_BROKERS]
    if not len(topics) or not len(brokers):
        return None
    row_of = np.full(n_topics, -1, np.int64)
    row_of[topics] = np.arange(len(topics))
    row = row_of[topic]
    cells = (row * n_brokers + state.replicas.broker)[row >= 0]
    held = np.bincount(cells, sizes[row >= 0], len(topics) * n_brokers).reshape(len(topics), n_brokers)[:, brokers]
    fair_sum = float(fair.sum())
    shares = fair_shares(held, fair[brokers], (bytes_of_topic[topics] / fair_sum)[:, None])
    return HeatMap(
        title="bytes of the largest topics by broker",
        row_labels=[state.topics.name[i] for i in topics.tolist()],
        column_labels=[str(broker) for broker in state.brokers.id[brokers].tolist()],
        shares=[
            [None if n_bytes == 0 else share for n_bytes, share in zip(*of_topic, strict=True)]
            for of_topic in zip(held.tolist(), shares.tolist(), strict=True)
        ],
    )
