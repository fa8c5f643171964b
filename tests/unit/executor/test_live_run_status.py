"""What status says of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from kafkabal.clusters import Capability, Fault, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fault_injection import Call
from kafkabal.errors import UnreachableError
from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.live_run_status import current_holder, run_status
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.run_events import Submitted
from kafkabal.executor.run_options import RunLimits, RunOptions
from kafkabal.executor.safety.lock_holder import LockHolder
from kafkabal.executor.state.find_run import FoundRun, find_run
from kafkabal.executor.state.journal_records import EffectKind
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal, Phase, RunState
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import brokers, cluster, partition
from tests.unit.executor.conftest import found_run, planned_partition


def test_status_agrees_with_the_cluster(scene: Any) -> None:
    """Status counts what the cluster shows, names the throttles, and is settled only when everything is done."""
    environment = scene.crash_at(30)
    found = find_run(environment)
    assert found is not None
    status = run_status(scene.memory, found)
    assert not status.is_as_planned
    assert status.stages.total() == 7
    # not the rate of 3 MB/s and the entry for every replica of c, which operators have set
    assert status.throttles == (
        "leader.replication.throttled.rate of broker 1: 10000000",
        "leader.replication.throttled.rate of broker 2: 10000000",
        "replica.alter.log.dirs.io.max.bytes.per.second of broker 2: 10000000",
        "leader.replication.throttled.rate of broker 3: 10000000",
        "follower.replication.throttled.rate of broker 4: 10000000",
        "follower.replication.throttled.rate of broker 5: 10000000",
        "leader.replication.throttled.replicas of topic a: 3:1,7:7,0:1,0:2,0:3,3:2,3:3",
        "follower.replication.throttled.replicas of topic a: 0:4,3:5",
        "leader.replication.throttled.replicas of topic c: 0:1,0:3",
    )
    resume(environment)
    found = find_run(scene.environment())
    assert found is not None
    done = run_status(scene.memory, found)
    assert done.is_as_planned
    assert done.stages == {Stage.PLACED: 7}


@pytest.mark.parametrize("kind", [ResourceKind.BROKER, ResourceKind.TOPIC])
def test_throttles_that_cannot_be_read_are_unknown(
    scene: Any, monkeypatch: pytest.MonkeyPatch, kind: ResourceKind
) -> None:
    """A broker that died, or a topic whose configs may not be read, may have a throttle: neither set nor restored, so
    the run is not settled. A deleted topic has none."""
    found = find_run(scene.crash_at(30))
    assert found is not None
    read = scene.memory.configs
    reason = Fault("unreachable")

    def without_some(resources: Any, keys: Any) -> Any:
        unread = {r for r in resources if r.kind is kind}
        values, faults = read(set(resources) - unread, keys)
        return values, {**faults, **dict.fromkeys(unread, reason)}

    monkeypatch.setattr(scene.memory, "configs", without_some)
    status = run_status(scene.memory, found)
    assert not any(f"of {kind}" in throttle for throttle in status.throttles)
    assert status.unknown_throttles
    assert all(unknown.endswith(": unreachable") for unknown in status.unknown_throttles)
    reason = Fault("UNKNOWN_TOPIC_OR_PARTITION")
    assert not run_status(scene.memory, found).unknown_throttles


def test_status_while_the_lock_cannot_be_read(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything except the holder is reported, with the reason why that is unknown."""

    def no_coordinator() -> tuple[str, ...]:
        raise UnreachableError("no coordinator")

    found = find_run(scene.crash_at(30))
    assert found is not None
    monkeypatch.setattr(scene.memory, "lock_holders", no_coordinator)
    status = run_status(scene.memory, found)
    assert (status.holder, status.why_holder_unknown, status.is_live) == (None, "no coordinator", False)
    assert status.stages.total() == 7


def test_every_host_sees_the_same(scene: Any) -> None:
    """From the journal or from the cluster's record, during a run, after a crash, and once another host resumed it."""

    def seen_by(host: str) -> tuple[Any, ...]:
        found = find_run(scene.environment(host=host))
        assert found is not None
        seen = run_status(scene.memory, found)
        return found.state.batches, found.state.phase, found.state.goal, seen.done_bytes, seen.total_bytes, seen.stages

    live = []

    def look(made: Call) -> None:
        if made.method == "elect_preferred_leaders":
            live.extend([seen_by("one")[0], seen_by("two")[0]])

    scene.faulty.before.append(look)
    scene.crash_before("elect_preferred_leaders")
    submitted = [e for e in scene.recorder.events if isinstance(e, Submitted) and e.kind is EffectKind.REASSIGN]
    assert live == [len(submitted)] * 2
    resume(scene.environment(host="two"))
    roll_back(scene.next_process("three"))
    submitted = [e for e in scene.recorder.events if isinstance(e, Submitted) and e.kind is EffectKind.REASSIGN]
    assert seen_by("one")[0] == len(submitted) > live[0] > 1
    assert seen_by("one") == seen_by("two") == seen_by("three") == seen_by("four")


def test_status_after_another_tool_moved_a_partition(scene: Any) -> None:
    """A completed run that was changed afterwards is no longer settled."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.memory.alter_reassignments({TopicPartition("b", 1): (2, 3)})
    found = find_run(scene.environment())
    assert found is not None
    status = run_status(scene.memory, found)
    assert [p.name for p in status.differing] == ["b-1"]


def _found(*planned: RunPartition, goal: Goal = Goal.APPLY, **changes: Any) -> FoundRun:
    return found_run(*planned, state=RunState(goal=goal, phase=Phase.MOVING), **changes)


def _memory(*replicas: tuple[int, ...]) -> InMemoryCluster:
    """A topic of partitions of 100 bytes, led by their first replicas."""
    memory = InMemoryCluster.of(cluster(brokers(7), []))
    rows = [partition(number, list(held), 100) for number, held in enumerate(replicas)]
    memory.kafka.add_topic(TopicRow(topic="t", partitions=rows))
    return memory


_T0 = TopicPartition("t", 0)
_PLANNED = [planned_partition((1, 2, 3), (4, 5, 3), number=n, size=100) for n in range(3)]


def test_bytes_and_stages() -> None:
    """What has arrived of the copies in flight, all of those that are complete, and what waits."""
    memory = _memory((1, 2, 3), (4, 5, 3), (1, 2, 3))
    memory.kafka.bandwidth_bytes_per_s = 2.0
    assert not memory.alter_reassignments({_T0: (4, 5, 3), TopicPartition("t", 2): (4, 5, 3)})
    assert not memory.alter_reassignments({TopicPartition("t", 2): None})
    memory.kafka.clock.sleep(10.0)
    logs, _ = memory.replica_logs({4, 5}, {_T0})
    arrived = sum(log.size_bytes for replica, log in logs.items() if replica.partition == 0)
    assert 0 < arrived < 200
    status = run_status(memory, _found(*_PLANNED))
    assert status.stages == {Stage.MOVING: 1, Stage.PLACED: 1, Stage.WAITING: 1}
    assert (status.done_bytes, status.total_bytes) == (arrived + 200, 600)
    first, last = status.differing
    assert (first.name, first.stage, first.target, first.leader) == ("t-0", Stage.MOVING, (4, 5, 3), 1)
    assert (set(first.found), first.arrived_bytes, first.copy_bytes) == ({1, 2, 3, 4, 5}, arrived, 100)
    assert (last.name, last.stage, last.found, last.arrived_bytes) == ("t-2", Stage.WAITING, (3, 1, 2), 0)
    assert not status.is_as_planned
    later = replace(status, done_bytes=status.done_bytes + 50)
    assert later.since(status, 10.0).bytes_per_s == 5.0
    assert later.since(status, 10.0).left_s == (600 - later.done_bytes) / 5.0
    assert status.since(later, 10.0).bytes_per_s == 0
    assert status.left_s is None
    live = replace(status, holder="kafkabal on one (process 1)")
    assert live.has_stalled_since(live)
    assert not replace(live, done_bytes=live.done_bytes + 1).has_stalled_since(live)
    assert not status.has_stalled_since(status)
    assert not replace(live, stages=Counter()).has_stalled_since(live)


def test_reassignments_of_others() -> None:
    """Those of partitions that the run does not have are counted."""
    memory = _memory((4, 5, 3), (1, 2, 3), (1, 2, 3))
    memory.kafka.bandwidth_bytes_per_s = 1.0
    assert not memory.alter_reassignments({TopicPartition("t", n): (6, 2, 3) for n in (1, 2)})
    assert run_status(memory, _found(*_PLANNED[:1])).foreign == 2
    assert run_status(memory, _found(*_PLANNED)).foreign == 0


@pytest.mark.parametrize(
    ("replicas", "leader", "goal", "elects", "differs"),
    [
        ((4, 5, 3), 4, Goal.APPLY, True, False),
        ((4, 5, 3), 5, Goal.APPLY, True, True),
        ((4, 5, 3), 5, Goal.APPLY, False, False),
        ((1, 2, 3), 1, Goal.APPLY, False, True),
        ((1, 2, 3), 1, Goal.ROLL_BACK, True, False),
        ((1, 2, 3), 2, Goal.ROLL_BACK, True, True),
        # a cancelled run leaves partitions where they are
        ((1, 2, 3), 2, Goal.CANCEL, True, False),
    ],
)
def test_what_differs_from_the_goal(
    replicas: tuple[int, ...], leader: int, goal: Goal, elects: bool, differs: bool
) -> None:
    """Placement, and the leader if the run elects leaders; of a cancelled run only what is in flight."""
    memory = _memory(replicas)
    memory.kafka.parts.partition(_T0).leader = leader  # type: ignore[union-attr]
    status = run_status(memory, _found(_PLANNED[0], goal=goal, options=RunOptions(elect_leaders=elects)))
    assert bool(status.differing) is differs
    if goal is Goal.CANCEL:
        memory.kafka.bandwidth_bytes_per_s = 1.0
        memory.alter_reassignments({_T0: (4, 5, 3)})
        assert run_status(memory, _found(_PLANNED[0], goal=goal)).differing


def test_a_step_on_the_way() -> None:
    """It belongs to a run that exchanges one replica at a time, and to no other."""
    for by_steps, stage in ((True, Stage.WAITING), (False, Stage.FOREIGN)):
        options = RunOptions(limits=RunLimits(one_replica_at_a_time=by_steps))
        assert run_status(_memory((4, 3, 2)), _found(_PLANNED[0], options=options)).stages == {stage: 1}


def test_a_topic_that_is_gone() -> None:
    """There is nothing to do about it."""
    memory = _memory((1, 2, 3))
    memory.kafka.delete_topic("t")
    status = run_status(memory, _found(_PLANNED[0]))
    assert (status.stages, status.differing) == ({Stage.GONE: 1}, ())


def test_the_holder_of_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder that is not provably gone; none where the cluster has no lock."""
    memory = _memory((1, 2, 3))
    assert current_holder(memory) == (None, "")
    me = str(LockHolder.current("here"))
    gone = str(replace(LockHolder.current("here"), started=1))
    monkeypatch.setattr(memory, "lock_holders", lambda: (gone, me, "another"))
    assert current_holder(memory) == (f"{me} and another", "")
    assert run_status(memory, _found(_PLANNED[0])).is_live
    without = InMemoryCluster(memory.kafka, without=[Capability.LOCK])
    monkeypatch.setattr(without, "lock_holders", lambda: (me,))
    assert current_holder(without) == (None, "")
