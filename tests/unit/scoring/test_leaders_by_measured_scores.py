"""Leadership in inverse proportion to what is measured of brokers."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.model import PRODUCE_LATENCY, PROMETHEUS_VALUE
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.scoring import leaders_by_measurement, load_scores
from kafkabal.testing.cluster_builders import brokers, cluster, topic


@pytest.mark.parametrize(
    ("latencies", "capacities"),
    [
        ((0.01, 0.01, 0.04), (2, 2, 0.5)),
        ((0.01, 0.03, np.nan), (2, 2 / 3, 1)),
        ((0.001, 0.001, 1.0), (4, 4, 0.334)),
        ((0.0, 0.0, 0.0), (1, 1, 1)),
    ],
    ids=["inverse", "one unknown", "limited", "all zero"],
)
def test_due_load_of_a_broker(latencies: tuple[float, ...], capacities: tuple[float, ...]) -> None:
    """Half the mean latency is twice the leaders, never more than four times; who was not measured is at the mean."""
    state = cluster(brokers(3), [topic("t", [1, 2, 3])]).replace(measured={PRODUCE_LATENCY: np.array(latencies)})
    (leaders,) = leaders_by_measurement(load_scores(["latency", "leaders"]))

    assert leaders.score.name == "leaders"
    assert leaders.score.capacity(state) == pytest.approx(capacities, rel=0.01)


def test_weights_count() -> None:
    """Two measured scores are one slowness, by their weights; scores that are not measured stay as they are."""
    measured = {PRODUCE_LATENCY: np.array([1.0, 3.0]), PROMETHEUS_VALUE: np.array([3.0, 1.0])}
    state = cluster(brokers(2), [topic("t", [1, 2])]).replace(measured=measured)
    disk, leaders = leaders_by_measurement(load_scores(["disk", "latency=3", "prometheus=1"]))

    assert disk.score.name == "disk"
    assert leaders.score.capacity(state) == pytest.approx([1 / 0.75, 1 / 1.25])


def test_a_slow_broker_leads_less() -> None:
    """Of 24 partitions a broker of twice the latency of the two others leads half as many, and nothing is copied."""
    rows = [[1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3] for n in range(24)]
    state = cluster(brokers(3), [topic("t", *rows)]).replace(measured={PRODUCE_LATENCY: np.array([0.01, 0.01, 0.02])})
    plan = make_plan(state, PlanOptions(mode=Mode.LEADERS_ONLY, scores=load_scores(["latency"]), tolerance=0.0))

    led = [1 + n % 3 for n in range(24)]
    for change in plan.partitions:
        led[change.partition] = change.replicas[0]
    assert plan.moved_bytes == 0
    assert led.count(3) in {4, 5}
    assert led.count(1) in {9, 10}
