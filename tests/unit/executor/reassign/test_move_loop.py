"""The loop that moves partitions: what it waits for, how often it retries, and what it reports."""

from __future__ import annotations

from itertools import count, pairwise
from typing import Any
from unittest.mock import Mock

import msgspec
import pytest

from kafkabal.clusters.cluster_protocol import PartitionStatus
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.fault_injection import FaultyCluster
from kafkabal.executor.execute_run import apply
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign import move_loop
from kafkabal.executor.reassign.move_loop import MoveLoop
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.reopen_run import reopen_run
from kafkabal.executor.run_events import PartitionDone, PartitionFailed, PartitionPostponed
from kafkabal.executor.run_options import OnInterrupt, RunOptions, Throttle
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.run_states import Goal, RunOutcome
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from tests.unit.executor.conftest import MB, change, planned_partition

T0 = TopicPartition("t", 0)
_LOST = "log dir /d0 of broker 3 is offline"


def _one_to_broker_3(scene: Any, *, dirs: dict[int, str] | None = None, dir_bytes: int = 1000 * GB) -> Any:
    """One partition of 600 MB with one replica, which moves to broker 3; returns the cluster."""
    scene.memory = InMemoryCluster.of(cluster(brokers(3, dirs=2, dir_bytes=dir_bytes), []), FakeClock())
    scene.memory.kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, [1], 600 * MB)]))
    scene.faulty = FaultyCluster(scene.memory)
    scene.plan = Plan(partitions=(change("t-0", (3,), (1,), dirs),), cluster_id="simulated")
    return scene.memory.kafka


def _run(scene: Any, **timeouts: float) -> RunResult:
    options: RunOptions = scene.options
    changed = msgspec.structs.replace(options.timeouts, **timeouts)
    result = apply(scene.environment(), scene.plan, msgspec.structs.replace(options, timeouts=changed))
    assert result is not None
    return result


def _starts_s(scene: Any) -> list[float]:
    """When the move is requested; filled during the run."""
    times: list[float] = []

    def note(call: Any) -> None:
        if call.method == "alter_reassignments" and call.arguments[0].get(T0) is not None:
            times.append(scene.memory.kafka.clock.monotonic())

    scene.faulty.before.append(note)
    return times


def _hide_copies_of_broker_3(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make broker 3 report no replica, as if it lost each at once."""
    reported = scene.memory.replica_logs

    def without(*arguments: Any, **options: Any) -> Any:
        logs, faults = reported(*arguments, **options)
        return {replica: log for replica, log in logs.items() if replica.broker != 3}, faults

    monkeypatch.setattr(scene.memory, "replica_logs", without)


@pytest.mark.parametrize("attempts", [1, 3])
def test_a_copy_that_is_lost_each_time_is_given_up(scene: Any, monkeypatch: pytest.MonkeyPatch, attempts: int) -> None:
    """After this many attempts, each cancelled after its grace and followed by a pause; the reason is reported once."""
    _one_to_broker_3(scene)
    _hide_copies_of_broker_3(scene, monkeypatch)
    times = _starts_s(scene)
    result = _run(scene, attempts=attempts, broker_grace_s=8.0, room_s=25.0)
    reason = "broker 3 lost its copy"
    assert (result.outcome, result.problems) == (RunOutcome.PARTIAL, {"t-0": reason})
    assert len(times) == attempts
    assert all(33.0 <= later - earlier < 40.0 for earlier, later in pairwise(times))
    assert scene.recorder.of(PartitionFailed) == [PartitionFailed(partition="t-0", reason=reason)]
    assert scene.recorder.of(PartitionPostponed)[0] == PartitionPostponed(partition="t-0", reason=reason)
    assert not scene.memory.reassignments()


def test_a_copy_that_is_cancelled_takes_no_space(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lost copy is started again on a disk that has room for one: its former attempt is not counted beside it."""
    _one_to_broker_3(scene, dir_bytes=GB)
    _hide_copies_of_broker_3(scene, monkeypatch)
    _run(scene, attempts=3, broker_grace_s=8.0)
    assert {event.reason for event in scene.recorder.of(PartitionPostponed)} == {"broker 3 lost its copy"}


def test_a_copy_whose_log_dir_goes_offline_names_it(scene: Any) -> None:
    """It names the dir in the plan, not only that its broker has lost the copy."""
    kafka = _one_to_broker_3(scene, dirs={3: "/d0"})
    kafka.clock.at(9.0, lambda: kafka.fail_log_dir(3, "/d0"))
    assert _run(scene).problems == {"t-0": _LOST}
    assert PartitionPostponed(partition="t-0", reason=_LOST) in scene.recorder.of(PartitionPostponed)


def test_a_move_that_is_given_up_is_reported_by_name(scene: Any) -> None:
    """A move that waits for a broker that stays away fails with the same words as it waited with."""
    kafka = _one_to_broker_3(scene)
    kafka.clock.at(5.0, lambda: kafka.kill(3))
    assert _run(scene).problems == {"t-0": "broker 3 is dead"}
    assert scene.recorder.of(PartitionFailed) == [PartitionFailed(partition="t-0", reason="broker 3 is dead")]


def test_a_move_that_waited_is_reported_with_its_bytes_when_done(scene: Any) -> None:
    """By name, without any leftover of what it waited for."""
    kafka = _one_to_broker_3(scene)
    kafka.clock.at(5.0, lambda: kafka.kill(3))
    kafka.clock.at(90.0, lambda: kafka.start(3))
    result = _run(scene)
    assert (result.outcome, result.problems) == (RunOutcome.COMPLETE, {})
    assert scene.recorder.of(PartitionPostponed)
    assert scene.recorder.of(PartitionDone) == [PartitionDone(partition="t-0", copy_bytes=600 * MB)]


@pytest.mark.parametrize("hangs", [False, True], ids=["dead", "hanging"])
def test_a_partition_that_was_placed_stays_so_when_its_broker_dies(scene: Any, *, hangs: bool) -> None:
    """What was seen in its log dir is done, even if a broker dies later: no wait, and no other count."""
    kafka = _one_to_broker_3(scene, dirs={3: "/d0"})
    kafka.add_topic(TopicRow(topic="u", partitions=[partition(0, [1], 6000 * MB)]))
    scene.plan = msgspec.structs.replace(scene.plan, partitions=(*scene.plan.partitions, change("u-0", (2,), (1,))))

    def lose() -> None:
        assert [e.partition for e in scene.recorder.of(PartitionDone)] == ["t-0"]
        (kafka.pause if hangs else kafka.kill)(3)

    kafka.clock.at(300.0, lose)
    result = _run(scene)
    assert "did not report its log dir" not in str(result.problems)
    assert result.done == 2


def test_reason_why_a_complete_copy_waits() -> None:
    """The replica that is out of sync, and its broker where that is dead; broker 0 leads like any other."""
    context = Mock(options=RunOptions())
    context.clock.monotonic.return_value = 0.0
    context.throttling.throttle = Throttle()
    context.read_state.return_value = cluster(brokers(3), [])
    loop = MoveLoop(context, [], {})
    target = target_of(planned_partition((0, 2, 1), (0, 2, 3)), Goal.APPLY, by_steps=False)
    task = PartitionTask(target, leader=0, isr=(0, 3), out_of_sync=(2,))
    loop._wait_in_place(task, frozenset({0, 1, 2, 3}))
    assert (task.problem, task.postponed_for) == ("the replica on broker 2 is not in sync", frozenset())
    loop._wait_in_place(task, frozenset({0, 1, 3}))
    assert (task.problem, task.postponed_for, task.not_before_s) == ("broker 2 is dead", frozenset({2}), 0.0)


def test_a_partition_moved_by_another_tool_is_reported_once(scene: Any) -> None:
    """It is skipped, with one event and one problem that name another tool as the reason."""
    _one_to_broker_3(scene)
    scene.memory.kafka.clock.at(5.0, lambda: scene.memory.alter_reassignments({T0: (2,)}))
    reason = "moved by another tool since planning; skipped"
    assert _run(scene).problems == {"t-0": reason}
    assert scene.recorder.of(PartitionFailed) == [PartitionFailed(partition="t-0", reason=reason)]


@pytest.mark.parametrize("broker_return_s", [20.0, 40.0])
def test_waits_for_the_rest_until_the_deadline(scene: Any, broker_return_s: float) -> None:
    """Not one observation longer: counted from the first at which everything left waits for a broker."""
    kafka = _one_to_broker_3(scene)
    kafka.clock.at(5.0, lambda: kafka.kill(3))
    tell, times = scene.recorder.on_event, {}

    def note(event: Any) -> None:
        times.setdefault(type(event), kafka.clock.monotonic())
        tell(event)

    scene.recorder.on_event = note
    _run(scene, broker_grace_s=8.0, broker_return_s=broker_return_s)
    cancelled_in_s = 2.0  # it is seen at the look after the one that cancels it
    assert times[PartitionFailed] - times[PartitionPostponed] == broker_return_s + cancelled_in_s


@pytest.mark.parametrize("lagging_look", [1, 2, 5])
def test_all_is_over_only_if_it_is_twice_in_a_row(
    scene: Any, monkeypatch: pytest.MonkeyPatch, lagging_look: int
) -> None:
    """A single observation with everything placed, before or during the move, ends nothing: metadata may lag."""
    kafka = _one_to_broker_3(scene)
    context = reopen_run(scene.crash_before("alter_reassignments"))
    reassignments, partition_status, looks = scene.memory.reassignments, scene.memory.partition_status, count(1)
    placed = {T0: PartitionStatus(leader=3, replicas=(3,), isr=(3,))}
    now: dict[str, int] = {}

    def look_at_reassignments() -> Any:
        now["look"] = next(looks)
        return {} if now["look"] == lagging_look else reassignments()

    def look_at_partitions(topics: Any) -> Any:
        return placed if now["look"] == lagging_look else partition_status(topics)

    monkeypatch.setattr(scene.memory, "reassignments", look_at_reassignments)
    monkeypatch.setattr(scene.memory, "partition_status", look_at_partitions)
    loop = move_loop.MoveLoop(context, context.targets(Goal.APPLY), {})
    assert loop.run() is move_loop.MoveEnd.ALL_OVER
    assert kafka.parts.partition(T0).replicas == [3]
    assert not kafka.parts.moving
    assert now["look"] > lagging_look
    context.store.close()


def _lagging_by(scene: Any, monkeypatch: pytest.MonkeyPatch, lag_s: float) -> None:
    """Make metadata show the replicas as they were some seconds ago."""
    partition_status, shown = scene.memory.partition_status, []

    def as_before(topics: Any) -> Any:
        now_s = scene.memory.kafka.clock.monotonic()
        shown.append((now_s, partition_status(topics)))
        return next(status for at_s, status in reversed(shown) if at_s <= now_s - lag_s or at_s == shown[0][0])

    monkeypatch.setattr(scene.memory, "partition_status", as_before)


@pytest.mark.parametrize("lag_s", [3.0, 15.0, 45.0])
def test_metadata_that_lags_behind_small_copies(scene: Any, monkeypatch: pytest.MonkeyPatch, lag_s: float) -> None:
    """Nothing is reported as cancelled, moved by another tool or failed; each move is requested once."""
    kafka = _one_to_broker_3(scene)
    kafka.bandwidth_bytes_per_s = 1e9
    _lagging_by(scene, monkeypatch, lag_s)
    times = _starts_s(scene)
    result = _run(scene)
    assert (result.outcome, result.problems) == (RunOutcome.COMPLETE, {})
    assert len(times) == 1
    assert scene.recorder.of(PartitionPostponed) == scene.recorder.of(PartitionFailed) == []


@pytest.mark.parametrize("shown", [(1, 3), (3,)])
def test_a_move_that_is_found_in_flight_when_it_is_to_start_is_observed_on(
    scene: Any, monkeypatch: pytest.MonkeyPatch, shown: tuple[int, ...]
) -> None:
    """Metadata shows it late, or complete on a broker that does not report its log dir yet: it is not given up."""
    kafka = _one_to_broker_3(scene, dirs={3: "/d0"})
    context = reopen_run(scene.crash_before("alter_reassignments"))
    kafka.bandwidth_bytes_per_s = 1e12
    status, replica_logs, looks = scene.memory.partition_status, scene.memory.replica_logs, count(1)

    def found(topics: Any) -> Any:
        look = next(looks)
        if look == 2:  # the observation that a start is based on
            scene.memory.alter_reassignments({T0: (3,)})
            kafka.clock.sleep(1.0)
            return {T0: PartitionStatus(leader=1, replicas=shown, isr=shown)}
        return status(topics)

    def reported(*arguments: Any, **options: Any) -> Any:
        logs, faults = replica_logs(*arguments, **options)
        return (logs if kafka.clock.monotonic() > began_s + 5.0 else {}), faults

    monkeypatch.setattr(scene.memory, "partition_status", found)
    monkeypatch.setattr(scene.memory, "replica_logs", reported)
    began_s = kafka.clock.monotonic()
    loop = move_loop.MoveLoop(context, context.targets(Goal.APPLY), {})
    assert loop.run() is move_loop.MoveEnd.ALL_OVER
    assert [(task.stage, task.problem) for task in loop.tasks] == [(Stage.PLACED, "")]
    context.store.close()


def test_a_stop_that_lets_moves_finish_waits_for_a_dead_broker(scene: Any) -> None:
    """A complete copy waits for a replica that stays, as long as in any run, before it is cancelled."""
    stop, kafka = StopSwitch(), scene.memory.kafka
    kafka.clock.at(5.0, lambda: kafka.kill(3))
    kafka.clock.at(6.0, lambda: stop.request(StopReason.TERMINATE))
    options = msgspec.structs.replace(scene.options, on_interrupt=OnInterrupt.FINISH)
    result = apply(scene.environment(stop=stop), scene.plan, options)
    assert result is not None
    assert options.timeouts.broker_return_s <= result.elapsed_s < 2 * options.timeouts.broker_return_s
    assert not kafka.parts.moving


def test_a_copy_without_progress_is_cancelled_when_given_up(scene: Any) -> None:
    """At the observation at which the stall time is up, and not only when the run ends."""
    kafka = _one_to_broker_3(scene)
    kafka.clock.at(5.0, lambda: setattr(kafka, "bandwidth_bytes_per_s", 0.0))
    cancelled_s: list[float] = []
    failed_s: list[float] = []
    tell = scene.recorder.on_event

    def note_cancel(call: Any) -> None:
        if call.method == "alter_reassignments" and T0 in call.arguments[0] and call.arguments[0][T0] is None:
            cancelled_s.append(kafka.clock.monotonic())

    def note_failure(event: Any) -> None:
        if isinstance(event, PartitionFailed):
            failed_s.append(kafka.clock.monotonic())
        tell(event)

    scene.faulty.before.append(note_cancel)
    scene.recorder.on_event = note_failure
    result = _run(scene, stall_s=40.0)
    assert result.problems == {"t-0": "no progress for 40 s"}
    assert cancelled_s[0] == failed_s[0]
    assert not kafka.parts.moving


def test_a_complete_copy_that_waits_for_a_replica_has_not_stalled(scene: Any) -> None:
    """No progress, since nothing is missing: the move waits for its own limit."""
    scene.memory = InMemoryCluster.of(cluster(brokers(3), []), FakeClock())
    kafka = scene.memory.kafka
    kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, [1, 2], 100 * MB)]))
    scene.faulty = FaultyCluster(scene.memory)
    scene.plan = Plan(partitions=(change("t-0", (3, 2), (1, 2)),), cluster_id="simulated")
    kafka.clock.at(3.0, lambda: kafka.kill(2))
    kafka.clock.at(110.0, lambda: kafka.start(2))
    assert _run(scene, stall_s=60.0).outcome is RunOutcome.COMPLETE
    assert kafka.clock.monotonic() > 110.0


def _task(**fields: Any) -> PartitionTask:
    target = target_of(planned_partition((1, 2), (3,)), Goal.APPLY, by_steps=False)
    return PartitionTask(target, stage=Stage.MOVING, **fields)


@pytest.mark.parametrize(
    ("isr", "current", "arriving", "sources"),
    [
        ((2,), (1, 2, 3), (3,), (2,)),
        ((), (2, 3), (3,), (2,)),
        ((1,), (1, 2, 3), (3,), (1,)),
    ],
)
def test_brokers_that_hold_the_only_copies(
    isr: tuple[int, ...], current: tuple[int, ...], arriving: tuple[int, ...], sources: tuple[int, ...]
) -> None:
    """Those in sync; or, if none is in sync any more, those that were there before."""
    assert _task(isr=isr, current=current, arriving=arriving).copy_sources == sources
