"""Replicas equal to the union of start and target without a reassignment: only what the cluster lists is in flight."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.executor.execute_run import apply, cancel, roll_back
from kafkabal.executor.reassign.partition_task import LONGEST_LAG_S
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.topic_partition import TopicPartition

_A0 = TopicPartition("a", 0)
"""Planned from 1, 2, 3 to 4, 2, 3."""


def _raise_replication_factor(scene: Any) -> None:
    scene.memory.alter_reassignments({_A0: (4, 2, 3, 1)}, allow_replication_factor_change=True)
    scene.memory.kafka.clock.sleep(600.0)
    assert not scene.memory.kafka.catch_up().moving


def test_rollback_ends_and_leaves_no_throttle(scene: Any) -> None:
    """A partition whose replication factor an operator raised is skipped; the rest is rolled back."""
    apply(scene.environment(), scene.plan, scene.options)
    _raise_replication_factor(scene)
    before = scene.memory.kafka.clock.monotonic()
    result = roll_back(scene.environment())
    assert result.outcome is RunOutcome.PARTIAL
    assert list(result.problems) == ["a-0"]
    assert result.pending == []
    # waited for once: what moves back meanwhile takes less than that
    assert scene.memory.kafka.clock.monotonic() - before < 2 * LONGEST_LAG_S
    assert scene.placement_now()[_A0][0] == (4, 2, 3, 1)
    scene.assert_clean()


@pytest.mark.parametrize("crashed_at", [20, 30])
def test_cancel_ends(scene: Any, crashed_at: int) -> None:
    """``cancel`` of a crashed run does not wait for partitions that no reassignment moves."""
    environment = scene.crash_at(crashed_at)
    scene.memory.kafka.clock.sleep(600.0)
    _raise_replication_factor(scene)
    result = cancel(environment)
    assert (result.problems, result.pending) == ({}, [])
    scene.assert_clean()
