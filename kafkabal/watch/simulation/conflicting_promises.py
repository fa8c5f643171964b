"""Promises that conflict with each other in a case, and the figures that show it.

::

    actions at steady state   without the action, scores are outside the outer band for more than 1 % of the time.
                              Shown by: the case again, with the earlier healings only.
    time inside the band      a repair had as few brokers as partitions have replicas, so each took a copy of every
                              partition, and replicas that may not move twice within a day alone exceed the band of one.
                              Shown by: the time inside the band without those hours.
    bytes                     plans of the evening are outside the outer band themselves for more than 1 % of the time.
                              They save by waiting what a day reverts before the evening, such as the fill of a broker
                              that fails again; a watch that waits as long after every return breaks the third promise.
                              Shown by: their time inside the band, and the bytes of one plan a day that does not wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.inspection import inspect_cluster
from kafkabal.model import ClusterState, replica_bytes
from kafkabal.plan import Plan
from kafkabal.planner import kept_replicas
from kafkabal.units import format_duration
from kafkabal.watch.decide_healing import HealKind
from kafkabal.watch.healing_ledger import DAY_S
from kafkabal.watch.outer_band import outer_scores
from kafkabal.watch.simulation.hindsight_plans import EveningPlans, PlansWithoutTime, PromptPlans
from kafkabal.watch.simulation.simulation_case import BrokerFault, SimulationCase
from kafkabal.watch.simulation.simulation_result import (
    LEAST_IN_BAND,
    MOST_BYTES_OF_HINDSIGHT,
    PromiseKind,
    SimulatedHealing,
    SimulationResult,
    bytes_ratio,
)


def with_reasons(
    result: SimulationResult, state: ClusterState, case: SimulationCase, faults: Sequence[BrokerFault]
) -> SimulationResult:
    """The result, with the reason for each promise that is not kept because of another one."""
    scene = _Scene(state, case, faults, result.days)
    reason_of: dict[PromiseKind, Callable[[SimulationResult, _Scene], str]] = {
        PromiseKind.STEADY: _why_actions,
        PromiseKind.BAND: _why_outside,
        PromiseKind.BYTES: _why_bytes,
    }
    unkept = [p.kind for p in result.promises if not p.is_kept and p.kind in reason_of]
    return replace(result, reasons={kind: reason_of[kind](result, scene) for kind in unkept})


@dataclass(frozen=True, slots=True)
class _Scene:
    state: ClusterState
    case: SimulationCase
    faults: Sequence[BrokerFault]
    days: float


def _why_actions(result: SimulationResult, scene: _Scene) -> str:
    """Every action at steady state has to be one without which the bands would be broken."""
    fractions = [_in_band_without(action, result.healings, scene) for action in result.steady_healings]
    if max(fractions) >= LEAST_IN_BAND:
        return ""
    return f"without it, scores would be inside the outer band for {max(fractions):.2%} of the time"


def _in_band_without(action: SimulatedHealing, healings: Sequence[SimulatedHealing], scene: _Scene) -> float:
    earlier = [h for h in healings if h.ended_at_s <= action.at_s]
    replay = _Replay(scene, [(h.ended_at_s, h.plan) for h in earlier if h.plan is not None])
    replay.play(scene.days)
    return replay.in_band.fraction


class _Replay(PlansWithoutTime):
    """The case with these plans and no others; each with the time at which it is applied."""

    def __init__(self, scene: _Scene, plans: Sequence[tuple[float, Plan]]) -> None:
        super().__init__(scene.state, scene.case, scene.faults, measures_band=True)
        for at_s, plan in plans:
            self._scene.clock.at(at_s, lambda p=plan: self._apply(p))  # type: ignore[misc]


def _why_outside(result: SimulationResult, _: _Scene) -> str:
    if result.in_band_where_possible < LEAST_IN_BAND:
        return ""
    return (
        f"for {format_duration(result.held_outside_s)} replicas that may not move for a day exceeded the band of a "
        f"broker, after a repair with as few brokers as replicas; {result.in_band_where_possible:.2%} of the other time"
    )


def is_held_outside(
    state: ClusterState, healings: Sequence[SimulatedHealing], at_s: float, outer_tolerance: float
) -> bool:
    """Whether no move could bring every broker inside: what may not move yet exceeds the band of one by itself.

    Only counts if a repair was cramped within the day: otherwise other copies could have been made.
    """
    recent = [h for h in healings if h.plan is not None and h.ended_at_s > at_s - DAY_S]
    if not any(h.is_cramped for h in recent):
        return False
    rests = kept_replicas(state, tuple(h.plan for h in recent if h.plan is not None))
    broker, bytes_ = state.replicas.broker, replica_bytes(state)
    held, resting = (np.bincount(broker[of], bytes_[of], len(state.brokers)) for of in (np.ones_like(rests), rests))
    (disk,) = (
        scored.evaluation
        for scored in inspect_cluster(state, outer_scores(state, outer_tolerance), tolerance=outer_tolerance).scored
        if scored.score.name == "disk"
    )
    return bool((disk.share * resting > (1 + outer_tolerance) * held).any())


def is_cramped(kind: HealKind, plan: Plan, live_brokers: int) -> bool:
    """Whether a repair left no choice: each broker had to take a copy of each partition."""
    return kind is HealKind.REPAIR and live_brokers <= max(len(change.replicas) for change in plan.partitions)


def _why_bytes(result: SimulationResult, scene: _Scene) -> str:
    prompt = PromptPlans(scene.state, scene.case, scene.faults)
    prompt.play(scene.days)
    ratio = bytes_ratio(result.moved_bytes, prompt.moved_bytes)
    if ratio > MOST_BYTES_OF_HINDSIGHT:
        return ""
    evenings = EveningPlans(scene.state, scene.case, scene.faults, measures_band=True)
    evenings.play(scene.days)
    if evenings.in_band.fraction >= LEAST_IN_BAND:
        return ""
    return (
        f"plans of the evening are inside the outer band for {evenings.in_band.fraction:.2%} of the time; "
        f"{ratio:.2f} times the bytes of one plan a day that does not wait"
    )
