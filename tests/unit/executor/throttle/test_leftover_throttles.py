"""Throttles that nothing uses: found, and removed."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.config_items import ConfigChange, ResourceKind
from kafkabal.errors import PartialFailureError
from kafkabal.executor.safety.cluster_lock import LockLostError
from kafkabal.executor.throttle.leftover_throttles import (
    find_leftover_throttles,
    remove_leftover_throttles,
    throttles_on,
)
from kafkabal.model.topic_partition import TopicPartition


def test_strays(scene: Any) -> None:
    """Unused throttles are listed, those of a moving topic are not; they are removed on request."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    scene.memory.alter_reassignments({TopicPartition("b", 0): (1, 4)})
    found = find_leftover_throttles(scene.memory)
    of = {str(s.resource) for s in found}
    assert of == {"topic a", "topic c"}
    assert remove_leftover_throttles(scene.environment(), found) == ()
    assert find_leftover_throttles(scene.memory) == ()


def test_throttles_that_cannot_be_removed(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named, and the error counts them."""
    found = find_leftover_throttles(scene.memory)
    refused = {found[0].resource: Fault("POLICY_VIOLATION", "not this one")}
    monkeypatch.setattr(scene.memory, "alter_configs", lambda _: refused)
    with pytest.raises(PartialFailureError, match=r"cannot remove 1 of \d throttles"):
        remove_leftover_throttles(scene.environment(), found)


def test_throttles_that_have_changed_since(scene: Any) -> None:
    """Throttles that another tool uses by now, or has changed while a prompt was open, are kept."""
    found = find_leftover_throttles(scene.memory)
    rate = next(t for t in found if t.resource.kind is ResourceKind.BROKER)
    scene.memory.alter_configs([ConfigChange(rate.resource, rate.key, "7")])
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    scene.memory.alter_reassignments({TopicPartition("c", 0): (3, 5)})
    needed = {t for t in found if str(t.resource) in ("topic c", "broker 1", "broker 3", "broker 5")}
    kept = remove_leftover_throttles(scene.environment(), found)
    assert set(kept) == needed | {rate}
    assert {(t.resource, t.key) for t in throttles_on(scene.memory, {t.resource for t in found})} == {
        (t.resource, t.key) for t in kept
    }


def test_a_process_that_was_suspended_deletes_nothing(scene: Any) -> None:
    """A run may have set the same rates again while a process stood still for longer than its session."""
    found = find_leftover_throttles(scene.memory)

    def stand_still(call: Any) -> None:
        if call.method == "configs":
            scene.memory.stop()
            scene.memory.kafka.clock.sleep(60.0)
            scene.memory.resume_process()

    scene.faulty.before.append(stand_still)
    with pytest.raises(LockLostError):
        remove_leftover_throttles(scene.environment(), found)
    assert find_leftover_throttles(scene.memory) == found
