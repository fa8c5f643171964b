"""Metadata that lags behind the controller: no leader is skipped because of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters.cluster_protocol import PartitionStatus
from kafkabal.clusters.simulated.fault_injection import FaultyCluster
from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.run_events import PhaseEntered
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.run_states import Phase, RunOutcome
from kafkabal.model.topic_partition import TopicPartition
from tests.unit.executor.conftest import change


class _Lagging(FaultyCluster):
    """Once, metadata is as before the moves, after the controller has reported them complete."""

    def __init__(self, inner: Any, is_time: Callable[[], bool]) -> None:
        super().__init__(inner)
        self._is_time = is_time
        self._before: Mapping[TopicPartition, PartitionStatus] = inner.partition_status({"a", "b", "c"})

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        now = super().partition_status(topics)
        if not self._before or not self._is_time():
            return now
        before, self._before = self._before, {}
        return before


def test_metadata_that_lags_behind_the_moves(scene: Any) -> None:
    """Leaders are elected, and returned, though the first observation after the moves shows their former replicas."""

    def is_electing() -> bool:
        return bool(scene.recorder.of(PhaseEntered)[-1:] == [PhaseEntered(phase=Phase.ELECTING)])

    result = apply(scene.environment(_Lagging(scene.memory, is_electing)), scene.plan, scene.options)
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()
    scene.recorder.events.clear()
    result = roll_back(scene.environment(_Lagging(scene.memory, is_electing)))
    assert result.outcome is RunOutcome.COMPLETE
    scene.assert_as_at_start()


_OTHER_LEADERS = (
    change("a-0", (3, 2, 1), (1, 2, 3)),
    change("a-2", (1, 2, 3), (2, 1, 3)),
    change("b-0", (2, 1), (1, 2)),
    change("c-0", (1, 3), (3, 1)),
)


@pytest.mark.parametrize("is_rollback", [False, True])
def test_a_stop_between_two_steps_of_elections(scene: Any, is_rollback: bool) -> None:
    """A run with thousands of partitions elects for minutes: a stop ends it at the next step, with no order left
    changed."""
    stop, options = StopSwitch(), replace(scene.options, limits=replace(scene.options.limits, elections_per_s=1))
    scene.plan = replace(scene.plan, partitions=_OTHER_LEADERS)
    if is_rollback:
        apply(scene.environment(), scene.plan, scene.options)
    elected: list[Any] = []

    def stop_at_the_first(call: Any) -> None:
        if call.method == "elect_preferred_leaders":
            elected.append(call)
            stop.request(StopReason.TERMINATE)

    scene.faulty.before.append(stop_at_the_first)
    environment = scene.environment(stop=stop)
    result = roll_back(environment, options=options) if is_rollback else apply(environment, scene.plan, options)
    assert result is not None
    assert (len(elected), result.outcome) == (1, RunOutcome.STOPPED)
    assert "election not attempted" in result.problems.values()
    scene.assert_clean()
    planned = {c.name: c.replicas for c in scene.plan.partitions}
    wanted = {name: found[0] for name, found in scene.placement.items()} if is_rollback else planned
    assert {p: scene.placement_now()[p][0] for p in wanted} == wanted
    resume(scene.environment())
    if is_rollback:
        scene.assert_as_at_start()
    else:
        scene.assert_as_planned()
