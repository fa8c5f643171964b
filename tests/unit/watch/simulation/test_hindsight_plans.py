"""The plans with which a simulated watch is compared."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
from kafkabal.units import DAY_S
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.simulation import hindsight_plans
from kafkabal.watch.simulation.hindsight_plans import Hindsight, plans_in_hindsight
from kafkabal.watch.simulation.simulation_case import HOUR_S, BrokerFault, SimulationCase

STATE = cluster(brokers(4), [topic("t", *((b % 4 + 1, (b + 1) % 4 + 1) for b in range(40)))])
"""Balanced: 20 replicas of a gigabyte on each of four brokers."""


def case_with(*faults: BrokerFault) -> SimulationCase:
    """A case without growth or noise."""
    return SimulationCase(faults=faults)


def plans_of(case: SimulationCase, days: float) -> Hindsight:
    """Plans on the balanced cluster."""
    return plans_in_hindsight(STATE, case, case.faults, days)


def test_a_return_late_in_the_day_costs_a_repair_and_a_fill_in_the_evening() -> None:
    """One plan a day suffices if it leaves the broker that came back empty for less than 1% of the time."""
    found = plans_of(case_with(BrokerFault(broker=4, at_s=9 * DAY_S + 20 * HOUR_S, for_s=3 * HOUR_S)), 20)

    assert 36 * GB <= found.moved_bytes <= 40 * GB
    assert 0.99 <= found.in_band_fraction < 1


def test_two_failures_in_a_day_cost_two_repairs_and_two_fills() -> None:
    """With one plan a day the broker would be empty for ten hours of ten days, which a watch may not accept either."""
    first = BrokerFault(broker=4, at_s=2 * DAY_S, for_s=2 * HOUR_S)
    second = BrokerFault(broker=4, at_s=2 * DAY_S + 12 * HOUR_S, for_s=2 * HOUR_S)

    found = plans_of(case_with(first, second), 10)

    assert 70 * GB <= found.moved_bytes <= 80 * GB
    assert found.in_band_fraction > 0.999


def test_a_watch_that_may_not_move_replicas_is_compared_with_no_plan() -> None:
    """Bytes of a plan say nothing about a watch that only moves leadership."""
    fault = BrokerFault(broker=4, at_s=DAY_S, for_s=HOUR_S)
    case = SimulationCase(faults=(fault,), policy=HealPolicy(level=HealLevel.LEADERS))

    assert plans_in_hindsight(STATE, case, case.faults, 3) == Hindsight()


def test_no_plan_is_made_while_the_only_broker_is_dead() -> None:
    """A repair for which no broker is left moves nothing, instead of ending the simulation."""
    one = cluster(brokers(1), [topic("t", (1,), (1,))])
    case = case_with(BrokerFault(broker=1, at_s=6 * HOUR_S, for_s=6 * HOUR_S))

    assert plans_in_hindsight(one, case, case.faults, 2) == Hindsight()


def test_a_state_is_evaluated_once_between_two_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once at the beginning, and once after each of the steps of two and a half days, though plans are due each day."""
    evaluated, find = [], hindsight_plans.find

    def counted(*arguments: Any) -> Any:
        evaluated.append(arguments)
        return find(*arguments)

    monkeypatch.setattr(hindsight_plans, "find", counted)
    plans_of(SimulationCase(step_s=6 * HOUR_S), 2.5)

    assert len(evaluated) == 1 + 10
