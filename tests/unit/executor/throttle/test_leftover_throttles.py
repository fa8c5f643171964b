"""Throttles that nothing uses: found, and removed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kafkabal.clusters.cluster_protocol import Fault, ReplicaOn
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import PartialFailureError
from kafkabal.executor.execute_run import apply, roll_back
from kafkabal.executor.safety.cluster_lock import LockLostError
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.executor.throttle.leftover_throttles import (
    find_leftover_throttles,
    remove_leftover_throttles,
    throttles_on,
)
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS
from kafkabal.model import FOLLOWER_RATE, LOG_DIR_RATE
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def test_strays(scene: Any) -> None:
    """Unused throttles are listed, those of a moving topic are not; they are removed on request."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    scene.memory.alter_reassignments({TopicPartition("b", 0): (1, 4)})
    found = find_leftover_throttles(scene.memory).found
    of = {str(s.resource) for s in found}
    assert of == {"topic a", "topic c"}
    assert remove_leftover_throttles(scene.environment(), found) == ()
    assert find_leftover_throttles(scene.memory).found == ()


def test_throttles_that_cannot_be_removed(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named, and the error counts them."""
    found = find_leftover_throttles(scene.memory).found
    refused = {found[0].resource: Fault("POLICY_VIOLATION", "not this one")}
    monkeypatch.setattr(scene.memory, "alter_configs", lambda _: refused)
    with pytest.raises(PartialFailureError, match=r"cannot remove 1 of \d throttles") as failed:
        remove_leftover_throttles(scene.environment(), found)
    assert failed.value.failures == tuple((str(resource), str(fault)) for resource, fault in refused.items())


def test_throttles_that_have_changed_since(scene: Any) -> None:
    """Throttles that another tool uses by now, or has changed while a prompt was open, are kept."""
    found = find_leftover_throttles(scene.memory).found
    rate = next(t for t in found if t.resource.kind is ResourceKind.BROKER)
    scene.memory.alter_configs([ConfigChange(rate.resource, rate.key, "7")])
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    scene.memory.alter_reassignments({TopicPartition("c", 0): (3, 5)})
    needed = {t for t in found if str(t.resource) in ("topic c", "broker 1", "broker 3", "broker 5")}
    kept = remove_leftover_throttles(scene.environment(), found)
    assert set(kept) == needed | {rate}
    assert {(t.resource, t.key) for t in throttles_on(scene.memory, {t.resource for t in found}).found} == {
        (t.resource, t.key) for t in kept
    }


def test_a_process_that_was_suspended_deletes_nothing(scene: Any) -> None:
    """A run may have set the same rates again while a process stood still for longer than its session."""
    found = find_leftover_throttles(scene.memory).found

    def stand_still(call: Any) -> None:
        if call.method == "configs":
            scene.memory.stop()
            scene.memory.kafka.clock.sleep(60.0)
            scene.memory.resume_process()

    scene.faulty.before.append(stand_still)
    with pytest.raises(LockLostError):
        remove_leftover_throttles(scene.environment(), found)
    assert find_leftover_throttles(scene.memory).found == found


def _removes(scene: Any) -> Any:
    return msgspec.structs.replace(scene.options, removes_found_throttles=True)


def _throttles(scene: Any) -> dict[str, set[str]]:
    """Keys of the throttles that are set, by owner."""
    keys = {*RATE_KEYS, *LIST_KEYS}
    found = {owner: keys & configs.keys() for owner, configs in scene.configs_now().items() if owner != "default"}
    return {owner: own for owner, own in found.items() if own}


def test_a_run_removes_the_throttles_that_it_found(scene: Any) -> None:
    """Of its brokers and topics, unless they changed meanwhile; a later rollback does not restore them."""
    rate = ConfigChange(ConfigResource(ResourceKind.BROKER, "4"), FOLLOWER_RATE, "699000000")
    assert set(_throttles(scene)) == {"broker 1", "broker 2", "broker 4", "topic a", "topic c"}
    scene.memory.kafka.clock.at(3.0, lambda: scene.memory.alter_configs([rate]))
    result = apply(scene.environment(), scene.plan, _removes(scene))
    assert result is not None
    assert (result.outcome, result.pending) == (RunOutcome.COMPLETE, [])
    assert _throttles(scene) == {"broker 4": {FOLLOWER_RATE}}
    assert scene.configs_now()["broker 4"][FOLLOWER_RATE] == "699000000"
    roll_back(scene.environment())
    assert _throttles(scene) == {"broker 4": {FOLLOWER_RATE}}


def test_throttles_that_a_run_cannot_remove(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are named, with the tool's resource and the reason."""
    alter = scene.memory.alter_configs

    def refuse(changes: Any) -> Any:
        refused = {c.resource for c in changes if str(c.resource) == "topic c" and c.value is None}
        faults = alter([c for c in changes if c.resource not in refused])
        return {**faults, **dict.fromkeys(refused, Fault("POLICY_VIOLATION", "no"))}

    monkeypatch.setattr(scene.memory, "alter_configs", refuse)
    result = apply(scene.environment(), scene.plan, _removes(scene))
    assert result is not None
    assert f"throttles of another tool on topic c: {Fault('POLICY_VIOLATION', 'no')}" in result.pending


def test_a_lock_that_is_held_is_used_and_released(scene: Any) -> None:
    """The same for one that is taken for the request."""
    for lock in (lock_cluster(scene.environment(), 30.0), None):
        remove_leftover_throttles(scene.environment(), (), lock=lock)
        assert scene.memory.lock_holders() == ()


def test_a_rate_between_log_dirs_is_used_while_copies_run() -> None:
    """A copy between log dirs of one broker is no reassignment, but its throttle is in use until it ends."""
    memory = InMemoryCluster.of(cluster(brokers(2, dirs=2), [topic("t", (1, 2))]))
    rates = [ConfigChange(ConfigResource(ResourceKind.BROKER, b), LOG_DIR_RATE, "1000") for b in ("1", "2")]
    assert not memory.alter_configs(rates)
    memory.kafka.bandwidth_bytes_per_s = 1.0
    assert not memory.move_log_dirs({ReplicaOn("t", 0, 1): "/d1"})
    assert [str(t.resource) for t in find_leftover_throttles(memory).found] == ["broker 2"]
    among = {change.resource for change in rates}
    assert [str(t.resource) for t in find_leftover_throttles(memory, among).found] == ["broker 2"]
