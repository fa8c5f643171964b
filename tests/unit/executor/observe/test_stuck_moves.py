"""Which reassignments wait for a dead broker, so that a later run takes them over."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kafkabal.clusters import PartitionStatus, Reassignment
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.observe.stuck_moves import can_any_end
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from tests.unit.executor.conftest import change, found_run, planned_partition

_NAME = TopicPartition("t", 0)
_PENDING = "the throttle of t-0, still in flight"


def _moving(previous: tuple[int, ...], target: tuple[int, ...]) -> tuple[InMemoryCluster, RunPartition]:
    """A partition of a terabyte in flight."""
    memory = InMemoryCluster.of(cluster(brokers(5), []))
    memory.kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, list(previous), 1000 * GB)]))
    assert not memory.alter_reassignments({_NAME: target})
    return memory, planned_partition(previous, target)


@pytest.mark.parametrize(
    ("previous", "dead", "expected"),
    [
        pytest.param((1,), (1,), False, id="the only copy"),
        pytest.param((1,), (), True, id="a copy that goes on"),
        pytest.param((1,), (3,), True, id="a destination that is dead"),
        pytest.param((1, 2), (1,), True, id="another replica in sync"),
        pytest.param((1, 2), (1, 2), False, id="all replicas"),
    ],
)
def test_partitions_lost_with_their_in_sync_replicas(
    previous: tuple[int, ...], dead: tuple[int, ...], expected: bool
) -> None:
    """A reassignment is stuck only if no previous live replica is in sync, and none can be copied from."""
    memory, planned = _moving(previous, (3, 4)[: len(previous)])
    for broker in dead:
        memory.kafka.kill(broker)
    assert can_any_end(memory, [planned]) is expected


def test_a_new_replica_that_is_complete() -> None:
    """It is led by the new replica and cannot be cancelled: stuck while a replica that stays is dead."""
    memory = InMemoryCluster.of(cluster(brokers(5), []))
    memory.kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, [1, 2], 0)]))
    memory.kafka.kill(2)
    assert not memory.alter_reassignments({_NAME: (3, 2)})
    memory.kafka.clock.sleep(60.0)
    memory.kafka.kill(1)
    planned = planned_partition((1, 2), (3, 2))
    assert memory.kafka.catch_up().partition(_NAME).leader == 3
    assert not can_any_end(memory, [planned])
    memory.kafka.start(2)
    assert can_any_end(memory, [planned])


def test_a_move_that_has_ended_or_was_changed() -> None:
    """A move no longer in flight to the target is left for a resume to judge."""
    memory, planned = _moving((1,), (3,))
    memory.kafka.kill(1)
    assert can_any_end(memory, [planned_partition((1,), (4,))])
    other, _ = _moving((1,), (3,))
    assert not other.alter_reassignments({_NAME: None})
    other.kafka.kill(1)
    assert can_any_end(other, [planned])


@pytest.mark.parametrize(
    ("state", "is_taken"),
    [
        (RunState(phase=Phase.CLOSED, outcome=RunOutcome.PARTIAL, pending=[_PENDING]), True),
        (RunState(phase=Phase.CLOSED, outcome=RunOutcome.STOPPED, pending=[_PENDING]), True),
        (RunState(phase=Phase.CLOSED, outcome=RunOutcome.DETACHED, pending=[_PENDING]), False),
        (RunState(phase=Phase.CLOSED, outcome=RunOutcome.PARTIAL, pending=[_PENDING], goal=Goal.ROLL_BACK), False),
        (RunState(phase=Phase.CLOSED, outcome=RunOutcome.STOPPED, pending=[_PENDING], goal=Goal.CANCEL), False),
        (RunState(phase=Phase.CLOSED, outcome=RunOutcome.PARTIAL, pending=[_PENDING, "topic x: denied"]), False),
        (RunState(phase=Phase.CLOSED, outcome=RunOutcome.COMPLETE), False),
        (RunState(phase=Phase.MOVING, pending=[_PENDING]), False),
    ],
)
def test_which_runs_are_taken_over(state: RunState, is_taken: bool) -> None:
    """Only a closed run that was to be applied, that has nothing but such moves left, and that no plan touches."""
    memory, planned = _moving((1,), (3,))
    memory.kafka.kill(1)
    found = found_run(planned, planned_partition((1, 2), (4, 2), number=1), state=state)
    assert found.moves_to_carry(memory) == ((planned,) if is_taken else ())
    assert found.has_only_dead_left(memory) is is_taken
    assert found.moves_to_carry(memory, Plan(partitions=(change("t-1", (3,), (2,)),))) == found.moves_to_carry(memory)
    assert not found.moves_to_carry(memory, Plan(partitions=(change("t-0", (3,), (1,)),)))


@pytest.mark.parametrize(
    ("going", "isr", "leader", "dead", "expected"),
    [
        # from 1, 2, 3 to 4, 2, 3
        pytest.param(((4,), (1,)), (1,), 1, (2, 3), True, id="can be cancelled, cannot finish"),
        pytest.param(((4,), (1,)), (4,), 4, (), True, id="can finish, cannot be cancelled"),
        pytest.param(((4,), (1,)), (4,), 4, (2,), False, id="a replica that stays is dead"),
        pytest.param(((4,), (1,)), (1,), -1, (1,), False, id="the last replica in sync is dead"),
        pytest.param(((4,), (1,)), (2, 4), -1, (), True, id="without a leader, but a replica in sync is back"),
        pytest.param(((5,), (1,)), (), -1, (), True, id="to another placement"),
        pytest.param(None, (), -1, (), True, id="nothing in flight"),
    ],
)
def test_what_can_end(
    going: tuple[tuple[int, ...], tuple[int, ...]] | None,
    isr: tuple[int, ...],
    leader: int,
    dead: tuple[int, ...],
    expected: bool,
) -> None:
    """A reassignment that can be cancelled or can finish; one of both is enough."""
    replicas = (*going[0], 2, 3, 1) if going else (1, 2, 3)
    running = {_NAME: Reassignment(replicas=replicas, adding=going[0], removing=going[1])} if going else {}
    cluster = SimpleNamespace(
        broker_ids=lambda: frozenset(range(1, 6)) - set(dead),
        reassignments=lambda: running,
        partition_status=lambda _: {_NAME: PartitionStatus(leader=leader, replicas=replicas, isr=isr)},
        replica_logs=lambda *_: ({}, {}),
    )
    planned = planned_partition((1, 2, 3), (4, 2, 3))
    assert can_any_end(cluster, [planned]) is expected  # type: ignore[arg-type]


def test_broker_0_leads_like_any_other() -> None:
    """A reassignment that it leads can finish."""
    going = Reassignment(replicas=(0, 2, 3, 1), adding=(0,), removing=(1,))
    cluster = SimpleNamespace(
        broker_ids=lambda: frozenset(range(5)),
        reassignments=lambda: {_NAME: going},
        partition_status=lambda _: {_NAME: PartitionStatus(leader=0, replicas=going.replicas, isr=(0,))},
        replica_logs=lambda *_: ({}, {}),
    )
    assert can_any_end(cluster, [planned_partition((1, 2, 3), (0, 2, 3))])  # type: ignore[arg-type]


def test_a_step_on_the_way_can_end() -> None:
    """A run without steps would not recognise it as its own, so that it is left to the run that began it."""
    memory = InMemoryCluster.of(cluster(brokers(5), []))
    memory.kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, [1, 2], 1000 * GB)]))
    assert not memory.alter_reassignments({_NAME: (3, 2)})
    for broker in (1, 2):
        memory.kafka.kill(broker)
    assert can_any_end(memory, [planned_partition((1, 2), (3, 4))])
