"""Metadata that lags behind the controller: no leader is passed over for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kafkabal.clusters.cluster_protocol import PartitionStatus
from kafkabal.clusters.simulated.fault_injection import FaultyCluster
from kafkabal.executor.execute_run import apply, roll_back
from kafkabal.executor.run_events import PhaseEntered
from kafkabal.executor.state.run_states import Phase, RunOutcome
from kafkabal.model.topic_partition import TopicPartition


class _Lagging(FaultyCluster):
    """Metadata is once as it was before the moves, after the controller has said that they are over."""

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
    """Leaders are elected, and given back, though the first look after the moves shows their former replicas."""

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
