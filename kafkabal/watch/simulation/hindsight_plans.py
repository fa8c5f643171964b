"""What moves would have cost if every day were known in advance: the yardstick of a simulated watch.

::

    the beginning                                        one plan, if a score is outside the outer band or a broker is
                                                         empty; it aims at the inner one
    a broker that stays dead longer than --dead-after    repaired at once, when that has passed
    the end of a day, with every broker there            one plan, as at the beginning

A moment without a feasible plan, such as one at which all brokers are dead, moves nothing.

Copies take no time, and nothing keeps a replica from moving again. What a day brings and reverts costs nothing.

If that leaves scores outside the outer band for longer than a watch may, its bytes cannot be compared with those
of a watch that keeps them inside. Then plans are made after every change with every broker there, not only at the end
of a day.

The watch knows the initial state as well, so both plan for it at once: after a day of noise another placement is as
cheap, and it is chance which of the two drifts out of its band first, months later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from kafkabal.clusters import ReadRequest
from kafkabal.errors import InfeasibleError
from kafkabal.model import ClusterState, TopicPartition
from kafkabal.plan import ANY_DIR, Plan
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.units import DAY_S
from kafkabal.watch.heal_policy import HealLevel
from kafkabal.watch.simulation.simulated_scene import SimulatedScene
from kafkabal.watch.simulation.simulation_case import BrokerFault, FaultKind, SimulationCase
from kafkabal.watch.simulation.simulation_result import LEAST_IN_BAND
from kafkabal.watch.simulation.time_in_band import TimeInBand
from kafkabal.watch.state_findings import StateFindings, find

_NO_TIME_S = 1.0
"""One step of the simulated clock: a plan made in hindsight is applied at once."""
_ANY_BANDWIDTH_BYTES_PER_S = 1e18
"""At this bandwidth no plan takes longer than that step."""


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What plans made in hindsight would have cost, and reached."""

    moved_bytes: int = 0
    in_band_fraction: float = 1.0
    """Fraction of the time with every broker there and well in which no score was outside the outer band."""


def plans_in_hindsight(
    state: ClusterState, case: SimulationCase, faults: Sequence[BrokerFault], days: float
) -> Hindsight:
    """One plan a day; one after each change if a plan a day does not keep scores inside the outer band."""
    if case.policy.level is not HealLevel.ALL:
        return Hindsight()
    daily = _SimulatedPlans(state, case, faults).play(days)
    if daily.in_band_fraction >= LEAST_IN_BAND:
        return daily
    return _SimulatedPlans(state, case, faults, after_each_change=True).play(days)


class _SimulatedPlans:
    def __init__(
        self,
        state: ClusterState,
        case: SimulationCase,
        faults: Sequence[BrokerFault],
        *,
        after_each_change: bool = False,
    ) -> None:
        self._case, self._after_each_change = case, after_each_change
        self._scene = SimulatedScene(
            state, case, faults, self._on_change, bandwidth_bytes_per_s=_ANY_BANDWIDTH_BYTES_PER_S
        )
        self._bytes, self._to_plan_at_s = 0, math.inf
        self._found: tuple[ClusterState, StateFindings] | None = None
        self._time_in_band = TimeInBand()
        for fault in faults:
            if fault.kind is FaultKind.DEAD and fault.for_s > case.policy.dead_after_s:
                self._scene.clock.at(fault.at_s + case.policy.dead_after_s + _NO_TIME_S, self._repair)

    def play(self, days: float) -> Hindsight:
        clock = self._scene.clock
        self._plan()
        for day in range(1, int(days) + 1):
            clock.sleep(day * DAY_S - clock.monotonic())
            self._plan()
        clock.sleep(days * DAY_S - clock.monotonic())
        self._measure()
        return Hindsight(self._bytes, self._time_in_band.fraction)

    def _on_change(self, _is_sudden: bool) -> None:
        self._found = None
        if self._after_each_change:
            # after the step in which an earlier plan may be applied, whose moves would be planned a second time; once
            # for all changes of one moment
            self._to_plan_at_s = self._scene.clock.monotonic() + 2 * _NO_TIME_S
            self._scene.clock.at(self._to_plan_at_s, self._plan_after_change)
        self._measure()

    def _plan_after_change(self) -> None:
        if self._to_plan_at_s <= self._scene.clock.monotonic():
            self._to_plan_at_s = math.inf
            self._plan()

    def _measure(self) -> None:
        is_counted = not (self._scene.missing or self._scene.slow)
        is_in_band = not (is_counted and self._find()[1].imbalanced)
        self._time_in_band.find(self._scene.clock.monotonic(), is_counted=is_counted, is_in_band=is_in_band)

    def _repair(self) -> None:
        state, _ = self._find()
        self._plan_and_apply(state, replace(self._case.policy.scope(state), mode=Mode.REPAIR_ONLY))

    def _plan(self) -> None:
        if not self._scene.missing:
            (state, found), policy = self._find(), self._case.policy
            if found.empty or found.imbalanced:
                options = replace(policy.scope(state), tolerance=policy.inner_tolerance)
                self._plan_and_apply(state, replace(options, mode=Mode.ONLY_TO_NEW) if found.empty else options)
        self._measure()

    def _find(self) -> tuple[ClusterState, StateFindings]:
        """The state and what is wrong with it, read once between two changes: evaluating it takes most of the time."""
        if self._found is None:
            state = self._scene.cluster.read(ReadRequest()).state
            self._found = state, find(state, self._case.policy.outer_tolerance)
        return self._found

    def _plan_and_apply(self, state: ClusterState, options: PlanOptions) -> None:
        # the watch reports this, and goes on as well
        with suppress(InfeasibleError):
            self._apply(make_plan(state, options))

    def _apply(self, plan: Plan) -> None:
        cluster, kafka = self._scene.cluster, self._scene.kafka
        cluster.alter_reassignments({change.name: change.replicas for change in plan.partitions})
        self._found = None
        self._scene.clock.sleep(_NO_TIME_S)
        cluster.elect_preferred_leaders([change.name for change in plan.partitions])
        for change in plan.partitions:
            partition = kafka.parts.partition(TopicPartition(change.topic, change.partition))
            for broker, path in zip(change.replicas, change.log_dirs, strict=True):
                if path != ANY_DIR and partition is not None and broker in partition.logs:
                    partition.logs[broker].log_dir = path
        self._found = None
        self._bytes += plan.moved_bytes
