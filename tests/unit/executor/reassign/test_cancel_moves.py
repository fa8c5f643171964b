"""Cancelling what is in flight: reassignments, copies between log dirs, and the order of replicas afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters import Fault, ReplicaLog, ReplicaOn
from kafkabal.errors import UnreachableError
from kafkabal.executor.execute_run import cancel
from kafkabal.executor.reassign.cancel_moves import cancel_in_flight, copies_between_dirs, ends_of_copies
from kafkabal.executor.reassign.partition_task import LONGEST_LAG_S
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.reopen_run import reopen_run
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.state.run_states import Goal, Phase
from kafkabal.model import TopicPartition
from tests.unit.executor.conftest import MB, observation_of, planned_partition

_A0, _A3, _B0 = TopicPartition("a", 0), TopicPartition("a", 3), TopicPartition("b", 0)


@pytest.fixture
def context(scene: Any) -> Any:
    """A run that died while its first moves were in flight, opened again to be cancelled; copies take hours."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 2)
    scene.memory.kafka.clock.sleep(31.0)
    opened = reopen_run(scene.next_process(), goal=Goal.CANCEL, only_winds_down=True)
    opened.enter(Goal.CANCEL, Phase.CANCELLING)
    yield opened
    opened.store.close()


def _cancel(context: RunContext) -> dict[TopicPartition, str]:
    return dict(cancel_in_flight(context, context.record.partitions, {}).still_running)


def test_moves_are_cancelled_and_orders_restored(scene: Any, context: RunContext) -> None:
    """The previous replicas, in their previous order, and no copy between log dirs; finished moves stay."""
    scene.memory.move_log_dirs({ReplicaOn("b", 0, 2): "/d1"})
    moving = set(scene.memory.kafka.catch_up().moving)
    assert moving
    finished = {name: placed[0] for name, placed in scene.placement_now().items() if name not in moving}
    assert _cancel(context) == {}
    assert not scene.memory.kafka.catch_up().moving
    assert not scene.memory.kafka.parts.copying
    replicas = {name: placed[0] for name, placed in scene.placement_now().items()}
    assert replicas == finished | {name: scene.placement[name][0] for name in moving}


def test_moves_of_other_tools_are_left_alone(scene: Any, context: RunContext) -> None:
    """A reassignment to a third placement, and a copy to a third log dir, continue."""
    _cancel(context)
    assert not scene.memory.alter_reassignments({_B0: (5, 4)})
    assert _cancel(context) == {}
    assert list(scene.memory.kafka.catch_up().moving) == [_B0]


def test_what_cannot_be_cancelled_is_waited_for(
    scene: Any, context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked again at every poll until a broker could have returned; then it is named with the answer of the cluster."""
    moving = set(scene.memory.kafka.catch_up().moving)
    fault = Fault("REQUEST_TIMED_OUT")
    monkeypatch.setattr(scene.memory, "alter_reassignments", lambda moves, **_: dict.fromkeys(moves, fault))
    began_s = scene.memory.kafka.clock.monotonic()
    assert _cancel(context) == dict.fromkeys(moving, "REQUEST_TIMED_OUT")
    waited_s = scene.memory.kafka.clock.monotonic() - began_s
    assert waited_s == pytest.approx(context.options.timeouts.broker_return_s, abs=context.options.timeouts.poll_s)
    asked = [c for c in scene.faulty.calls if c.method == "alter_reassignments"]
    assert len(asked) == 1 + waited_s / context.options.timeouts.poll_s


def test_an_error_that_passes_is_retried(scene: Any, context: RunContext) -> None:
    """Nothing is given up for it."""
    fails = iter([UnreachableError("no controller")] * 3)

    def fail(call: Any) -> None:
        if call.method == "reassignments" and (error := next(fails, None)):
            raise error

    scene.faulty.before.append(fail)
    assert _cancel(context) == {}
    assert not scene.memory.kafka.catch_up().moving


@pytest.mark.parametrize(
    ("isr", "reason"), [((4,), "only its new replicas are in sync"), ((), "no replica is in sync")]
)
def test_a_cancel_that_would_lose_data_is_not_asked_for(
    scene: Any, context: RunContext, isr: tuple[int, ...], reason: str
) -> None:
    """It is named at once, since no wait changes it; the others are cancelled."""
    began_s = scene.memory.kafka.clock.monotonic()
    (name, *_) = (n for n in scene.memory.kafka.catch_up().moving if n == _A0)
    part = scene.memory.kafka.parts.partition(name)
    part.isr = list(isr)
    part.leader = isr[0] if isr else -1
    assert _cancel(context) == {_A0: reason}
    assert scene.memory.kafka.clock.monotonic() - began_s <= 3 * context.options.timeouts.poll_s
    asked = [c.arguments[0] for c in scene.faulty.calls if c.method == "alter_reassignments"]
    assert all(_A0 not in moves for moves in asked)


def test_which_ends_count(scene: Any, context: RunContext) -> None:
    """Those of the plan; once a rollback may have begun, both."""
    both = ends_of_copies(context)
    assert len(both) == 2 * len(context.record.partitions)
    context.state.goal = Goal.APPLY
    assert [end.replicas for end in ends_of_copies(context)] == [p.replicas for p in context.record.partitions]
    context.state.goal = Goal.ROLL_BACK
    assert [end.replicas for end in ends_of_copies(context)] == [end.replicas for end in both]


@pytest.mark.parametrize(("future", "is_ours"), [("/d1", True), ("/d2", False), (None, False)])
def test_copies_of_ours_between_log_dirs(future: str | None, is_ours: bool) -> None:
    """To a dir of ours; the request that cancels one names the dir that holds the replica now."""
    end = target_of(planned_partition((1, 2), (1, 2), ("/d1", "/d1")), Goal.APPLY, by_steps=False)
    log = ReplicaLog(log_dir="/d0", size_bytes=MB, future_log_dir=future)
    found = copies_between_dirs(observation_of((1, 2), logs={1: log}), [end])
    assert found == ({ReplicaOn("t", 0, 1): "/d0"} if is_ours else {})


@pytest.mark.parametrize(("waited_s", "still_s"), [(100.0, 0.0), (None, LONGEST_LAG_S)])
def test_metadata_that_lags_is_waited_for_once(
    scene: Any, context: RunContext, waited_s: float | None, still_s: float
) -> None:
    """Replicas of both ends with nothing in flight: the time for which the run has waited for them counts."""
    _cancel(context)
    scene.memory.alter_reassignments({_A0: (4, 2, 3, 1)}, allow_replication_factor_change=True)
    scene.memory.kafka.bandwidth_bytes_per_s = 1e9
    scene.memory.kafka.clock.sleep(600.0)
    began_s = scene.memory.kafka.clock.monotonic()
    since_s = {_A0: began_s - waited_s} if waited_s is not None else {}
    assert cancel_in_flight(context, context.record.partitions, since_s).still_running == {}
    assert scene.memory.kafka.clock.monotonic() - began_s == pytest.approx(still_s, abs=context.options.timeouts.poll_s)


def test_steps_of_one_replica_are_cancelled(scene: Any) -> None:
    """A step on the way is the run's own."""
    scene.options = replace(scene.options, limits=replace(scene.options.limits, one_replica_at_a_time=True))
    environment = scene.crash_before("alter_reassignments")
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    a1 = TopicPartition("a", 1)
    assert not scene.memory.alter_reassignments({a1: (3, 5, 2)})
    result = cancel(environment)
    assert (result.problems, result.pending) == ({}, [])
    assert scene.placement_now()[a1][0] == (1, 2, 3)
    scene.assert_clean()


def test_an_order_that_is_refused_is_asked_for_again(
    scene: Any, context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled move leaves another order, which has to be restored; the number of replicas must not change."""
    alter, refusals, flags = scene.memory.alter_reassignments, iter([1, 1]), set()

    def refuse(moves: Any, **options: Any) -> Any:
        orders = {name for name, replicas in moves.items() if replicas is not None}
        if orders:
            flags.add(options["allow_replication_factor_change"])
            if next(refusals, 0):
                return dict.fromkeys(orders, Fault("REQUEST_TIMED_OUT", ""))
        return alter(moves, **options)

    monkeypatch.setattr(scene.memory, "alter_reassignments", refuse)
    moving = set(scene.memory.kafka.catch_up().moving)
    assert _cancel(context) == {}
    assert flags == {False}
    assert {name: scene.placement_now()[name][0] for name in moving} == {
        name: scene.placement[name][0] for name in moving
    }
