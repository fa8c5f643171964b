"""What a request that arrived late has left: recognised by what is on the cluster, whatever the run's goal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters import ConfigChange, ConfigOperation, ConfigResource, ReplicaOn, ResourceKind
from kafkabal.errors import BusyError
from kafkabal.executor.execute_run import apply, cancel, roll_back
from kafkabal.executor.safety.late_requests import left_by_late_request
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.find_run import FoundRun, find_run
from kafkabal.executor.state.run_states import Goal, RunOutcome
from kafkabal.model import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, TopicPartition
from tests.unit.executor.conftest import MB, Scene
from tools.model_check.crash_aftermath import find_left, leave
from tools.model_check.disturbances import NOTHING, Disturbance, Kind
from tools.model_check.process_life import Command, Life, Moment
from tools.model_check.world import first_world

A0, B0, B1 = TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("b", 1)
_BROKER_4, _TOPIC_B = ConfigResource(ResourceKind.BROKER, "4"), ConfigResource(ResourceKind.TOPIC, "b")


def _left(scene: Scene, **changes: Any) -> list[str]:
    found = find_run(scene.environment())
    assert isinstance(found, FoundRun)
    return left_by_late_request(scene.memory, found.record, replace(found.state, **changes))


@pytest.fixture
def rolled_back(scene: Scene) -> Scene:
    """A run that was rolled back."""
    apply(scene.environment(), scene.plan, scene.options)
    roll_back(scene.environment())
    assert _left(scene) == []
    return scene


def test_a_complete_run_has_left_nothing(scene: Scene) -> None:
    """Partitions at their target, and configs as found, are no trace of a late request."""
    apply(scene.environment(), scene.plan, scene.options)
    assert _left(scene) == []


def test_throttles(rolled_back: Scene) -> None:
    """A rate and an entry of the run are named; what operators have set is not."""
    ours, theirs = str(10 * MB), "12345"
    changes = [
        ConfigChange(_BROKER_4, FOLLOWER_RATE, ours),
        ConfigChange(ConfigResource(ResourceKind.BROKER, "3"), LEADER_RATE, theirs),
        ConfigChange(_TOPIC_B, FOLLOWER_REPLICAS, "1:7", ConfigOperation.APPEND),
    ]
    rolled_back.memory.alter_configs(changes)
    assert _left(rolled_back) == ["replication rates of broker 4"]
    entry = ConfigChange(ConfigResource(ResourceKind.TOPIC, "a"), FOLLOWER_REPLICAS, "0:4", ConfigOperation.APPEND)
    rolled_back.memory.alter_configs([entry])
    assert _left(rolled_back) == ["replication rates of broker 4", "throttled replicas of topic a"]


@pytest.mark.parametrize("outcome", [RunOutcome.COMPLETE, RunOutcome.STOPPED])
def test_moves_in_flight(rolled_back: Scene, outcome: RunOutcome) -> None:
    """A reassignment to the plan, and a copy between log dirs, whether or not the run was complete."""
    rolled_back.memory.alter_reassignments({A0: (4, 2, 3)})
    rolled_back.memory.move_log_dirs({ReplicaOn("b", 0, 2): "/d1"})
    assert _left(rolled_back, outcome=outcome) == ["placement of a-0", "placement of b-0"]


def test_moves_that_have_arrived(rolled_back: Scene) -> None:
    """A new order takes no time; a cancelled run, and one that failed in part, leave partitions at either end."""
    rolled_back.memory.alter_reassignments({B1: (3, 2)})
    assert _left(rolled_back) == ["placement of b-1"]
    assert _left(rolled_back, goal=Goal.CANCEL) == []
    assert _left(rolled_back, outcome=RunOutcome.PARTIAL) == []


def test_copies_that_have_arrived_in_another_log_dir(rolled_back: Scene) -> None:
    """The replica is then in a log dir in which the rollback has not left it."""
    rolled_back.memory.move_log_dirs({ReplicaOn("b", 0, 2): "/d1"})
    rolled_back.memory.kafka.clock.sleep(3600.0)
    assert _left(rolled_back) == ["placement of b-0"]


def test_moves_of_other_tools(rolled_back: Scene) -> None:
    """What is on its way to a third placement, or is there, is not the run's own."""
    rolled_back.memory.alter_reassignments({A0: (5, 2, 1), B1: (4, 1)})
    assert _left(rolled_back) == []
    rolled_back.memory.kafka.clock.sleep(3600.0)
    assert _left(rolled_back) == []


def test_a_run_that_was_cancelled(make_scene: Callable[[], Scene]) -> None:
    """The same without a throttle, whose run has read no configs."""
    scene = make_scene()
    scene.options = replace(
        scene.options, throttle=replace(scene.options.throttle, bytes_per_s=None, log_dir_bytes_per_s=None)
    )
    environment = scene.crash_before("elect_preferred_leaders")
    cancel(environment)
    assert _left(scene) == []
    scene.memory.alter_reassignments({A0: (1, 2, 3)})
    assert _left(scene) == ["placement of a-0"]


def test_a_process_taken_over_twice_leaves_the_record_to_the_last_one(tmp_path: Path) -> None:
    """Suspended again while it looks for what its late request has left, it does not write over the newer record."""
    world = first_world(2)
    waiting = [Kind.TAKEN_OVER, Kind.ROLLED_BACK]

    def stand_still(moment: Moment) -> Disturbance:
        """Once amid the run, and once after it was complete and this process has the lock again."""
        lock = world.kafka.parts.locks.get("")
        is_amid = lock is not None and lock.owner.startswith("kafkabal on one") and moment.method == "partition_status"
        if not is_amid or len(moment.life.processes) > 1 or not waiting or not _has_begun(moment):
            return NOTHING
        return Disturbance(waiting.pop(0))

    life = Life(world, tmp_path, stand_still)
    ending = life.run(Command.APPLY, "one")
    assert not waiting
    assert isinstance(ending.error, BusyError)
    leave(life, ending)
    found = find_left(world, tmp_path)
    assert found is not None
    assert (found.state.goal, found.state.outcome) == (Goal.ROLL_BACK, RunOutcome.COMPLETE)
    assert not found.is_open


def _has_begun(moment: Moment) -> bool:
    return ClusterRecord(moment.life.processes[-1].client.records()).run_id() is not None
