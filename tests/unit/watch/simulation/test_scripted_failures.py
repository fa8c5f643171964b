"""The failures of a case."""

from __future__ import annotations

from kafkabal.watch.simulation.scripted_failures import faults_of
from kafkabal.watch.simulation.simulation_case import HOUR_S, RandomFaults, SimulationCase


def test_no_broker_fails_at_random_in_a_cluster_without_live_ones() -> None:
    """Random failures are drawn among live brokers; without any there are none, and no error."""
    case = SimulationCase(random_faults=RandomFaults(every_s=HOUR_S, for_s=HOUR_S))

    assert faults_of(case, [1, 2], 100 * HOUR_S)
    assert faults_of(case, [], 100 * HOUR_S) == ()
