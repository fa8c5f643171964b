"""A topic that is deleted and created again under its name is another topic."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import partition


def _recreate(scene: Any, *replicas: int) -> None:
    scene.memory.kafka.delete_topic("b")
    scene.memory.kafka.add_topic(TopicRow(topic="b", partitions=[partition(n, list(replicas), 0) for n in (0, 1)]))
    del scene.configs["topic b"]


def test_rollback_leaves_the_new_topic_alone(scene: Any) -> None:
    """The new topic stays where it was created, though the old one was moved to the same place."""
    apply(scene.environment(), scene.plan, scene.options)
    _recreate(scene, 3, 2)
    result = roll_back(scene.environment())
    assert result.outcome is RunOutcome.COMPLETE
    assert scene.placement_now()[TopicPartition("b", 1)][0] == (3, 2)


@pytest.mark.parametrize("crashed_at", [20, 30])
def test_resume_leaves_the_new_topic_alone(scene: Any, crashed_at: int) -> None:
    """A crashed run does not move a topic that was created since."""
    environment = scene.crash_at(crashed_at)
    _recreate(scene, 2, 3)
    resume(environment)
    assert scene.placement_now()[TopicPartition("b", 1)][0] == (2, 3)
