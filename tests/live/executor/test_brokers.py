"""Brokers and controllers that die or hang during a run: the rest continues; what is left is named and made up for."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient
from msgspec.structs import replace

from kafkabal.clusters.cluster_protocol import NewTopic
from kafkabal.executor.run_options import RunOptions, Timeouts
from kafkabal.executor.state.journal_records import EffectKind, Intended
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement
from tests.live.executor.hosts import Process
from tests.live.executor.scenery import LONGEST_S, RECORD_BYTES, fill
from tests.live.executor.stage import Stage

_LOST = 4
"""The broker that is killed or paused; four partitions are to come to it, and it has a throttle of its own."""
_OTHERS = (1, 2, 3)


def _impatient(stage: Stage, broker_return_s: float) -> RunOptions:
    """Slow moves, and brokers that are missed after two seconds."""
    timeouts = Timeouts(poll_s=0.25, broker_grace_s=2.0, broker_return_s=broker_return_s)
    return replace(stage.slow, timeouts=timeouts)


def _lose_broker(stage: Stage, how: str, options: RunOptions, controllers: tuple[str, ...] = ()) -> Process:
    """Disable a broker while a copy to it is in flight, and check that the rest continues."""
    process = stage.begin(options, controllers=controllers)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    {"killed": stage.sandbox.kill, "paused": stage.sandbox.pause}[how](_LOST)
    stage.hasten()
    stage.until(lambda: _is_called_back(stage))
    stage.until(lambda: _replicas(stage, 1) == (3, 2))
    return process


def _is_called_back(stage: Stage) -> bool:
    """Whether the move to the lost broker was cancelled."""
    asked = [r for r in stage.records() if isinstance(r, Intended) and r.kind is EffectKind.CANCEL]
    return any(str(stage.moving(0)) in r.items for r in asked) and not stage.in_flight(stage.moving(0))


def _replicas(stage: Stage, number: int) -> tuple[int, ...]:
    return stage.cluster.partition_status([stage.moves])[stage.moving(number)].replicas


@pytest.mark.parametrize("how", ["killed", pytest.param("paused", marks=pytest.mark.sweep)])
def test_broker_that_comes_back(stage: Stage, how: str) -> None:
    """Moves to a lost broker are postponed while the rest continues, and completed when it is back."""
    process = _lose_broker(stage, how, _impatient(stage, broker_return_s=120.0))
    assert process.popen.poll() is None
    stage.sandbox.start(_LOST)
    code, said = process.end()
    assert code == 0, said
    stage.assert_as_planned()


@pytest.mark.parametrize(
    ("how", "then"), [pytest.param("killed", "resume", marks=pytest.mark.sweep), ("paused", "repair")]
)
def test_broker_that_stays_away(stage: Stage, how: str, then: str) -> None:
    """The run ends incomplete (1) and names it and its throttles, without other throttles left; later those are
    restored."""
    code, said = _lose_broker(stage, how, _impatient(stage, broker_return_s=4.0)).end()
    assert code == 1
    assert "still set: replication rates of broker 4" in said
    assert all(f"{stage.moving(n)}', 'broker 4 is dead" in said for n in (0, 2, 3)), said
    stage.assert_configs({r: v for r, v in stage.configs.items() if r.name != str(_LOST)}, _OTHERS)
    stage.sandbox.start(_LOST)
    if then == "repair":
        stage.execute("repair")
        stage.assert_clean()
    stage.finish("resume")
    stage.assert_as_planned()


@pytest.mark.sweep
def test_broker_that_keeps_its_replicas_stays_away(stage: Stage) -> None:
    """Kafka completes no move while a replica that stays is dead: the run says so and ends, nothing in flight."""
    # the largest move, which would be the first, takes a minute at the slow rate
    stage.plan = stage.plan_of(
        *{TopicPartition(c.topic, c.partition) for c in stage.plan.partitions} - {stage.moving(0)}
    )
    process = stage.begin(_impatient(stage, broker_return_s=4.0))
    stage.until(lambda: stage.in_flight(stage.moving(1)))
    stage.sandbox.kill(2)
    # while the controller counts it as in sync, a copy that ends at once ends the move too
    stage.until(lambda: 2 not in stage.in_sync(stage.moving(1)))
    stage.hasten()
    code, said = process.end()
    assert code == 1
    assert f"('{stage.moving(1)}', 'broker 2 is dead')" in said
    assert not stage.cluster.reassignments()
    stage.sandbox.start(2)
    stage.finish("resume")
    stage.assert_as_planned()


def _lose_only_copy(stage: Stage) -> tuple[TopicPartition, tuple[int, str]]:
    """Kill broker 2 while the only copy of a partition moves from it to broker 3; returns how the run ends."""
    name = TopicPartition(f"{stage.moves}-only", 0)
    assert not stage.cluster.create_topics([NewTopic(name=name.topic, assignment=((2,),))])
    stage.until(lambda: name in stage.cluster.partition_status([name.topic]))
    fill(stage.sandbox.bootstrap_servers, {name: 80})
    stage.sizes[name.topic] = (80 * RECORD_BYTES,)
    stage.configs = stage.found_configs()
    before = Placement(replicas=(2,), leader=2, log_dirs=(ANY_DIR,))
    only = PartitionChange(topic=name.topic, partition=0, replicas=(3,), log_dirs=(ANY_DIR,), previous=before)
    plan = replace(stage.plan, partitions=(only, *stage.plan_of(stage.moving(0)).partitions))

    process = stage.begin(_impatient(stage, broker_return_s=4.0), plan=plan)
    stage.until(lambda: stage.in_flight(name))
    stage.sandbox.kill(2)
    stage.hasten()
    return name, process.end()


def test_only_copy_is_on_a_broker_that_dies(stage: Stage) -> None:
    """A move without a leader is named and takes no slot; Kafka refuses to cancel it, and ``resume`` completes it."""
    name, (code, said) = _lose_only_copy(stage)
    assert code == 1
    assert f"('{name}', 'no leader to copy from: broker 2 is dead; not cancelled: no replica is in sync')" in said
    assert f"still set: the throttle of {name}, still in flight" in said
    assert _replicas(stage, 0) == (3, 4)
    stage.sandbox.start(2)
    stage.finish("resume")
    assert stage.cluster.partition_status([name.topic])[name].replicas == (3,)
    stage.assert_clean()


_REPAIR = ("--repair-only", "--dead-after", "0", "--yes", "--throttle", "50MB")
_TAKEN_OVER = "cannot finish or be cancelled until dead brokers return"


def _is_repaired(stage: Stage) -> bool:
    """Whether the killed broker 2 holds no replica of the topic any more."""
    return all(2 not in _replicas(stage, number) for number in range(len(stage.sizes[stage.moves])))


def test_rest_is_repaired_while_the_only_copy_is_dead(stage: Stage) -> None:
    """A later run takes over the move and its throttle, replaces lost replicas, and completes both; the next finds
    nothing."""
    name, _ = _lose_only_copy(stage)
    with stage.running(*_REPAIR) as repair:
        stage.until(lambda: _is_repaired(stage))
        assert stage.in_flight(name)
        stage.sandbox.start(2)
        said, _ = repair.communicate(timeout=LONGEST_S)
    assert repair.returncode == 0, said  # the plan could not repair it, but the run then did
    assert f"{_TAKEN_OVER}: {name}; this run takes over" in said
    assert stage.cluster.partition_status([name.topic])[name].replicas == (3,)
    last = stage.command(*_REPAIR)
    assert last.returncode == 0, last.stderr
    stage.assert_clean()


@pytest.mark.sweep
def test_repairs_after_which_the_only_copy_is_still_dead(stage: Stage) -> None:
    """After two minutes without the broker the run ends (1), the next one names the partition (3), a later one ends."""
    name, _ = _lose_only_copy(stage)
    first = stage.command(*_REPAIR)
    assert first.returncode == 1, first.stderr
    assert f"{_TAKEN_OVER}: {name}; this run takes over" in first.stderr
    assert _is_repaired(stage)
    assert stage.in_flight(name)
    again = stage.command(*_REPAIR)
    assert again.returncode == 3, again.stderr
    assert f"not repaired: no in-sync replica of {name} is online" in again.stderr
    stage.sandbox.start(2)
    stage.until(lambda: stage.cluster.partition_status([name.topic])[name].leader >= 0)
    last = stage.command(*_REPAIR)
    assert last.returncode == 0, last.stderr
    assert stage.cluster.partition_status([name.topic])[name].replicas == (3,)
    stage.assert_clean()


def test_throttle_of_a_dead_broker_is_restored_through_the_controllers(stage: Stage) -> None:
    """With the controllers' addresses nothing stays pending: the broker returns with its own throttle."""
    process = _lose_broker(stage, "killed", _impatient(stage, broker_return_s=2.0), controllers=stage.controllers)
    code, said = process.end()
    assert code == 1
    assert "all throttles restored" in said
    stage.sandbox.start(_LOST)
    stage.assert_clean()
    stage.finish("resume")
    stage.assert_as_planned()


def test_controller_that_dies(stage: Stage) -> None:
    """Another controller takes over from the killed active one during a run, and the run completes."""
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    active = _active_controller(stage)
    stage.sandbox.kill(active)
    stage.hasten()
    code, said = process.end()
    assert code == 0, said
    stage.assert_as_planned()
    assert _active_controller(stage) != active


def _active_controller(stage: Stage) -> int:
    with closing(KafkaAdminClient(bootstrap_servers=list(stage.servers))) as admin:
        quorum: dict[str, Any] = admin.describe_metadata_quorum()
    return int(quorum["topics"][0]["partitions"][0]["leader_id"])
