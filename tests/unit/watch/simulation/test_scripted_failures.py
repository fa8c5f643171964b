"""The failures of a case."""

from __future__ import annotations

from itertools import pairwise

from kafkabal.watch.simulation.scripted_failures import faults_of
from kafkabal.watch.simulation.simulation_case import HOUR_S, BrokerFault, RandomFaults, SimulationCase


def test_no_broker_fails_at_random_in_a_cluster_without_live_ones() -> None:
    """Random failures are drawn among live brokers; without any there are none, and no error."""
    case = SimulationCase(random_faults=RandomFaults(every_s=HOUR_S, for_s=HOUR_S))

    assert faults_of(case, [1, 2], 100 * HOUR_S)
    assert faults_of(case, [], 100 * HOUR_S) == ()


def test_random_faults_overlap_no_other_fault() -> None:
    """At any time only one broker fails: random faults keep clear of those of the case, and of each other."""
    given = tuple(BrokerFault(broker=1, at_s=hour * HOUR_S, for_s=5 * HOUR_S) for hour in range(0, 1000, 50))
    case = SimulationCase(faults=given, random_faults=RandomFaults(every_s=HOUR_S, for_s=HOUR_S))

    faults = faults_of(case, [1, 2], 1000 * HOUR_S)

    assert len(faults) > 10 * len(given)
    assert all(one.at_s + one.for_s <= other.at_s for one, other in pairwise(faults))
