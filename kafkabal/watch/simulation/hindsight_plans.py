"""What moves would have cost if every day were known in advance: the yardstick of a simulated watch.

::

    the beginning                                        one plan, if a score is outside the outer band or a broker is
                                                         empty; it aims at the inner one
    a broker that stays dead longer than --dead-after    repaired at once, when that has passed
    the end of a day, with every broker there            one plan, as at the beginning

Copies take no time, and nothing keeps a replica from moving again. What a day brings and reverts costs nothing.

The watch knows the initial state as well, so both plan for it at once: after a day of noise another placement is as
cheap, and it is chance which of the two drifts out of its band first, months later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafkabal.clusters import ReadRequest
from kafkabal.model import ClusterState, TopicPartition
from kafkabal.plan import ANY_DIR, Plan
from kafkabal.planner import Mode, make_plan
from kafkabal.units import DAY_S
from kafkabal.watch.heal_policy import HealLevel
from kafkabal.watch.simulation.simulated_scene import SimulatedScene
from kafkabal.watch.simulation.simulation_case import BrokerFault, FaultKind, SimulationCase
from kafkabal.watch.state_findings import find

_NO_TIME_S = 1.0
"""One step of the simulated clock: a plan made in hindsight is applied at once."""
_ANY_BANDWIDTH_BYTES_PER_S = 1e18
"""At this bandwidth no plan takes longer than that step."""


def hindsight_bytes(state: ClusterState, case: SimulationCase, faults: Sequence[BrokerFault], days: float) -> int:
    """Bytes that one plan a day would have copied."""
    if case.policy.level is not HealLevel.ALL:
        return 0
    return _Hindsight(state, case, faults).play(days)


class _Hindsight:
    def __init__(self, state: ClusterState, case: SimulationCase, faults: Sequence[BrokerFault]) -> None:
        self._case, self._bytes = case, 0
        self._scene = SimulatedScene(state, case, faults, bandwidth_bytes_per_s=_ANY_BANDWIDTH_BYTES_PER_S)
        for fault in faults:
            if fault.kind is FaultKind.DEAD and fault.for_s > case.policy.dead_after_s:
                self._scene.clock.at(fault.at_s + case.policy.dead_after_s + _NO_TIME_S, self._repair)

    def play(self, days: float) -> int:
        clock = self._scene.clock
        self._plan_of_the_day()
        for day in range(1, int(days) + 1):
            clock.sleep(day * DAY_S - clock.monotonic())
            if not self._scene.missing:
                self._plan_of_the_day()
        clock.sleep(days * DAY_S - clock.monotonic())
        return self._bytes

    def _repair(self) -> None:
        state = self._state()
        self._apply(make_plan(state, replace(self._case.policy.scope(state), mode=Mode.REPAIR_ONLY)))

    def _plan_of_the_day(self) -> None:
        state, policy = self._state(), self._case.policy
        found = find(state, policy.outer_tolerance)
        if found.empty or found.imbalanced:
            options = replace(policy.scope(state), tolerance=policy.inner_tolerance)
            self._apply(make_plan(state, replace(options, mode=Mode.ONLY_TO_NEW) if found.empty else options))

    def _state(self) -> ClusterState:
        return self._scene.cluster.read(ReadRequest()).state

    def _apply(self, plan: Plan) -> None:
        cluster, kafka = self._scene.cluster, self._scene.kafka
        cluster.alter_reassignments({change.name: change.replicas for change in plan.partitions})
        self._scene.clock.sleep(_NO_TIME_S)
        cluster.elect_preferred_leaders([change.name for change in plan.partitions])
        for change in plan.partitions:
            partition = kafka.parts.partition(TopicPartition(change.topic, change.partition))
            for broker, path in zip(change.replicas, change.log_dirs, strict=True):
                if path != ANY_DIR and partition is not None and broker in partition.logs:
                    partition.logs[broker].log_dir = path
        self._bytes += plan.moved_bytes
