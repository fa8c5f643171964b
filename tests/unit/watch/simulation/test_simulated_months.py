"""A simulated watch evaluates its cluster only when something has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.units import DAY_S
from kafkabal.watch import watcher
from kafkabal.watch.simulation.simulated_months import _ClusterReadOnChange, simulate
from kafkabal.watch.simulation.simulation_case import HOUR_S, BrokerFault, GrowthTrend, SimulationCase
from kafkabal.watch.simulation.simulation_result import SimulationResult
from kafkabal.watch.state_findings import StateFindings, find

CASE = SimulationCase(
    growth=GrowthTrend(noise=0.3), faults=(BrokerFault(broker=4, at_s=DAY_S, for_s=3 * HOUR_S),), throttle=None
)
STATE = cluster(brokers(4), [topic("t", *((b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)))])


def evaluations_of_three_days(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[SimulationResult, int]:
    """What three days with a repair and a fill give, and how often the scores were evaluated."""
    count = 0

    def counted(*of: Any) -> StateFindings:
        nonlocal count
        count += 1
        return find(*of)

    monkeypatch.setattr(watcher, "find", counted)
    return simulate(STATE, CASE, 3.0, folder), count


def test_a_state_that_has_not_changed_is_evaluated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Events, healings and promises are the same as if each observation read the cluster, in half the evaluations."""
    found, few = evaluations_of_three_days(tmp_path / "on change", monkeypatch)
    monkeypatch.setattr(_ClusterReadOnChange, "read", InMemoryCluster.read)
    always, many = evaluations_of_three_days(tmp_path / "always", monkeypatch)

    assert few < many / 2
    assert len(found.healings) >= 2
    assert [h.plan and h.plan.plan_id for h in found.healings] == [h.plan and h.plan.plan_id for h in always.healings]
    assert [replace(e, run_id=None) for e in found.events] == [replace(e, run_id=None) for e in always.events]
    assert found.promises == always.promises
