"""Reassignments of another tool: found, described, and taken over as a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafkabal.errors import UsageError
from kafkabal.executor.adopt_run import adopt, find_foreign, throttles_left, throttles_set
from kafkabal.executor.run_events import Started
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_states import Goal, RunOutcome
from kafkabal.model import ClusterState, TopicPartition
from kafkabal.plan import ANY_DIR, Placement
from tests.unit.executor.conftest import FOLLOWER_REPLICAS, LEADER_REPLICAS, MB

_B0, _C0 = TopicPartition("b", 0), TopicPartition("c", 0)


def _started_elsewhere(scene: Any) -> None:
    """Another tool moves b-0 from 1, 2 to 4, 1 and c-0 from 3, 1 to 5, 4, slowly."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    assert not scene.memory.alter_reassignments({_C0: (5, 4), _B0: (4, 1)})


def test_reassignments_of_another_tool(scene: Any) -> None:
    """By name: where the partition was before, its leader, and the bytes of its copies."""
    assert find_foreign(scene.environment()) == ()
    _started_elsewhere(scene)
    b, c = find_foreign(scene.environment())
    assert (b.name, b.before, b.reassignment.target, b.leader) == (_B0, (1, 2), (4, 1), 1)
    assert (c.name, c.before, c.reassignment.target, c.leader) == (_C0, (3, 1), (5, 4), 3)
    assert (b.copy_bytes, b.moved_bytes) == (30 * MB, 30 * MB)
    assert (c.copy_bytes, c.moved_bytes) == (10 * MB, 20 * MB)


def test_bytes_that_have_arrived_are_not_left(scene: Any) -> None:
    """The other tool has copied for a while: its reassignments, and the run that takes them over, copy the rest."""
    _started_elsewhere(scene)
    scene.memory.kafka.bandwidth_bytes_per_s = 1e6
    scene.memory.kafka.clock.sleep(5.0)
    environment = scene.environment()
    foreign = find_foreign(environment)
    assert {f.name: f.moved_bytes - f.left_bytes for f in foreign} == {_B0: 2.5 * MB, _C0: 5 * MB}
    adopt(environment, foreign, scene.options, cancels=False)
    (started,) = scene.recorder.of(Started)
    assert (started.goal, started.partitions, started.copy_bytes) == (Goal.APPLY, 2, 42.5 * MB)


def test_a_partition_without_a_leader(scene: Any) -> None:
    """It is found all the same."""
    _started_elsewhere(scene)
    scene.memory.kafka.kill(3)
    scene.memory.kafka.kill(1)
    _, c = find_foreign(scene.environment())
    assert (c.name, c.leader) == (_C0, -1)


def test_reassignments_of_an_open_run_are_not_foreign(scene: Any) -> None:
    """Those of its partitions, whichever tool started them; once it is closed, all of them are."""
    scene.plan = scene.plan.__class__(partitions=scene.plan.partitions[-1:], cluster_id="simulated")
    environment = scene.crash_before("alter_reassignments")
    _started_elsewhere(scene)
    assert [f.name for f in find_foreign(environment)] == [_B0]
    assert not scene.memory.alter_reassignments({_B0: None})
    assert find_foreign(environment) == ()


def test_throttles_of_its_brokers_and_topics(scene: Any) -> None:
    """Those of brokers that take part and of its topics; left are those that nothing in flight needs."""
    _started_elsewhere(scene)
    foreign = find_foreign(scene.environment())
    of_b = [f for f in foreign if f.name == _B0]
    assert {str(t.resource) for t in throttles_set(scene.environment(), of_b)} == {"broker 1", "broker 2", "broker 4"}
    set_now = {(str(t.resource), t.key) for t in throttles_set(scene.environment(), foreign)}
    assert ("topic c", FOLLOWER_REPLICAS) in set_now
    assert ("topic a", LEADER_REPLICAS) not in set_now
    assert throttles_left(scene.environment(), foreign) == ()
    assert not scene.memory.alter_reassignments({_C0: None})
    assert {str(t.resource) for t in throttles_left(scene.environment(), foreign)} == {"topic c"}


def test_reassignments_are_taken_over_and_finished(scene: Any) -> None:
    """The run waits for them, and its record says what was moved, from where and by whom."""
    _started_elsewhere(scene)
    environment = scene.environment()
    foreign = find_foreign(environment)
    scene.memory.kafka.bandwidth_bytes_per_s = 1e7
    result = adopt(environment, foreign, scene.options, cancels=False)
    assert (result.outcome, result.problems) == (RunOutcome.COMPLETE, {})
    assert [scene.placement_now()[name][0] for name in (_B0, _C0)] == [(4, 1), (5, 4)]
    found = find_run(environment)
    assert found is not None
    assert found.record.why == "adopted from another tool"
    assert found.state.goal is Goal.APPLY
    b, c = found.record.partitions
    assert b.previous == Placement(replicas=(1, 2), leader=1, log_dirs=(ANY_DIR, ANY_DIR))
    assert (c.replicas, c.log_dirs, c.copy_bytes) == ((5, 4), (ANY_DIR, ANY_DIR), 10 * MB)
    scene.assert_clean()


def test_reassignments_are_taken_over_and_cancelled(scene: Any) -> None:
    """They are back where they were before; a lock that is held already is used, and freed at the end."""
    _started_elsewhere(scene)
    environment = scene.environment()
    lock = lock_cluster(environment, 30.0)
    adopt(environment, find_foreign(environment), scene.options, cancels=True, lock=lock)
    assert [event.goal for event in scene.recorder.of(Started)] == [Goal.CANCEL]
    assert scene.memory.lock_holders() == ()
    found = find_run(environment)
    assert found is not None
    assert found.state.goal is Goal.CANCEL
    scene.assert_as_at_start()


def test_nothing_to_take_over(scene: Any) -> None:
    """None was found, or those found have been cancelled since and are where they were."""
    environment = scene.environment()
    with pytest.raises(UsageError, match="no reassignment of another tool in flight"):
        adopt(environment, (), scene.options, cancels=False)
    _started_elsewhere(scene)
    foreign = find_foreign(environment)
    scene.memory.kafka.bandwidth_bytes_per_s = 1e9
    scene.memory.kafka.clock.sleep(600.0)
    result = adopt(environment, foreign, scene.options, cancels=False)
    assert result.outcome is RunOutcome.COMPLETE


def test_what_metadata_does_not_show_yet(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that the metadata lacks has no leader; a copy of unknown size counts no bytes."""
    _started_elsewhere(scene)
    monkeypatch.setattr(scene.memory, "partition_status", lambda _: {})
    assert [f.leader for f in find_foreign(scene.environment())] == [-1, -1]
    unknown = scene.environment(completed=lambda state: state.replace(replicas=_without_sizes(state)))
    assert [(f.copy_bytes, f.moved_bytes) for f in find_foreign(unknown)] == [(0, 0), (0, 0)]


def _without_sizes(state: ClusterState) -> Any:
    return replace(state.replicas, size_bytes=np.full_like(state.replicas.size_bytes, -1))
