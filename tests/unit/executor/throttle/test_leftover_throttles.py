"""Throttles that nothing uses: found, and removed."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.clusters.config_items import ConfigResource, ResourceKind
from kafkabal.errors import PartialFailureError
from kafkabal.executor.throttle.leftover_throttles import (
    LeftoverThrottle,
    find_leftover_throttles,
    remove_leftover_throttles,
)
from kafkabal.model.topic_partition import TopicPartition


def test_strays(scene: Any) -> None:
    """Unused throttles are listed, those of a moving topic are not; they are removed on request."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    scene.memory.alter_reassignments({TopicPartition("b", 0): (1, 4)})
    found = find_leftover_throttles(scene.memory)
    of = {str(s.resource) for s in found}
    assert of == {"topic a", "topic c"}
    remove_leftover_throttles(scene.environment(), found)
    assert find_leftover_throttles(scene.memory) == ()
    gone = LeftoverThrottle(ConfigResource(ResourceKind.TOPIC, "none"), "k", "v")
    with pytest.raises(PartialFailureError, match="1 of 1"):
        remove_leftover_throttles(scene.environment(), [gone])
