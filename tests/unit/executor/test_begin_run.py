"""How a run begins and is reopened: what is announced, what is written beforehand, and what is refused."""

from __future__ import annotations

import errno
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kafkabal.clusters import Capability, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster, MemoryRecordStore
from kafkabal.errors import BusyError, DriftError, NotAuthorizedError, OutputError, UnsafeError, UsageError
from kafkabal.executor.begin_run import begin_run
from kafkabal.executor.execute_run import apply, cancel, execute, repair_run, resume, roll_back
from kafkabal.executor.reopen_run import RunClosedError, reopen_run
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_events import Finished, LockAwaited, PhaseEntered, Started, Warned
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.read_journal import read_journal
from kafkabal.executor.state.run_record import Original, RunPartition
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.model import TopicPartition
from kafkabal.plan import Plan, read_plan
from tests.unit.executor.conftest import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    MB,
    change,
    planned_partition,
    run_record,
)

_B0 = TopicPartition("b", 0)


def _begun(scene: Any, options: RunOptions | None = None, **changes: Any) -> RunContext:
    context = begin_run(scene.environment(), scene.plan, options or scene.options, **changes)
    assert context is not None
    return context


def _close(context: RunContext) -> None:
    context.fence.release()
    context.store.close()


def test_what_is_announced(scene: Any) -> None:
    """Bytes between brokers and between log dirs, the predicted time, the throttles, and who can take over."""
    context = _begun(scene)
    (started,) = scene.recorder.of(Started)
    assert started == Started(
        run_id=context.record.run_id,
        goal=Goal.APPLY,
        partitions=7,
        # a-0 to 4, a-1 to 5 and 4, a-2 to 4, a-3 (empty) to 5, c-0 to 5
        copy_bytes=(60 + 2 * 40 + 20 + 10) * MB,
        log_dir_bytes=30 * MB,
        predicted_s=started.predicted_s,
        lock_scope=context.fence.scope,
        throttle_bytes_per_s=10 * MB,
        log_dir_throttle_bytes_per_s=10 * MB,
        has_cluster_record=True,
    )
    # broker 4 receives 60, 40 and 20 MB
    assert started.predicted_s == pytest.approx(12.0 * 1.12)
    assert [e.phase for e in scene.recorder.of(PhaseEntered)] == [Phase.RECORDED]
    _close(context)


@pytest.mark.parametrize(
    ("throttle", "expected"),
    [
        (Throttle(bytes_per_s=10 * MB), ["broker 2 keeps its"]),
        (Throttle(bytes_per_s=2 * MB), []),
        (
            Throttle(bytes_per_s=900 * MB),
            ["broker 2 keeps its", "broker 4 keeps its", "broker 1 keeps its"],
        ),
        (Throttle(bytes_per_s=10 * MB, override=True), []),
        (Throttle(), []),
    ],
)
def test_lower_throttles_of_an_operator(scene: Any, throttle: Throttle, expected: list[str]) -> None:
    """Those of brokers that take part are named, unless the run replaces them or sets none."""
    scene.plan = Plan(partitions=(change("b-0", (2, 4), (1, 2)), change("c-0", (3, 2), (3, 1))), cluster_id="simulated")
    context = _begun(scene, RunOptions(throttle=throttle))
    warned = [e.message for e in scene.recorder.of(Warned)]
    assert [text.partition(" own")[0] for text in warned] == expected
    _close(context)


@pytest.mark.parametrize("is_given", [True, False])
def test_the_plan_that_undoes_a_run(scene: Any, is_given: bool) -> None:
    """Written where it was asked for, otherwise beside the journal: back to where each partition was found."""
    scene.folder.mkdir(parents=True)
    path = scene.folder / "back.json"
    context = _begun(scene, rollback_file=path if is_given else None)
    beside = context.store.journal_path.with_suffix(".rollback.json")
    assert (path.exists(), beside.exists()) == (is_given, not is_given)
    plan = read_plan(path if is_given else beside)
    assert (plan.cluster_id, plan.taken_at) == ("simulated", context.record.started_at)
    assert set(plan.topic_ids) == {"a", "b", "c"}
    by_name = {c.name: c for c in plan.partitions}
    assert len(by_name) == 7
    a1 = by_name[TopicPartition("a", 1)]
    assert (a1.replicas, a1.log_dirs) == ((1, 2, 3), ("/d0",) * 3)
    assert a1.previous is not None
    assert (a1.previous.replicas, a1.previous.leader) == ((3, 5, 4), 3)
    # 1 and 2 lost their copies of 40 MB
    assert (a1.bytes, a1.reason) == (80 * MB, f"rollback of run {context.record.run_id}")
    assert by_name[_B0].bytes == 0
    execute(context, Goal.APPLY)
    undone = apply(scene.environment(host="two"), plan, scene.options)
    assert undone is not None
    # leaders that were not the first of their replicas are for 'rollback' to restore; a plan cannot name them
    assert {n: p[0] for n, p in scene.placement_now().items()} == {n: p[0] for n, p in scene.placement.items()}


def test_a_rollback_plan_that_cannot_be_written(scene: Any) -> None:
    """Then the run does not begin: no journal, no record, and the lock is free."""
    (scene.folder / "one").mkdir(parents=True)
    (scene.folder / "file").touch()
    with pytest.raises(OutputError):
        _begun(scene, rollback_file=scene.folder / "file" / "back.json")
    assert find_run(scene.environment()) is None
    assert not list(scene.folder.glob("one/*/*.jsonl"))
    assert scene.memory.lock_holders() == ()
    _close(_begun(scene))


@pytest.mark.parametrize("is_given", [True, False])
def test_a_full_disk_at_the_rollback_plan(scene: Any, monkeypatch: pytest.MonkeyPatch, is_given: bool) -> None:
    """The error says that nothing was started, and what to do; there is no run to resume."""

    def full(plan: Plan, path: Path) -> None:
        cause = OSError(errno.ENOSPC, "No space left on device")
        raise OutputError(f"{path}: cannot write: {cause.strerror}") from cause

    monkeypatch.setattr("kafkabal.executor.begin_run.write_plan", full)
    with pytest.raises(OutputError, match="cannot write: No space left on device") as refused:
        _begun(scene, rollback_file=scene.folder / "back.json" if is_given else None)
    assert refused.value.hint == "nothing was started; free disk space, then try again"
    assert find_run(scene.environment()) is None


def test_a_run_that_does_not_begin_frees_the_lock(scene: Any) -> None:
    """With nothing to do, and with a plan that has drifted."""
    assert begin_run(scene.environment(), Plan(partitions=()), scene.options) is None
    assert scene.memory.lock_holders() == ()
    scene.memory.alter_reassignments({_B0: (1, 4)})
    scene.memory.kafka.clock.sleep(600.0)
    with pytest.raises(DriftError):
        _begun(scene)
    assert scene.memory.lock_holders() == ()
    context = _begun(scene, skip_drifted=True)
    assert _B0 not in {p.name for p in context.record.partitions}
    _close(context)


def test_a_run_that_is_unfinished_is_not_replaced(scene: Any) -> None:
    """It is named with its host and phase, for any process that wants to begin another."""
    environment = scene.crash_before("alter_reassignments")
    run_id = scene.journal().stem
    for host in ("one", "two"):
        with pytest.raises(UnsafeError, match=rf"run {run_id} of one is unfinished \(phase: moving\)") as refused:
            begin_run(scene.environment(host=host), scene.plan, scene.options)
        assert "resume" in (refused.value.hint or "")
    assert scene.memory.lock_holders() == ()
    assert resume(environment).outcome is RunOutcome.COMPLETE


@pytest.mark.parametrize("again", ["apply", "resume"])
def test_a_lock_that_another_holds(scene: Any, again: str) -> None:
    """A run that begins and one that is reopened wait for it as long as they were told to, and no longer."""
    if again == "resume":
        scene.crash_before("alter_reassignments")
        scene.next_process()
    clock = scene.memory.kafka.clock
    other = InMemoryCluster(scene.memory.kafka)
    held = lock_cluster(scene.environment(other, host="two"), 600.0)
    environment = scene.environment(lock_wait_s=20.0)
    began_s = clock.monotonic()
    with pytest.raises(BusyError):
        resume(environment) if again == "resume" else begin_run(environment, scene.plan, scene.options)
    assert 20.0 <= clock.monotonic() - began_s < 30.0
    assert scene.recorder.of(LockAwaited)
    assert held is not None


def test_a_lock_that_is_held_already(scene: Any) -> None:
    """It is used, and released at the end."""
    for work in (
        lambda lock: apply(scene.environment(), scene.plan, scene.options, lock=lock),
        lambda lock: roll_back(scene.environment(), lock=lock),
        lambda lock: resume(scene.environment(), lock=lock),
    ):
        lock = lock_cluster(scene.environment(), 30.0)
        with suppress(RunClosedError):
            work(lock)
        assert scene.memory.lock_holders() == ()


def test_no_run_to_reopen(scene: Any) -> None:
    """Neither resumed nor repaired nor cancelled."""
    for work in (resume, repair_run, cancel, roll_back):
        with pytest.raises(UsageError, match="no run found for this cluster"):
            work(scene.environment())


def test_a_run_that_is_done_is_not_reopened(scene: Any) -> None:
    """A complete one can be rolled back, once; neither state is resumed, nor is anything left to cancel."""
    first = apply(scene.environment(), scene.plan, scene.options)
    assert first is not None
    with pytest.raises(RunClosedError, match=f"run {first.run_id} is complete: nothing to resume") as refused:
        resume(scene.environment())
    assert refused.value.hint == f"roll it back with 'kafkabal rebalance rollback {first.run_id}'"
    with pytest.raises(RunClosedError, match="is closed: it left no reassignment in flight and no throttle"):
        cancel(scene.environment())
    roll_back(scene.environment())
    with pytest.raises(RunClosedError, match="is rolled back: nothing to resume"):
        resume(scene.environment())
    assert scene.memory.lock_holders() == ()


def test_a_journal_that_begins_with_a_reopened_run(scene: Any) -> None:
    """A host that takes the run over writes down all that the cluster knows of it."""
    scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 2)
    known = find_run(scene.environment(host="two"))
    assert known is not None
    assert known.state.rates
    context = reopen_run(scene.next_process("two"))
    content = read_journal(context.store.journal_path)
    assert content.record == known.record
    assert content.state.openings == known.state.openings + 1 == 1
    assert content.state.batches == known.state.batches
    assert content.state.rates == known.state.rates
    assert content.state.later_originals == known.state.later_originals
    assert (content.state.goal, content.state.phase) == (Goal.APPLY, Phase.RECORDED)
    recorded = ClusterRecord(scene.memory.records()).load()
    assert recorded is not None
    assert recorded[1].openings == 1
    assert execute(context, Goal.APPLY).outcome is RunOutcome.COMPLETE


def test_a_run_whose_record_is_gone_is_recorded_again(scene: Any) -> None:
    """From the journal, so that any host can continue it; a record of another unfinished run is not replaced."""
    environment = scene.crash_before("alter_reassignments")
    scene.memory.kafka.parts.records.clear()
    _close(reopen_run(environment))
    recorded = ClusterRecord(scene.memory.records()).load()
    assert recorded is not None
    assert recorded[0].run_id == scene.journal().stem
    other = msgspec.structs.replace(recorded[0], run_id="29990101T000000-y", host="two")
    scene.memory.kafka.parts.records.clear()
    ClusterRecord(scene.memory.records()).begin(other, RunState(phase=Phase.MOVING))
    with pytest.raises(UnsafeError, match=r"run 29990101T000000-y of two is unfinished"):
        reopen_run(scene.environment(), journal=scene.journal())
    scene.memory.kafka.parts.records.clear()
    ClusterRecord(scene.memory.records()).begin(other, RunState(phase=Phase.CLOSED, outcome=RunOutcome.COMPLETE))
    _close(reopen_run(scene.environment(), journal=scene.journal()))
    recorded = ClusterRecord(scene.memory.records()).load()
    assert recorded is not None
    assert recorded[0].run_id == scene.journal().stem


def test_options_of_a_reopened_run(scene: Any) -> None:
    """Its own unless others are given; a rate that is given counts from then on, on every host."""
    scene.crash_before("alter_reassignments")
    context = reopen_run(scene.next_process())
    assert (context.options, context.throttling.rate) == (scene.options, 10 * MB)
    _close(context)
    given = msgspec.structs.replace(scene.options, throttle=Throttle(bytes_per_s=5 * MB), elect_leaders=False)
    context = reopen_run(scene.next_process(), options=given)
    assert (context.options, context.throttling.rate) == (given, 5 * MB)
    assert [e.throttle_bytes_per_s for e in scene.recorder.of(Started)][-1] == 5 * MB
    context.store.update_if_changed()
    _close(context)
    found = find_run(scene.environment(host="two"))
    assert found is not None
    assert found.state.throttle == Throttle(bytes_per_s=5 * MB)


def test_a_run_that_only_this_host_knows(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without permission to write the record it begins all the same, and says so."""

    def deny(*_: Any) -> None:
        raise NotAuthorizedError("no Write on topic __kafkabal", hint="grant it")

    monkeypatch.setattr(ClusterRecord, "begin", deny)
    context = _begun(scene)
    assert context.store.cluster_record is None
    assert scene.recorder.of(Warned)[0].message == (
        "only the journal on this host can resume or roll back this run: no Write on topic __kafkabal (grant it)"
    )
    assert [e.has_cluster_record for e in scene.recorder.of(Started)] == [False]
    assert execute(context, Goal.APPLY).outcome is RunOutcome.COMPLETE


def test_a_cluster_that_keeps_no_records(scene: Any) -> None:
    """The run works from its journal, without a warning."""
    scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS])
    context = _begun(scene)
    assert context.store.cluster_record is None
    assert scene.recorder.of(Warned) == []
    _close(context)


def test_a_drain_keeps_its_record_off_the_drained_brokers(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run of a cluster creates the topic of records: on a drained broker it would have to move again."""
    avoided: list[set[int]] = []
    records = InMemoryCluster.records

    def noted(cluster: InMemoryCluster, avoid: Collection[int] = ()) -> MemoryRecordStore:
        avoided.append(set(avoid))
        return records(cluster, avoid)

    monkeypatch.setattr(InMemoryCluster, "records", noted)
    context = begin_run(scene.environment(), msgspec.structs.replace(scene.plan, options={"drain": [1]}), scene.options)
    assert context is not None
    _close(context)

    assert {1} in avoided


def test_the_result_and_the_last_event(scene: Any) -> None:
    """What was done of what was to be done, in bytes, partitions and time."""
    began_s = scene.memory.kafka.clock.monotonic()
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    assert (result.goal, result.outcome, result.stop_reason) == (Goal.APPLY, RunOutcome.COMPLETE, None)
    assert (result.done, result.total, result.copied_bytes) == (7, 7, (60 + 2 * 40 + 20 + 10 + 30) * MB)
    assert result.elapsed_s == pytest.approx(scene.memory.kafka.clock.monotonic() - began_s, abs=1.0)
    assert (result.problems, result.pending, result.journal) == ({}, [], scene.journal())
    (finished,) = scene.recorder.of(Finished)
    assert finished == Finished(
        run_id=result.run_id,
        outcome=result.outcome,
        done_partitions=7,
        total_partitions=7,
        done_bytes=result.copied_bytes,
        elapsed_s=result.elapsed_s,
        problems={},
        pending=[],
    )
    phases = [e.phase for e in scene.recorder.of(PhaseEntered)]
    assert phases == [Phase.RECORDED, Phase.MOVING, Phase.ELECTING, Phase.RESTORING, Phase.CLOSED][: len(phases)]


_COMMANDS = pytest.mark.parametrize("command", [resume, roll_back, cancel, repair_run])


@_COMMANDS
def test_a_journal_that_is_given(scene: Any, command: Any) -> None:
    """It is the run that is reopened, where neither this host nor the cluster knows of one."""
    environment = scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 2)
    path = scene.journal()
    moved = path.rename(scene.folder / "moved.jsonl")
    scene.memory.kafka.parts.records.clear()
    with pytest.raises(UsageError, match="no run found for this cluster"):
        command(environment)
    result = command(environment, journal=moved)
    assert (result.run_id, result.journal) == (path.stem, moved)
    assert scene.memory.lock_holders() == ()


@_COMMANDS
def test_a_held_lock_reopens_an_unfinished_run(scene: Any, command: Any) -> None:
    """The command works under the lock that its caller has, and frees it at the end."""
    environment = scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 2)
    command(environment, lock=lock_cluster(environment, 30.0))
    assert scene.memory.lock_holders() == ()


def test_a_repair_that_leaves_moves_in_flight(scene: Any) -> None:
    """The run stays open until they have ended, and its brokers keep their throttle."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    environment = scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 2)
    moving = set(scene.memory.kafka.catch_up().moving)
    assert moving
    result = repair_run(environment)
    assert result.outcome is RunOutcome.DETACHED
    assert set(scene.memory.kafka.catch_up().moving) == moving
    found = find_run(scene.environment())
    assert found is not None
    assert found.is_open


def test_what_is_recorded_of_a_run_that_begins(scene: Any) -> None:
    """On the cluster it has begun before anything changes; no request has started moves yet."""
    context = _begun(scene)
    recorded = ClusterRecord(scene.memory.records()).load()
    at = context.record.started_at
    assert recorded == (context.record, RunState(at=at, phase=Phase.RECORDED, batches=0))
    assert context.state == RunState(at=at, phase=Phase.RECORDED, batches=0)
    _close(context)


_OF_BROKER_4 = Original(kind=ResourceKind.BROKER, resource="4", key=FOLLOWER_RATE, value="700000000")
_OF_BROKER_1 = Original(kind=ResourceKind.BROKER, resource="1", key=LEADER_RATE)
_OF_TOPICS = tuple(Original(kind=ResourceKind.TOPIC, resource=t, key=LEADER_REPLICAS) for t in ("a", "b"))


def _earlier(scene: Any, pending: str) -> RunPartition:
    """Record a closed run that has left something; returns its only partition."""
    moved = msgspec.structs.replace(planned_partition((1, 2), (4, 5)), topic="b")
    record = run_record(
        moved,
        run_id="20200101T000000-e",
        started_at="2020-01-01T00:00:00+00:00",
        host="two",
        originals=(_OF_BROKER_4, _OF_BROKER_1, *_OF_TOPICS),
    )
    state = RunState(phase=Phase.CLOSED, outcome=RunOutcome.PARTIAL, pending=[pending], rates={"5"})
    ClusterRecord(scene.memory.records()).begin(record, state)
    return moved


def test_rates_of_dead_brokers_are_inherited(scene: Any) -> None:
    """The next run restores them, so that it records what they were, and which rates are not an operator's."""
    _earlier(scene, "replication rates of broker 4: dead")
    context = _begun(scene)
    assert (context.state.later_originals, context.state.rates) == ([_OF_BROKER_4], {"5"})
    recorded = ClusterRecord(scene.memory.records()).load()
    assert recorded is not None
    assert (recorded[1].later_originals, recorded[1].rates) == ([_OF_BROKER_4], {"5"})
    state = read_journal(context.store.journal_path).state
    assert (state.later_originals, state.rates) == ([_OF_BROKER_4], {"5"})
    _close(context)


def test_moves_that_dead_brokers_hold_up_are_carried(scene: Any) -> None:
    """With the configs of their topic and of all brokers; not if the plan names the partition itself."""
    moved = _earlier(scene, "the throttle of b-0, still in flight")
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    assert not scene.memory.alter_reassignments({_B0: (4, 5)})
    for broker in (1, 2):
        scene.memory.kafka.kill(broker)
    with pytest.raises(UnsafeError, match="run 20200101T000000-e of two is unfinished"):
        _begun(scene, skip_drifted=True)
    scene.plan = Plan(partitions=(change("c-0", (3, 5), (3, 1)),), cluster_id="simulated")
    context = _begun(scene, skip_drifted=True)
    assert context.record.partitions[-1] == moved
    assert context.state.later_originals == [_OF_BROKER_4, _OF_BROKER_1, _OF_TOPICS[1]]
    assert context.state.rates == {"5"}
    _close(context)
