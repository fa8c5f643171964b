"""A request that no run may ever send is stopped before it is sent, and a sound one passes."""

from __future__ import annotations

import pytest

from kafkabal.clusters.config_items import ConfigChange, ConfigOperation, ConfigResource, ConfigSource, ResourceKind
from kafkabal.executor.safety.run_invariants import BrokenInvariantError, RunInvariants
from kafkabal.executor.state.run_record import Original, RunPartition
from kafkabal.executor.state.run_states import Phase, RunState
from kafkabal.model.kafka_configs import FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, Placement
from tests.unit.executor.conftest import run_record

NAME = TopicPartition("t", 0)
BROKER = ConfigResource(ResourceKind.BROKER, "1")
TOPIC = ConfigResource(ResourceKind.TOPIC, "t")


def _invariants(phase: Phase = Phase.MOVING) -> RunInvariants:
    planned = RunPartition(
        topic="t",
        partition=0,
        previous=Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0")),
        replicas=(3, 2),
        log_dirs=(ANY_DIR, ANY_DIR),
        copy_bytes=1,
    )
    original = Original(kind=ResourceKind.BROKER, resource="1", key=LEADER_RATE, value="900", source=ConfigSource.OWN)
    return RunInvariants(run_record(planned, originals=(original,)), RunState(phase=phase, rates={"100"}))


@pytest.mark.parametrize("target", [(3, 2), (2, 1), (1, 2, 3)])
def test_sound_placements(target: tuple[int, ...]) -> None:
    """There, back, and with one replica more on the way."""
    _invariants().check_placement({NAME: target})


@pytest.mark.parametrize(
    ("name", "target", "why"),
    [
        (NAME, (2,), "left with 1 replica"),
        (NAME, (2, 2), "left with 1 replica"),
        (NAME, (2, 4), "that the plan does not name"),
        (TopicPartition("t", 1), (1, 2), "is not part of the run"),
    ],
)
def test_unsound_placements(name: TopicPartition, target: tuple[int, ...], why: str) -> None:
    """Fewer replicas, a third broker, the partition of another tool."""
    with pytest.raises(BrokenInvariantError, match=why):
        _invariants().check_placement({name: target})


@pytest.mark.parametrize(
    "change",
    [
        ConfigChange(BROKER, LEADER_RATE, "100"),
        ConfigChange(BROKER, LEADER_RATE, "900"),
        ConfigChange(TOPIC, LEADER_REPLICAS, "0:1,0:2", ConfigOperation.APPEND),
        ConfigChange(TOPIC, LEADER_REPLICAS, "0:1,0:2,0:3", ConfigOperation.APPEND),
        ConfigChange(TOPIC, FOLLOWER_REPLICAS, "0:3", ConfigOperation.SUBTRACT),
        ConfigChange(TOPIC, LEADER_REPLICAS, None),
        ConfigChange(TOPIC, "retention.ms", "5"),
    ],
)
def test_sound_configs(change: ConfigChange) -> None:
    """A recorded rate, the original one, the run's entries; other keys are not throttles."""
    _invariants().check_configs([change])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (ConfigChange(BROKER, LEADER_RATE, "101"), "to 101: not recorded"),
        (ConfigChange(BROKER, LEADER_RATE, None), "to None: not recorded"),
        (ConfigChange(TOPIC, LEADER_REPLICAS, "0:1"), "replaced as a whole"),
        (ConfigChange(TOPIC, LEADER_REPLICAS, "0:4", ConfigOperation.APPEND), "are not of the run"),
        (ConfigChange(TOPIC, FOLLOWER_REPLICAS, "0:2", ConfigOperation.SUBTRACT), "are not of the run"),
        (
            ConfigChange(ConfigResource(ResourceKind.TOPIC, "u"), LEADER_REPLICAS, "0:1", ConfigOperation.APPEND),
            "not of",
        ),
    ],
)
def test_unsound_configs(change: ConfigChange, why: str) -> None:
    """An unrecorded rate, deletion of an operator's value, a replaced list, other people's entries."""
    with pytest.raises(BrokenInvariantError, match=why):
        _invariants().check_configs([change])


def test_no_change_before_the_run_is_recorded() -> None:
    """No request is sent before the run is recorded."""
    _invariants(Phase.RECORDED).check_begun()
    with pytest.raises(BrokenInvariantError, match=r"^a request before the run is recorded$"):
        _invariants(Phase.PREPARED).check_begun()
