"""The scores ``latency`` and ``prometheus``: what was measured of brokers, and what was not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kafkabal.errors import UsageError
from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import PRODUCE_LATENCY, PROMETHEUS_VALUE, ClusterState
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.scoring.available_needs import require
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import load_score

SCORES = [("latency", PRODUCE_LATENCY), ("prometheus", PROMETHEUS_VALUE)]


def three_brokers(name: str | None = None, values: list[float] | None = None) -> ClusterState:
    """Brokers 1 to 3, with one measured figure each."""
    cluster = build_cluster(
        HeaderRow(kafkabal_snapshot=1, cluster_id="c", taken_at="2026-01-01T00:00:00Z"),
        [BrokerRow(broker=b) for b in (1, 2, 3)],
        [TopicRow(topic="t", partitions=[PartitionRow(partition=0, leader=1, replicas=[1, 2, 3])])],
    )
    return cluster.replace(measured={name: np.array(values)}) if name is not None else cluster


@pytest.mark.parametrize(("name", "measure"), SCORES)
def test_share_of_the_measured_load(name: str, measure: str) -> None:
    """The share of a broker is its figure over the mean of all."""
    result = evaluate(load_score(name), three_brokers(measure, [0.01, 0.02, 0.06]), tolerance=0.1)
    assert result.share.tolist() == pytest.approx([1 / 3, 2 / 3, 2.0])
    assert not result.outside.any(), "these scores have no band: they are for routing and leadership"


@pytest.mark.parametrize(("name", "measure"), SCORES)
def test_a_broker_that_was_not_measured_is_unknown_not_idle(name: str, measure: str) -> None:
    """A broker without a figure has no share and does not lower the mean of the others."""
    result = evaluate(load_score(name), three_brokers(measure, [0.02, math.nan, 0.04]), tolerance=0.1)
    assert result.counted.tolist() == [True, False, True]
    assert result.share.tolist() == pytest.approx([2 / 3, math.nan, 4 / 3], nan_ok=True)


@pytest.mark.parametrize(("name", "measure"), SCORES)
@pytest.mark.parametrize("values", [None, [math.nan] * 3])
def test_nothing_measured_is_refused(name: str, measure: str, values: list[float] | None) -> None:
    """A cluster of which nothing was measured cannot feed the score, and the message says what is missing."""
    with pytest.raises(
        UsageError, match=f"score '{name}' needs (telemetry|prometheus), which this cluster does not supply"
    ) as refused:
        require(load_score(name), three_brokers(measure if values else None, values))
    # what was asked for and gave nothing need not be asked for again
    assert ("; add --" in (refused.value.hint or "")) == (values is None)
