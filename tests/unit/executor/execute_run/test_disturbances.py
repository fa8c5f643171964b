"""What goes wrong around a run: brokers, disks, topics, other people; each is handled by name in bounded time."""

from __future__ import annotations

import errno
import itertools
import os
import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kafkabal.clusters.cluster_protocol import Capability, ReplicaOn
from kafkabal.clusters.config_items import ConfigOperation
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.fault_injection import FaultyCluster
from kafkabal.errors import BusyError, DriftError, MissingCapabilityError, OutputError, UnsafeError
from kafkabal.executor.execute_run import apply, cancel, execute, repair_run, resume, roll_back
from kafkabal.executor.reopen_run import RunClosedError, reopen_run
from kafkabal.executor.run_events import (
    PartitionFailed,
    PartitionPostponed,
    RunProgress,
    Started,
    ThrottleChanged,
    Warned,
)
from kafkabal.executor.run_options import OnInterrupt, Throttle, Timeouts
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.run_request import ThrottleChange, request_cancel, request_pause, request_throttle
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome
from kafkabal.executor.throttle.initial_throttle import initial_throttle
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.kafka_configs import FOLLOWER_REPLICAS
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from tests.unit.executor.conftest import MB, change

_NONE = Throttle()


A0, A1, A2 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("a", 2)


def _run(scene: Any, **changes: Any) -> Any:
    options = msgspec.structs.replace(scene.options, **changes)
    result = apply(scene.environment(), scene.plan, options)
    assert result is not None
    return result


def _at(scene: Any, seconds: float, action: Any, *arguments: Any) -> None:
    scene.memory.kafka.clock.at(seconds, lambda: action(*arguments))


def test_broker_back_in_time(scene: Any) -> None:
    """Moves to a broker that dies are postponed, the rest continues, and they are made up for when it is back."""
    _at(scene, 5.0, scene.memory.kafka.kill, 4)
    _at(scene, 70.0, scene.memory.kafka.start, 4)
    result = _run(scene)
    assert result.outcome is RunOutcome.COMPLETE
    assert any("broker 4 is dead" in e.reason for e in scene.recorder.of(PartitionPostponed))
    scene.assert_as_planned()


def test_broker_returns_and_dies_again(scene: Any) -> None:
    """A move that waited for a broker, and is cancelled as the broker dies again, is given up like the rest."""
    kafka, clock = scene.memory.kafka, scene.memory.kafka.clock

    def die_again() -> None:
        scene.memory.alter_reassignments(dict.fromkeys(kafka.parts.moving))
        kafka.kill(4)

    def note(call: Any) -> None:
        if call.method == "alter_reassignments" and clock.monotonic() >= 70.0 and not deaths:
            deaths.append(clock.monotonic())
            clock.at(clock.monotonic() + 0.5, die_again)
        assert clock.monotonic() < 10_000.0, "the run has no end"

    deaths: list[float] = []
    scene.faulty.before.append(note)
    _at(scene, 5.0, kafka.kill, 4)
    _at(scene, 70.0, kafka.start, 4)
    result = _run(scene)
    assert deaths
    assert result.outcome is RunOutcome.PARTIAL
    assert all("broker 4" in reason for reason in result.problems.values())


def test_broker_does_not_return(scene: Any) -> None:
    """If a broker stays away, the run ends incomplete: its partitions and throttles are named, others are done."""
    _at(scene, 5.0, scene.memory.kafka.kill, 4)
    result = _run(scene)
    assert result.outcome is RunOutcome.PARTIAL
    assert set(result.problems) <= {"a-0", "a-1", "a-2"}
    assert all("broker 4" in reason for reason in result.problems.values())
    assert [p for p in result.pending if "broker 4" in p]
    assert not scene.memory.kafka.parts.moving
    left = {k: v for k, v in scene.configs_now().items() if k != "broker 4"}
    assert left == {k: v for k, v in scene.configs.items() if k != "broker 4"}

    scene.memory.kafka.start(4)
    assert resume(scene.environment()).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


def test_broker_that_keeps_its_replicas_is_dead(scene: Any) -> None:
    """Kafka completes no move while a replica that stays is dead: a resumed run starts none, and does the rest."""
    environment = scene.crash_at(25)
    scene.memory.kafka.kill(3)
    result = resume(environment)
    assert result.outcome is RunOutcome.PARTIAL
    assert {name for name, why in result.problems.items() if why == "broker 3 is dead"} == {"a-0", "a-1", "a-3", "c-0"}
    assert result.elapsed_s < 300
    assert not scene.memory.kafka.parts.moving

    scene.memory.kafka.start(3)
    assert resume(scene.environment()).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


def test_broker_that_keeps_its_replicas_dies_for_a_while(scene: Any) -> None:
    """A complete copy waits in place for such a broker: it takes no slot, and is not copied again."""
    kafka = scene.memory.kafka
    _at(scene, 5.0, kafka.kill, 3)
    _at(scene, 100.0, kafka.start, 3)
    result = _run(scene)
    assert result.outcome is RunOutcome.COMPLETE
    assert any(e.reason == "broker 3 is dead" for e in scene.recorder.of(PartitionPostponed))
    reported = [e.done_bytes for e in scene.recorder.of(RunProgress)]
    assert reported == sorted(reported)
    scene.assert_as_planned()


def test_broker_that_keeps_its_replicas_dies_for_good(scene: Any) -> None:
    """What waits in place for a broker that stays away is cancelled after two minutes, and its throttles removed."""
    _at(scene, 5.0, scene.memory.kafka.kill, 3)
    result = _run(scene)
    assert result.outcome is RunOutcome.PARTIAL
    assert "broker 3 is dead" in result.problems.values()
    assert result.elapsed_s < 300
    assert not scene.memory.kafka.parts.moving
    left = {k: v for k, v in scene.configs_now().items() if k != "broker 3"}
    assert left == {k: v for k, v in scene.configs.items() if k != "broker 3"}


def test_replica_that_stays_is_out_of_sync(scene: Any) -> None:
    """The same for a replica with a failed disk on a live broker: it is named, and nothing stalls for minutes."""
    kafka = scene.memory.kafka
    _at(scene, 0.5, kafka.fail_log_dir, 3, "/d0")
    result = _run(scene)
    assert result.outcome is RunOutcome.PARTIAL
    why = "the replica on broker 3 is not in sync: log dir /d0 of broker 3 is offline"
    assert why in result.problems.values()
    assert result.elapsed_s < 300
    assert not kafka.parts.moving


def _two_to_broker_3(scene: Any) -> Any:
    """Two partitions with one replica each, which move to broker 3 in turn; returns the cluster."""
    scene.memory = InMemoryCluster.of(cluster(brokers(3), []), FakeClock())
    rows = [partition(0, [1], 600 * MB), partition(1, [2], 500 * MB)]
    scene.memory.kafka.add_topic(TopicRow(topic="t", partitions=rows))
    scene.faulty = FaultyCluster(scene.memory)
    scene.plan = Plan(partitions=(change("t-0", (3,), (1,)), change("t-1", (3,), (2,))), cluster_id="simulated")
    return scene.memory.kafka


def test_only_copy_is_lost_on_its_way(scene: Any) -> None:
    """A move without a leader to copy from is named, takes no slot from others, and is cancelled after two minutes."""
    kafka = _two_to_broker_3(scene)
    kafka.clock.at(20.0, lambda: kafka.kill(1))
    result = _run(scene)
    assert result.outcome is RunOutcome.PARTIAL
    assert result.problems["t-0"].startswith("no leader to copy from: broker 1 is dead; not cancelled: ")
    assert result.pending[0] == "the throttle of t-0, still in flight"
    assert kafka.parts.topics["t"].partitions[1].replicas == [3]
    assert result.elapsed_s < 400

    kafka.start(1)
    assert resume(scene.environment()).outcome is RunOutcome.COMPLETE
    assert kafka.parts.topics["t"].partitions[0].replicas == [3]


@pytest.mark.parametrize("fails_at_s", [20.0, 300.0])
def test_only_copy_is_on_a_failed_disk(scene: Any, fails_at_s: float) -> None:
    """Its broker is alive, so the log dir is named, even if the dirs were read shortly before."""
    kafka = _two_to_broker_3(scene)
    kafka.bandwidth_bytes_per_s = 1e6
    kafka.clock.at(fails_at_s, lambda: kafka.fail_log_dir(1, "/d0"))
    result = _run(scene)
    assert result.problems["t-0"].startswith("no leader to copy from: log dir /d0 of broker 1 is offline")


@pytest.mark.parametrize("stops", [False, True])
def test_new_replica_alone_in_sync_is_kept(scene: Any, stops: bool) -> None:
    """The move is not cancelled, though Kafka would: its topic allows unclean elections, which lose records."""
    stop = StopSwitch()
    scene.memory = InMemoryCluster.of(cluster(brokers(3), []), FakeClock())
    kafka = scene.memory.kafka
    configs = {"unclean.leader.election.enable": "true"}
    kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, [1, 2], 60 * MB)], configs=configs))
    scene.faulty = FaultyCluster(scene.memory)
    scene.plan = Plan(partitions=(change("t-0", (3, 2), (1, 2)),), cluster_id="simulated")
    scene.configs = scene.configs_now()
    kafka.clock.at(2.0, lambda: kafka.kill(2))
    kafka.clock.at(30.0, lambda: kafka.kill(1))
    if stops:
        kafka.clock.at(40.0, lambda: stop.request(StopReason.INTERRUPT))
    result = apply(scene.environment(stop=stop), scene.plan, scene.options)
    assert result is not None
    assert result.problems == {"t-0": "broker 2 is dead; not cancelled: only its new replicas are in sync"}
    held = kafka.parts.topics["t"].partitions[0]
    assert (held.isr, held.leader, held.replicas) == ([3], 3, [3, 2, 1])
    assert result.elapsed_s < 200

    kafka.start(1)
    kafka.start(2)
    assert resume(scene.environment()).outcome is RunOutcome.COMPLETE
    assert (held.replicas, scene.configs_now()) == ([3, 2], scene.configs)


def test_only_copy_is_away_for_a_while(scene: Any) -> None:
    """Once its leader is back the copy continues where it was, under its throttle."""
    kafka = _two_to_broker_3(scene)
    kafka.clock.at(20.0, lambda: kafka.kill(1))
    kafka.clock.at(50.0, lambda: kafka.start(1))
    listed: list[str] = []
    kafka.clock.at(49.9, lambda: listed.append(kafka.parts.topics["t"].configs[FOLLOWER_REPLICAS]))
    result = _run(scene)
    assert result.outcome is RunOutcome.COMPLETE
    assert "0:3" in listed[0].split(",")
    reported = [e.done_bytes for e in scene.recorder.of(RunProgress)]
    assert reported == sorted(reported)


def test_throttles_that_another_tool_clears_are_set_again(scene: Any) -> None:
    """Kafka's own tool clears every rate at its --verify: from the next look on copies are held to theirs again."""
    scene.memory = InMemoryCluster.of(cluster(brokers(3), []), FakeClock())
    kafka = scene.memory.kafka
    kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, [1, 2], 20 * GB)]))
    scene.faulty = FaultyCluster(scene.memory)
    scene.plan = Plan(partitions=(change("t-0", (3, 2), (1, 2)),), cluster_id="simulated")
    scene.configs = scene.configs_now()
    topic, of_brokers = kafka.parts.topics["t"], [broker.own_configs for broker in kafka.parts.brokers.values()]

    def clear() -> None:
        topic.configs.clear()
        for own in of_brokers:
            own.clear()

    found: list[tuple[bool, str]] = []
    kafka.clock.at(20.0, clear)
    kafka.clock.at(21.1, lambda: found.append((all(of_brokers), topic.configs.get(FOLLOWER_REPLICAS, ""))))
    assert _run(scene, throttle=Throttle(bytes_per_s=40 * MB)).outcome is RunOutcome.COMPLETE
    assert found == [(True, "0:3")]
    assert scene.configs_now() == scene.configs


def test_complete_copies_leave_the_throttle(scene: Any) -> None:
    """A copy that waits in place for a dead broker is in sync, and takes nothing of the rate of those that are not."""
    kafka = scene.memory.kafka
    _at(scene, 5.0, kafka.kill, 3)
    listed: list[str] = []
    _at(scene, 60.0, lambda: listed.append(kafka.parts.topics["a"].configs.get(FOLLOWER_REPLICAS, "")))
    _run(scene)
    assert kafka.clock.monotonic() > 60.0
    assert "0:4" not in listed[0].split(",")


def test_one_replica_at_a_time_with_a_dead_broker(scene: Any) -> None:
    """The replica on the dead broker is replaced first: Kafka would complete no step that keeps it."""
    scene.memory.kafka.kill(2)
    scene.plan = Plan(partitions=(change("a-1", (4, 5, 3), (1, 2, 3), leader=2),), cluster_id="simulated")
    limits = msgspec.structs.replace(scene.options.limits, one_replica_at_a_time=True)
    assert _run(scene, limits=limits).outcome is RunOutcome.COMPLETE


def test_log_dir_of_a_dead_broker(scene: Any) -> None:
    """Whether a copy between its log dirs has completed is unknown because the broker is dead; said while it waits."""
    _at(scene, 1.0, scene.memory.kafka.kill, 2)
    reason = "log dir unknown: broker 2 is dead"
    assert _run(scene).problems["b-0"] == reason
    assert PartitionPostponed(partition="b-0", reason=reason) in scene.recorder.events


def test_log_dir_that_a_live_broker_did_not_report(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that has come back is no longer dead, even if it never reports the replica."""
    kafka, reported = scene.memory.kafka, scene.memory.replica_logs

    def without(*arguments: Any, **options: Any) -> Any:
        logs, faults = reported(*arguments, **options)
        return {replica: log for replica, log in logs.items() if (replica.topic, replica.broker) != ("b", 2)}, faults

    _at(scene, 1.0, kafka.kill, 2)
    _at(scene, 2.0, lambda: monkeypatch.setattr(scene.memory, "replica_logs", without))
    _at(scene, 60.0, kafka.start, 2)
    assert _run(scene).problems["b-0"] == "broker 2 did not report its log dir"


def test_graceful_stop_with_a_dead_broker(scene: Any) -> None:
    """``--on-interrupt finish`` waits two minutes for a broker that keeps a replica, then cancels."""
    stop, kafka = StopSwitch(), scene.memory.kafka
    _at(scene, 5.0, kafka.kill, 3)
    _at(scene, 6.0, lambda: stop.request(StopReason.TERMINATE))
    options = msgspec.structs.replace(scene.options, on_interrupt=OnInterrupt.FINISH)
    result = apply(scene.environment(stop=stop), scene.plan, options)
    assert result is not None
    assert result.outcome is RunOutcome.STOPPED
    assert result.elapsed_s < 300
    assert not kafka.parts.moving


def test_broker_that_hangs(scene: Any) -> None:
    """A hanging broker is noticed once the controller fences it, and costs no more than a dead one."""
    _at(scene, 5.0, scene.memory.kafka.pause, 5)
    _at(scene, 90.0, scene.memory.kafka.start, 5)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


def test_source_leader_dies(scene: Any) -> None:
    """When the sending leader dies, another replica leads and the copy continues from there."""
    _at(scene, 5.0, scene.memory.kafka.kill, 1)
    _at(scene, 60.0, scene.memory.kafka.start, 1)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


def _cancel_as_another_tool(scene: Any, name: str) -> None:
    """Cancel the reassignment of a partition if it is in flight."""
    topic, _, number = name.rpartition("-")
    partition = TopicPartition(topic, int(number))
    if partition in scene.memory.reassignments():
        scene.memory.alter_reassignments({partition: None})


_CANCELLED = "reassignment cancelled by another tool"


def test_move_cancelled_by_another_tool(scene: Any) -> None:
    """It is reported, and started again after a pause that metadata which lags does not survive."""
    _at(scene, 2.5, _cancel_as_another_tool, scene, "a-0")
    starts: list[float] = []

    def note(call: Any) -> None:
        if call.method == "alter_reassignments" and call.arguments[0].get(TopicPartition("a", 0)):
            starts.append(scene.memory.kafka.clock.monotonic())

    scene.faulty.before.append(note)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert [e for e in scene.recorder.of(PartitionPostponed) if e.reason == _CANCELLED] == [
        PartitionPostponed(partition="a-0", reason=_CANCELLED)
    ]
    assert len(starts) == 2
    assert starts[1] - starts[0] >= 10.0
    scene.assert_as_planned()


def test_a_tool_that_cancels_a_move_each_time(scene: Any) -> None:
    """The run gives up, cleans up and ends; its own cancels are not taken for those of another tool."""
    for second in range(1, 600):
        _at(scene, float(second), _cancel_as_another_tool, scene, "a-0")
    result = _run(scene)
    assert (result.outcome, result.problems) == (RunOutcome.PARTIAL, {"a-0": _CANCELLED})
    assert {e.partition for e in scene.recorder.of(PartitionPostponed) if e.reason == _CANCELLED} == {"a-0"}
    assert scene.configs_now() == scene.configs


_COPY_CANCELLED = "copy between log dirs cancelled by another tool"


def _cancel_copy(scene: Any) -> None:
    """Cancel the copy of b-0 between the log dirs of broker 2, as Kafka's tool does: ask for the dir that holds it."""
    replica, name = ReplicaOn("b", 0, 2), TopicPartition("b", 0)
    log = scene.memory.replica_logs({2}, {name})[0][replica]
    if log.future_log_dir is not None:
        scene.memory.move_log_dirs({replica: log.log_dir})


def test_copy_between_log_dirs_cancelled_by_another_tool(scene: Any) -> None:
    """It is reported, and started again after a pause."""
    _at(scene, 2.5, _cancel_copy, scene)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert [e for e in scene.recorder.of(PartitionPostponed) if e.partition == "b-0"] == [
        PartitionPostponed(partition="b-0", reason=_COPY_CANCELLED)
    ]
    assert scene.memory.kafka.clock.monotonic() >= 12.5
    scene.assert_as_planned()


def test_a_tool_that_cancels_a_copy_between_log_dirs_each_time(scene: Any) -> None:
    """The run gives up, cleans up and ends."""
    for second in range(1, 600):
        _at(scene, float(second), _cancel_copy, scene)
    result = _run(scene)
    assert (result.outcome, result.problems) == (RunOutcome.PARTIAL, {"b-0": _COPY_CANCELLED})
    assert scene.configs_now() == scene.configs


def test_copy_between_log_dirs_whose_destination_fails(scene: Any) -> None:
    """The log dir is named, not another tool."""
    _at(scene, 2.5, scene.memory.kafka.fail_log_dir, 2, "/d1")
    result = _run(scene)
    assert result.problems["b-0"] == "log dir /d1 of broker 2 is offline"
    assert not [e for e in scene.recorder.of(PartitionPostponed) if e.reason == _COPY_CANCELLED]
    assert scene.configs_now() == scene.configs


def test_topic_deleted(scene: Any) -> None:
    """A topic deleted meanwhile is dropped and reported; it is not a failure."""
    _at(scene, 5.0, scene.memory.kafka.delete_topic, "a")
    result = _run(scene)
    assert result.outcome is RunOutcome.COMPLETE
    assert {e.partition for e in scene.recorder.of(PartitionFailed)} >= {"a-0"}
    assert result.done + result.deleted == result.total
    assert result.deleted == sum(p.topic == "a" for p in scene.plan.partitions)
    assert not scene.memory.kafka.parts.moving
    assert scene.configs_now() == {k: v for k, v in scene.configs.items() if k != "topic a"}


def test_topic_given_partitions(scene: Any) -> None:
    """Partitions added to a topic meanwhile are left alone."""

    def grow() -> None:
        row = TopicRow(topic="x", partitions=[partition(9, [5, 1], GB)])
        scene.memory.kafka.add_topic(row)
        scene.memory.kafka.parts.topics["a"].partitions[9] = scene.memory.kafka.parts.topics["x"].partitions[9]

    _at(scene, 5.0, grow)
    assert _run(scene).outcome is RunOutcome.COMPLETE


def test_broker_that_delays_an_observation(scene: Any) -> None:
    """It counts as gone in the same turn: moves that could start now wait for it, by name, and send it no request."""
    clock, asked = scene.memory.kafka.clock, []

    def note(call: Any) -> None:
        if call.method == "alter_reassignments" and 6.0 <= clock.monotonic() < 60.0:
            asked.extend(call.arguments[0].values())

    scene.faulty.before.append(note)
    _at(scene, 6.0, scene.memory.kafka.pause, 4)  # when the first move to it has just ended
    _at(scene, 60.0, scene.memory.kafka.start, 4)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert not any(4 in replicas for replicas in asked)
    postponed = {(e.partition, e.reason) for e in scene.recorder.of(PartitionPostponed)}
    assert postponed == {
        ("a-0", "log dir unknown: broker 4 is dead"),
        ("a-1", "broker 4 is dead"),
        ("a-2", "broker 4 is dead"),
    }
    scene.assert_as_planned()


def test_foreign_reassignment_in_flight(scene: Any) -> None:
    """A partition that another tool reassigns meanwhile is never overwritten, and named."""
    _at(scene, 1.0, scene.memory.alter_reassignments, {A2: (2, 1, 5)})
    result = _run(scene)
    assert result.outcome is RunOutcome.PARTIAL
    assert "another tool" in result.problems["a-2"]
    assert (result.skipped, result.is_worth_resuming) == (1, False)
    scene.memory.kafka.clock.sleep(60.0)
    assert scene.memory.partition_status(["a"])[A2].replicas == (2, 1, 5)
    assert scene.configs_now() == scene.configs


def test_log_dir_goes_offline(scene: Any) -> None:
    """A failed target disk is given up after a while, by name; the others are done and nothing is left."""
    _at(scene, 3.0, scene.memory.kafka.fail_log_dir, 4, "/d1")
    result = _run(scene)
    assert result.outcome is RunOutcome.PARTIAL
    assert result.problems == {"a-0": "log dir /d1 of broker 4 is offline"}
    assert (result.skipped, result.is_worth_resuming) == (0, True)
    assert scene.memory.kafka.clock.monotonic() < 300
    assert not scene.memory.kafka.catch_up().moving
    assert scene.configs_now() == scene.configs


def test_any_log_dir_goes_offline(scene: Any) -> None:
    """A copy that is lost in flight and may be in any log dir is started again, in another one."""
    _at(scene, 9.0, scene.memory.kafka.fail_log_dir, 5, "/d0")
    result = _run(scene)
    assert [e for e in scene.recorder.of(PartitionPostponed) if e.partition == "a-1"] == [
        PartitionPostponed(partition="a-1", reason="broker 5 lost its copy: its log dir /d0 is offline")
    ]
    replicas, _, dirs = scene.placement_now()[A1]
    assert (replicas, dirs[5]) == ((3, 5, 4), "/d1")
    assert result.problems.keys() == {"a-3"}  # its first replica was there already, and cannot lead from a lost disk
    assert scene.configs_now() == scene.configs


def test_throttle_below_the_produce_rate(scene: Any) -> None:
    """If the throttle lets no copy catch up, the run ends in bounded time and restores everything."""
    part = scene.memory.kafka.parts.partition(A0)
    part.growth_bytes_per_s = 30e6
    result = _run(scene, timeouts=Timeouts(poll_s=10.0, stall_s=300.0, broker_return_s=60.0), max_runtime_s=1800.0)
    assert result.outcome is RunOutcome.PARTIAL
    assert re.fullmatch(
        r"producers write faster \(.+/s to each of 3 followers\) than its throttle of 9.54 MiB/s allows",
        result.problems["a-0"],
    )
    assert scene.memory.kafka.clock.monotonic() < 2400
    scene.assert_clean()


def test_rate_changed_by_another_tool(scene: Any) -> None:
    """A rate that another tool sets during the run stays, and is reported."""
    own = scene.memory.kafka.parts.brokers[3].own_configs
    _at(scene, 5.0, own.update, {"leader.replication.throttled.rate": "77000000"})
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert own == {"leader.replication.throttled.rate": "77000000"}
    assert any("77000000" in e.message for e in scene.recorder.of(Warned))


def test_entries_added_by_another_tool(scene: Any) -> None:
    """Entries of throttled replicas that another tool adds during the run stay; only ours are removed."""
    configs = scene.memory.kafka.parts.topics["a"].configs

    def add() -> None:
        configs["leader.replication.throttled.replicas"] += ",8:8"

    _at(scene, 3.0, add)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert configs == {"leader.replication.throttled.replicas": "3:1,7:7,8:8", "retention.ms": "1"}


@pytest.mark.parametrize("operation", [ConfigOperation.APPEND, ConfigOperation.SUBTRACT])
def test_entries_added_between_our_read_and_our_write(scene: Any, operation: ConfigOperation) -> None:
    """An entry that another tool adds just before our change arrives is not lost by it."""
    configs = scene.memory.kafka.parts.topics["a"].configs

    def add(call: Any) -> None:
        if call.method == "alter_configs" and any(
            c.resource.name == "a" and c.operation is operation and c.key == "leader.replication.throttled.replicas"
            for c in call.arguments[0]
        ):
            scene.faulty.before.clear()
            configs["leader.replication.throttled.replicas"] += ",8:8"

    scene.faulty.before.append(add)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert not scene.faulty.before
    assert configs == {"leader.replication.throttled.replicas": "3:1,7:7,8:8", "retention.ms": "1"}


def test_cluster_wide_default_shows_again(scene: Any) -> None:
    """If a cluster-wide default throttle applied before, ours is deleted, so that a later change of it applies too."""
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert "leader.replication.throttled.rate" not in scene.memory.kafka.parts.brokers[2].own_configs
    assert scene.configs_now()["default"] == scene.configs["default"]


@pytest.mark.parametrize("override", [False, True])
def test_lower_rate_of_an_operator(scene: Any, override: bool) -> None:
    """An operator's lower rate is kept, unless it is to be overridden, and is the same afterwards."""
    seen = set()
    scene.faulty.after.append(
        lambda _: seen.add(scene.memory.kafka.parts.brokers[2].own_configs["follower.replication.throttled.rate"])
    )
    plan_to_2 = Plan(partitions=(*scene.plan.partitions[:0], _to_broker_2()), cluster_id="simulated")
    scene.plan = plan_to_2
    throttle = msgspec.structs.replace(scene.options.throttle, override=override)
    assert _run(scene, throttle=throttle).outcome is RunOutcome.COMPLETE
    assert seen == ({"3000000", "10000000"} if override else {"3000000"})
    reported = [w.message for w in scene.recorder.of(Warned) if "own lower throttle of 3 MB/s" in w.message]
    assert [text.startswith("broker 2 keeps its") for text in reported] == ([] if override else [True])
    assert scene.configs_now() == scene.configs


def _to_broker_2() -> Any:
    previous = Placement(replicas=(3, 1), leader=3, log_dirs=("/d0", "/d0"))
    return PartitionChange(topic="c", partition=0, replicas=(3, 2), log_dirs=("any", "any"), previous=previous)


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        (OnInterrupt.CANCEL, RunOutcome.STOPPED),
        (OnInterrupt.FINISH, RunOutcome.STOPPED),
        (OnInterrupt.DETACH, RunOutcome.DETACHED),
    ],
)
def test_interrupted(scene: Any, policy: OnInterrupt, outcome: RunOutcome) -> None:
    """A run that is stopped leaves what was requested: nothing in flight, or moves with their throttle. What it cancels
    itself is not held against another tool."""
    switch = StopSwitch()
    _at(scene, 4.0, switch.request, StopReason.INTERRUPT)
    options = msgspec.structs.replace(scene.options, on_interrupt=policy)
    result = apply(scene.environment(stop=switch), scene.plan, options)
    assert result is not None
    assert (result.outcome, result.stop_reason) == (outcome, StopReason.INTERRUPT)
    assert not scene.recorder.of(PartitionPostponed)
    if outcome is RunOutcome.DETACHED:
        assert scene.memory.kafka.catch_up().moving
        assert scene.configs_now() != scene.configs
    else:
        scene.assert_clean()
        orders = {name: replicas for name, (replicas, _, _) in scene.placement_now().items()}
        wanted = {TopicPartition(c.topic, c.partition): c.replicas for c in scene.plan.partitions}
        assert all(orders[n] in (wanted[n], start[0]) for n, start in scene.placement.items())
    assert resume(scene.environment()).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


@pytest.mark.parametrize("second", list(range(0, 20, 2)))
def test_interrupted_at_any_time(scene: Any, second: int) -> None:
    """Whenever a run is stopped, it leaves no throttle and nothing in flight, and can be rolled back from
    there."""
    switch = StopSwitch()
    _at(scene, float(second) + 0.5, switch.request, StopReason.TERMINATE)
    result = apply(scene.environment(stop=switch), scene.plan, scene.options)
    assert result is not None
    scene.assert_clean()
    roll_back(scene.environment())
    scene.assert_as_at_start()


def test_window(scene: Any) -> None:
    """Outside its window a run pauses with everything restored, and continues in the next one."""
    start = scene.memory.kafka.clock.utc_now().astimezone()
    window = f"{start:%H:%M}-{start.replace(minute=(start.minute + 1) % 60):%H:%M}"
    scene.memory.kafka.bandwidth_bytes_per_s = 1.2e6
    rested: list[dict[str, Any]] = []
    _at(scene, 3600.0, lambda: rested.append(scene.configs_now()))
    _at(scene, 3600.0, lambda: rested.append(dict(scene.memory.kafka.catch_up().moving)))
    result = _run(scene, window=window, timeouts=Timeouts(poll_s=5.0), on_interrupt=OnInterrupt.FINISH)
    assert result.outcome is RunOutcome.COMPLETE
    assert result.elapsed_s > 86400 - 120
    assert rested == [scene.configs, {}]
    scene.assert_as_planned()


@pytest.mark.parametrize("asks_first", ["pause", "stop"])
def test_a_cancel_does_not_wait_for_copies_that_a_run_lets_finish(scene: Any, asks_first: str) -> None:
    """A run that pauses or stops after the copies in flight cancels them once an operator asks for that."""
    stop, environment = StopSwitch(), scene.environment()
    scene.memory.kafka.bandwidth_bytes_per_s = 1e4

    def wind_down() -> None:
        if asks_first == "pause":
            request_pause(environment, is_paused=True)
        else:
            stop.request(StopReason.MAX_RUNTIME)

    _at(scene, 5.0, wind_down)
    _at(scene, 20.0, lambda: request_cancel(environment))
    options = msgspec.structs.replace(scene.options, on_interrupt=OnInterrupt.FINISH)
    result = apply(scene.environment(stop=stop), scene.plan, options)
    assert result is not None
    assert (result.outcome, result.stop_reason) == (RunOutcome.STOPPED, StopReason.CANCELLED)
    assert result.elapsed_s < 60
    assert not scene.memory.kafka.parts.moving
    scene.assert_clean()


def test_a_cancel_after_a_pause_counts_what_is_in_place(scene: Any) -> None:
    """What arrived before the pause is in place, although the run does not look at it again."""
    environment = scene.environment()
    _at(scene, 5.0, lambda: request_pause(environment, is_paused=True))
    _at(scene, 3600.0, lambda: request_cancel(environment))
    options = msgspec.structs.replace(scene.options, on_interrupt=OnInterrupt.FINISH)
    result = apply(environment, scene.plan, options)
    assert result is not None
    assert result.done > 0


def test_two_hosts_at_once(scene: Any) -> None:
    """The second host reports who is working; once the first has died, it continues after the session."""
    other = scene.memory.connect("other")
    found: list[Any] = []

    def meddle() -> None:
        with pytest.raises(BusyError) as busy:
            apply(scene.environment(other, host="two"), scene.plan, scene.options)
        found.append(busy.value.message)
        raise scene.Crash

    _at(scene, 5.0, meddle)
    with pytest.raises(scene.Crash):
        apply(scene.environment(), scene.plan, scene.options)
    assert "kafkabal on one" in found[0]
    resume(scene.next_process(host="two"))
    scene.assert_as_planned()


def test_stopped_and_continued_process(scene: Any) -> None:
    """A process that stalled for longer than its session submits nothing once another has continued the run."""
    first = scene.memory
    other = first.connect("other")

    def stand_still(call: Any) -> None:
        if call.method == "alter_reassignments" and call.method_number == 2:
            first.stop()
            first.kafka.clock.sleep(40.0)
            roll_back(scene.environment(other, host="two"))
            first.resume_process()
            effects.append(len(scene.faulty.calls))

    effects: list[int] = []
    scene.faulty.before.append(stand_still)
    with pytest.raises(BusyError, match="lost the lock"):
        apply(scene.environment(), scene.plan, scene.options)
    # the call that it stood still in was on its way already; nothing came after it
    writes = [c for c in scene.faulty.calls[effects[0] :] if c.method in ("alter_configs", "alter_reassignments")]
    assert writes == []


def test_entries_of_the_process_that_took_over_are_not_taken_for_those_of_others(scene: Any) -> None:
    """A process that has lost its lock does not record what it finds: a later resume would leave it there."""
    first = scene.memory

    def stand_still(call: Any) -> None:
        if call.method == "configs" and call.method_number == 4:
            first.stop()
            first.kafka.clock.sleep(40.0)
            with pytest.raises(scene.Crash):
                resume(scene.environment(dying, host="two"))
            dying.inner.stop()
            first.resume_process()

    def die(call: Any) -> None:
        if call.method == "alter_reassignments":
            raise scene.Crash

    dying = FaultyCluster(first.connect("other"))
    dying.before.append(die)
    scene.faulty.before.append(stand_still)
    with pytest.raises(BusyError, match="lost the lock"):
        apply(scene.environment(), scene.plan, scene.options)
    assert resume(scene.next_process()).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()
    assert scene.configs_now() == scene.configs


def test_journal_disk_full(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk ends the run before the effect that could not be recorded, with everything restored."""
    append = Journal.append
    count = 0

    def fill(journal: Journal, *records: Any) -> None:
        nonlocal count
        count += 1
        if count > 12 and not journal.is_tolerant:
            raise OutputError(f"{journal.path}: cannot write the journal: No space left on device")
        append(journal, *records)

    monkeypatch.setattr(Journal, "append", fill)
    with pytest.raises(OutputError, match="No space left"):
        apply(scene.environment(), scene.plan, scene.options)
    scene.assert_clean()


@pytest.mark.parametrize("host", ["one", "two"])
def test_crashed_run_is_cancelled_while_the_disk_of_its_journal_is_full(
    scene: Any, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """Not resumed, but cancelled, from the cluster's record if this host has no journal; then it is closed for all."""
    scene.crash_at(40)
    environment = scene.environment(host=host)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match="No space left"):
            resume(environment)
        assert scene.configs_now() != scene.configs
        cancel(environment)
    scene.assert_clean()
    assert any("the journal is incomplete: " in warned.message for warned in scene.recorder.of(Warned))
    for name in ("one", "two"):
        with pytest.raises(RunClosedError):
            cancel(scene.environment(host=name))


def test_throttles_of_a_crashed_run_are_restored_while_the_disk_is_full(
    scene: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by repair, which starts nothing either."""
    environment = scene.crash_at(40)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    scene.memory.alter_reassignments(dict.fromkeys(scene.memory.reassignments()))
    monkeypatch.setattr(os, "fsync", full)
    repair_run(environment)
    assert scene.configs_now() == scene.configs


def test_drift_is_refused_and_can_be_skipped(scene: Any) -> None:
    """A partition that has moved since planning is named and refused, or skipped on request."""
    scene.memory.alter_reassignments({A2: (2, 3, 1)})
    with pytest.raises(DriftError, match="a-2 was on brokers 2,1,3 and is now on 2,3,1"):
        apply(scene.environment(), scene.plan, scene.options)
    assert scene.configs_now() == scene.configs
    result = apply(scene.environment(), scene.plan, scene.options, skip_drifted=True)
    assert result is not None
    assert (result.outcome, result.total) == (RunOutcome.COMPLETE, 6)
    assert scene.memory.partition_status(["a"])[A2].replicas == (2, 3, 1)


def test_an_unfinished_run_is_not_overwritten(scene: Any) -> None:
    """A new plan is refused while an earlier run is open."""
    environment = scene.crash_at(40)
    with pytest.raises(UnsafeError, match=r"is unfinished \(phase: moving\)"):
        apply(environment, scene.plan, scene.options)


def test_nothing_to_do(scene: Any) -> None:
    """A plan that is already in place changes nothing and leaves no journal."""
    apply(scene.environment(), scene.plan, scene.options)
    writes = scene.memory.kafka.parts.records.copy()
    assert apply(scene.environment(host="two"), scene.plan, scene.options) is None
    assert scene.memory.kafka.parts.records == writes
    assert list((scene.folder / "two").glob("*/*.jsonl")) == []


def test_full_disk_is_waited_for(scene: Any) -> None:
    """A copy that would fill a disk beyond its limit waits until space is observed to be free."""
    made = InMemoryCluster.of(cluster(brokers(3, dir_bytes=100 * GB), []), FakeClock())
    for name, replicas, size in (("big", [1], 60 * GB), ("small", [2], 70 * GB)):
        made.kafka.add_topic(TopicRow(topic=name, partitions=[partition(0, replicas, size)]))

    def move(topic: str, source: int, target: int) -> PartitionChange:
        previous = Placement(replicas=(source,), leader=source, log_dirs=("/d0",))
        return PartitionChange(topic=topic, partition=0, replicas=(target,), log_dirs=("/d0",), previous=previous)

    plan = Plan(partitions=(move("big", 1, 2), move("small", 2, 3)), cluster_id="simulated")
    fullest = [0.0]

    def measure(_: object) -> None:
        used = made.kafka.used_bytes()[2, "/d0"]
        fullest[0] = max(fullest[0], used / (100 * GB))

    watched = FaultyCluster(made)
    watched.after.append(measure)
    environment = scene.environment(watched)
    result = apply(
        replace(environment, clock=made.kafka.clock), plan, msgspec.structs.replace(scene.options, throttle=_NONE)
    )
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    assert fullest[0] <= 0.85


def test_without_permission_for_configs(scene: Any) -> None:
    """Without permission for configs a throttled run is refused by name, and an unthrottled one works."""
    bare = InMemoryCluster(scene.memory.kafka, without=[Capability.CONFIGS, Capability.RECORDS, Capability.LOCK])
    with pytest.raises(MissingCapabilityError, match="throttles not supported"):
        apply(scene.environment(bare), scene.plan, scene.options)
    result = apply(scene.environment(bare), scene.plan, msgspec.structs.replace(scene.options, throttle=_NONE))
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


def test_one_replica_at_a_time(scene: Any) -> None:
    """Replaced one by one, no partition ever has more than one replica too many."""
    most = [0]

    def count(_: object) -> None:
        for p in scene.memory.kafka.catch_up().moving.values():
            most[0] = max(most[0], len(p.adding))

    scene.faulty.after.append(count)
    limits = msgspec.structs.replace(scene.options.limits, one_replica_at_a_time=True)
    assert _run(scene, limits=limits).outcome is RunOutcome.COMPLETE
    assert most == [1]
    scene.assert_as_planned()


@pytest.mark.parametrize(
    ("without", "host"), [((), "one"), ((), "two"), ((Capability.RECORDS,), "one")], ids=["here", "elsewhere", "file"]
)
def test_rate_changed_on_the_way(scene: Any, without: tuple[Capability, ...], host: str) -> None:
    """A rate requested meanwhile, on this host or another, is taken once, and restored like the first one."""
    scene.memory = InMemoryCluster(scene.memory.kafka, without=without)
    scene.faulty.inner = scene.memory
    _at(scene, 3.0, request_throttle, scene.environment(scene.memory, host), ThrottleChange(bytes_per_s=40_000_000))
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert [e.bytes_per_s for e in scene.recorder.of(ThrottleChanged)] == [40_000_000]
    assert '"record":"throttle"' in scene.journal().read_text()
    scene.assert_as_planned()


def test_rate_changed_after_the_record_is_gone(scene: Any) -> None:
    """The topic with the run record is deleted: the run still follows requests from its own host."""
    _at(scene, 2.0, scene.memory.kafka.parts.records.clear)
    _at(scene, 3.0, request_throttle, scene.environment(scene.memory), ThrottleChange(bytes_per_s=40_000_000))
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert [e.bytes_per_s for e in scene.recorder.of(ThrottleChanged)] == [40_000_000]
    scene.assert_as_planned()


@pytest.mark.parametrize(
    ("requested", "then"),
    [
        (ThrottleChange(bytes_per_s=7), Throttle(bytes_per_s=7, log_dir_bytes_per_s=3, override=True)),
        (ThrottleChange(is_auto=True), Throttle(bytes_per_s=5, is_auto=True, log_dir_bytes_per_s=3, override=True)),
        (ThrottleChange(log_dir_bytes_per_s=8), Throttle(bytes_per_s=5, log_dir_bytes_per_s=8, override=True)),
        (
            ThrottleChange(is_auto=True, log_dir_bytes_per_s=8),
            Throttle(bytes_per_s=5, is_auto=True, log_dir_bytes_per_s=8, override=True),
        ),
    ],
)
def test_throttle_requests(requested: ThrottleChange, then: Throttle) -> None:
    """Parts that a request does not name stay unchanged."""
    assert requested.applied_to(Throttle(bytes_per_s=5, log_dir_bytes_per_s=3, override=True)) == then


def test_requests_to_an_automatic_or_missing_throttle() -> None:
    """A rate ends the automatic one, another one between log dirs does not; an automatic one has a starting rate."""
    automatic = Throttle(bytes_per_s=5, is_auto=True)
    assert ThrottleChange(bytes_per_s=7).applied_to(automatic) == Throttle(bytes_per_s=7)
    assert ThrottleChange(log_dir_bytes_per_s=8).applied_to(automatic).is_auto
    both = Throttle(bytes_per_s=5, is_auto=True, log_dir_bytes_per_s=5, is_log_dir_auto=True)
    assert ThrottleChange(is_auto=True).applied_to(both) == both
    assert not ThrottleChange(log_dir_bytes_per_s=8).applied_to(both).is_log_dir_auto
    assert ThrottleChange(is_auto=True).applied_to(Throttle()) == Throttle(bytes_per_s=10_000_000, is_auto=True)


@pytest.mark.parametrize("without", [(), (Capability.RECORDS,)], ids=["cluster", "file"])
def test_a_second_request_is_combined_with_the_first(scene: Any, without: tuple[Capability, ...]) -> None:
    """A request made before an earlier one was taken is added to it."""
    scene.memory = InMemoryCluster(scene.memory.kafka, without=without)
    scene.faulty.inner = scene.memory
    for seconds, requested in (
        (3.0, ThrottleChange(bytes_per_s=40_000_000)),
        (3.5, ThrottleChange(log_dir_bytes_per_s=77_000_000)),
    ):
        _at(scene, seconds, request_throttle, scene.environment(scene.memory), requested)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    reported = [(e.bytes_per_s, e.log_dir_bytes_per_s) for e in scene.recorder.of(ThrottleChanged)]
    assert reported == [(40_000_000, 77_000_000)]


def test_throttle_made_automatic_on_the_way(scene: Any) -> None:
    """A run started at a fixed rate raises it from then on; copies between log dirs get the requested rate."""
    _enlarge(scene, "a", 3e9)
    _enlarge(scene, "b", 1e9)
    requested = ThrottleChange(is_auto=True, log_dir_bytes_per_s=77_000_000)
    _at(scene, 3.0, request_throttle, scene.environment(scene.memory), requested)
    seen = set()
    own = scene.memory.kafka.parts.brokers[2].own_configs
    scene.faulty.before.append(lambda _: seen.add(own.get("replica.alter.log.dirs.io.max.bytes.per.second")))
    assert _run(scene).outcome is RunOutcome.COMPLETE
    reported = scene.recorder.of(ThrottleChanged)
    assert (reported[0].bytes_per_s, reported[0].log_dir_bytes_per_s) == (10_000_000, 77_000_000)
    assert reported[1].bytes_per_s > 10_000_000
    assert "77000000" in seen
    scene.assert_as_planned()


@pytest.mark.parametrize("host", ["one", "two"])
def test_rate_that_was_changed_is_kept_after_a_crash(scene: Any, host: str) -> None:
    """A resumed run continues at its last rate; options given then take precedence."""
    _at(scene, 3.0, request_throttle, scene.environment(scene.memory), ThrottleChange(bytes_per_s=40_000_000))
    environment = scene.crash_where(
        lambda call: call.method == "alter_configs" and scene.recorder.of(ThrottleChanged), host
    )
    context = reopen_run(environment)
    assert context.throttling.throttle == Throttle(bytes_per_s=40_000_000, log_dir_bytes_per_s=10_000_000)
    context.store.close()
    slower = msgspec.structs.replace(scene.options, throttle=Throttle(bytes_per_s=5_000_000))
    context = reopen_run(scene.next_process(host), options=slower)
    assert context.throttling.rate == 5_000_000
    assert execute(context, Goal.APPLY).outcome is RunOutcome.COMPLETE
    assert scene.recorder.of(Started)[-1].throttle_bytes_per_s == 5_000_000
    scene.assert_as_planned()


def test_no_throttle_replaces_an_earlier_one(scene: Any) -> None:
    """A run that is resumed without a throttle moves at full speed, whatever rate it was asked for and left behind."""
    _at(scene, 3.0, request_throttle, scene.environment(scene.memory), ThrottleChange(bytes_per_s=40_000_000))
    environment = scene.crash_where(lambda call: call.method == "alter_configs" and scene.recorder.of(ThrottleChanged))
    assert scene.configs_now() != scene.configs
    at_moves = []

    def note(call: Any) -> None:
        if call.method == "alter_reassignments":
            at_moves.append(scene.configs_now())

    scene.faulty.before.append(note)
    unthrottled = msgspec.structs.replace(scene.options, throttle=Throttle())
    assert resume(environment, options=unthrottled).outcome is RunOutcome.COMPLETE
    assert scene.recorder.of(Started)[-1].throttle_bytes_per_s is None
    assert at_moves
    assert all(configs == scene.configs for configs in at_moves)
    scene.assert_as_planned()


def test_a_rate_that_is_given_replaces_an_earlier_request(scene: Any) -> None:
    """What was asked of a run that nothing works on is what it is resumed with, unless the resume says another rate."""
    environment = scene.crash_before("alter_reassignments")
    request_throttle(environment, ThrottleChange(bytes_per_s=2_000_000))
    faster = msgspec.structs.replace(scene.options, throttle=Throttle(bytes_per_s=50_000_000))
    assert resume(environment, options=faster).outcome is RunOutcome.COMPLETE
    assert scene.recorder.of(ThrottleChanged) == []
    scene.assert_as_planned()


def test_a_rate_that_is_given_replaces_no_request_to_cancel(scene: Any) -> None:
    """Of a run that was to end, the rate says nothing."""
    environment = scene.crash_before("alter_reassignments")
    request_cancel(environment)
    faster = msgspec.structs.replace(scene.options, throttle=Throttle(bytes_per_s=50_000_000))
    result = resume(environment, options=faster)
    assert (result.outcome, result.stop_reason) == (RunOutcome.STOPPED, StopReason.CANCELLED)
    assert not scene.memory.reassignments()


def _enlarge(scene: Any, topic: str, size_bytes: float) -> None:
    for p in scene.memory.kafka.parts.topics[topic].partitions.values():
        p.size_bytes = size_bytes
        for log in p.logs.values():
            log.copied_bytes = size_bytes


def test_auto_rate_rises_and_falls(scene: Any) -> None:
    """An automatic throttle rises while nothing suffers, and halves when partitions fall out of sync."""
    _enlarge(scene, "a", 3e9)
    throttle = msgspec.structs.replace(scene.options.throttle, is_auto=True)

    def suffer() -> None:
        scene.memory.kafka.parts.topics["a"].partitions[3].isr = [1]

    _at(scene, 70.0, suffer)
    _at(scene, 130.0, lambda: [scene.memory.kafka.start(b) for b in (2, 3, 5)])
    result = _run(scene, throttle=throttle)
    rates = [e.bytes_per_s for e in scene.recorder.of(ThrottleChanged)]
    assert result.outcome is RunOutcome.COMPLETE
    assert rates[0] > 10_000_000
    assert any(b < a for a, b in itertools.pairwise(rates))


def test_an_automatic_rate_between_log_dirs_rises(scene: Any) -> None:
    """Also if nothing is copied between brokers: 20 GB at the first 10 MB/s would take half an hour."""
    _enlarge(scene, "b", 20e9)
    shifted = tuple(c for c in scene.plan.partitions if not c.to_add and not c.to_remove and "/d1" in c.log_dirs)
    scene.plan = msgspec.structs.replace(scene.plan, partitions=shifted)
    throttle = initial_throttle("auto", {}, None)
    result = _run(scene, throttle=throttle)
    rates = [e.log_dir_bytes_per_s for e in scene.recorder.of(ThrottleChanged)]
    assert result.outcome is RunOutcome.COMPLETE
    assert rates == sorted(rates)
    assert rates[-1] > 50_000_000
    assert result.elapsed_s < 1000
    scene.assert_as_planned()


def test_progress_adds_up(scene: Any) -> None:
    """Reported progress never falls, and ends at the total to copy."""
    _run(scene)
    reported = scene.recorder.of(RunProgress)
    done = [e.done_bytes for e in reported]
    assert done == sorted(done)
    assert done[-1] == reported[-1].total_bytes == sum(reported[-1].arriving_bytes.values())


@pytest.mark.parametrize("host", ["one", "two"])
def test_paused_and_asked_to_resume(scene: Any, host: str) -> None:
    """On request from any host, nothing is in flight and no throttle set while it is paused; then it completes."""
    _enlarge(scene, "a", 3e9)
    _enlarge(scene, "b", 1e9)
    other = scene.environment(scene.memory, host)
    found: list[Any] = []

    def look() -> None:
        found.append((scene.configs_now() == scene.configs, len(scene.memory.kafka.catch_up().moving)))

    _at(scene, 2.0, lambda: request_pause(other, is_paused=True))
    _at(scene, 60.0, look)
    _at(scene, 61.0, lambda: found.append(find_run(other)))
    _at(scene, 62.0, lambda: request_pause(other, is_paused=False))
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert found[0] == (True, 0)
    assert found[1].state.phase is Phase.PAUSED
    scene.assert_as_planned()


def test_moves_are_throttled_after_a_pause(scene: Any) -> None:
    """The same moves, restarted after a pause, are listed as throttled as before it."""
    _enlarge(scene, "a", 3e9)
    here = scene.environment()
    listed: list[set[str]] = []

    def look() -> None:
        moving = scene.memory.kafka.catch_up().moving.items()
        arriving = {f"{name.partition}:{b}" for name, p in moving if name.topic == "a" for b in p.adding}
        assert arriving
        listed.append(arriving & set(scene.configs_now()["topic a"].get(FOLLOWER_REPLICAS, "").split(",")))

    _at(scene, 3.0, look)
    _at(scene, 4.0, lambda: request_pause(here, is_paused=True))
    _at(scene, 62.0, lambda: request_pause(here, is_paused=False))
    _at(scene, 80.0, look)
    assert _run(scene).outcome is RunOutcome.COMPLETE
    assert listed[0]
    assert listed[1] == listed[0]
    scene.assert_as_planned()


def test_paused_and_cancelled(scene: Any) -> None:
    """A paused run accepts a request to cancel; a throttle requested meanwhile does not end the pause."""
    _enlarge(scene, "a", 3e9)
    here = scene.environment(scene.memory)
    phases: list[Phase] = []
    _at(scene, 2.0, lambda: request_pause(here, is_paused=True))
    _at(scene, 50.0, lambda: request_throttle(here, ThrottleChange(bytes_per_s=40_000_000)))
    _at(scene, 70.0, lambda: phases.append(find_run(here).state.phase))  # type: ignore[union-attr]
    _at(scene, 71.0, lambda: request_cancel(here))
    result = _run(scene)
    assert (result.outcome, result.stop_reason) == (RunOutcome.STOPPED, StopReason.CANCELLED)
    assert find_run(here).state.goal is Goal.CANCEL  # type: ignore[union-attr]
    assert phases == [Phase.PAUSED]
    assert scene.configs_now() == scene.configs


def test_a_fault_of_the_program_twice(scene: Any) -> None:
    """The first error is the one reported, also if cleaning up fails in the same way, and the lock is free."""

    failed: list[str] = []

    def fail(call: Any) -> None:
        if call.method == "alter_configs" or (failed and call.method == "reassignments"):
            failed.append(call.method)
            raise ZeroDivisionError(call.method)

    scene.faulty.before.append(fail)
    with pytest.raises(ZeroDivisionError, match="alter_configs"):
        _run(scene)
    assert failed == ["alter_configs", "reassignments"]
    assert any("may remain on the cluster" in w.message for w in scene.recorder.of(Warned))
    assert scene.memory.lock_holders() == ()
