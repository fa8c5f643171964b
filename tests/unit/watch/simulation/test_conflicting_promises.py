"""Only another promise excuses one that is not kept, and only as far as it stood in the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.plan import Plan
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from kafkabal.watch.decide_healing import HealKind
from kafkabal.watch.simulation.conflicting_promises import is_cramped, is_held_outside, with_reasons
from kafkabal.watch.simulation.hindsight_plans import PromptPlans, hindsight_bytes
from kafkabal.watch.simulation.simulation_case import DAY_S, HOUR_S, BrokerFault, SimulationCase
from kafkabal.watch.simulation.simulation_result import PromiseKind, SimulatedHealing, SimulationResult

CASE = SimulationCase(step_s=6 * HOUR_S)
RESULT = SimulationResult(
    days=2.0,
    observations=1,
    events=(),
    healings=(),
    in_band_fraction=1.0,
    in_band_where_possible=1.0,
    held_outside_s=0.0,
)


def healing(kind: HealKind, plan: Plan, at_s: float = 0.0, *, is_steady: bool = False) -> SimulatedHealing:
    """One that ends when it begins."""
    return SimulatedHealing(
        at_s=at_s,
        ended_at_s=at_s,
        kind=kind,
        reason="",
        moved_bytes=plan.moved_bytes,
        plan=plan,
        dead=frozenset(),
        outcome="done",
        is_steady=is_steady,
        is_cramped=is_cramped(kind, plan, 3),
    )


def uneven(largest: int) -> ClusterState:
    """Three brokers; one leads a partition of this size, the others hold 10 GB each."""
    rows = [partition(n, [n + 1], size) for n, size in enumerate((largest, 10 * GB, 10 * GB))]
    return cluster(brokers(3), [TopicRow(topic="t", partitions=rows)])


@pytest.mark.parametrize(("largest_gb", "is_needed"), [(20, True), (11, False)])
def test_an_action_at_steady_state_is_excused_only_if_the_band_needs_it(largest_gb: int, *, is_needed: bool) -> None:
    """The case without the action shows whether the other promise would have been broken."""
    state = uneven(largest_gb * GB)
    action = healing(HealKind.REBALANCE, make_plan(state, PlanOptions()), DAY_S, is_steady=True)
    result = replace(RESULT, healings=(action,), hindsight_bytes=action.moved_bytes)

    (promise,) = (p for p in with_reasons(result, state, CASE, ()).promises if p.kind is PromiseKind.STEADY)

    assert not promise.is_kept
    assert promise.is_broken is not is_needed


def refilled() -> tuple[ClusterState, SimulationCase, tuple[BrokerFault, ...]]:
    """A broker that comes back empty, is filled, and dies again before the evening."""
    rows = [partition(n, (n % 4 + 1, (n + 1) % 4 + 1), 10 * GB) for n in range(16)]
    faults = tuple(BrokerFault(broker=1, at_s=at_s * HOUR_S, for_s=2 * HOUR_S) for at_s in (1.0, 12.0))
    return cluster(brokers(4), [TopicRow(topic="t", partitions=rows)]), replace(CASE, faults=faults), faults


@pytest.mark.parametrize(("times", "is_excused"), [(1.0, True), (1.2, False)])
def test_bytes_are_excused_up_to_those_of_plans_that_do_not_wait(times: float, *, is_excused: bool) -> None:
    """Plans of the evening save the fill of a broker that fails again, since they leave it empty all day."""
    state, case, faults = refilled()
    prompt = PromptPlans(state, case, faults)
    prompt.play(RESULT.days)
    evening_bytes = hindsight_bytes(state, case, faults, RESULT.days)
    any_healing = healing(HealKind.FILL, make_plan(uneven(20 * GB), PlanOptions()))
    moved = replace(any_healing, moved_bytes=int(times * prompt.moved_bytes))
    result = replace(RESULT, healings=(moved,), hindsight_bytes=evening_bytes)

    (promise,) = (p for p in with_reasons(result, state, case, faults).promises if p.kind is PromiseKind.BYTES)

    assert prompt.moved_bytes > 1.1 * evening_bytes
    assert promise.is_broken is not is_excused


def test_no_time_outside_is_excused_unless_a_repair_had_no_choice() -> None:
    """What was filled and then repaired onto one broker must stay for a day; a day later it may move."""
    rows = [partition(n, (n % 3 + 1, (n + 1) % 3 + 1, (n + 2) % 3 + 1), 10 * GB) for n in range(24)]
    empty = cluster(brokers(4), [TopicRow(topic="t", partitions=rows)])
    fill = make_plan(empty, PlanOptions(mode=Mode.ONLY_TO_NEW))
    filled = apply_plan(empty, fill)
    repair = make_plan(filled, PlanOptions(mode=Mode.REPAIR_ONLY, drain=frozenset({1})))
    state = apply_plan(filled, repair)
    done = (healing(HealKind.FILL, fill), healing(HealKind.REPAIR, repair))

    assert is_held_outside(state, done, HOUR_S, 0.20)
    assert not is_held_outside(state, done, DAY_S, 0.20)
    assert not is_held_outside(state, (done[0], replace(done[1], is_cramped=False)), HOUR_S, 0.20)
    assert not is_held_outside(filled, done[:1], HOUR_S, 0.20)


def test_time_outside_is_excused_only_if_the_rest_of_the_time_is_inside() -> None:
    """Hours in which nothing could be done do not excuse others."""
    outside = replace(RESULT, in_band_fraction=0.95, held_outside_s=DAY_S)

    for where_possible, is_broken in ((0.995, False), (0.98, True)):
        result = replace(outside, in_band_where_possible=where_possible)
        (promise,) = (p for p in with_reasons(result, uneven(GB), CASE, ()).promises if p.kind is PromiseKind.BAND)
        assert promise.is_broken is is_broken
