"""What a resume or a rollback would move, from the state in which the cluster is now."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.clusters import ReplicaOn
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.observe.duration_estimate import PartitionCopies
from kafkabal.executor.reopen_preview import PreviewedMove, ReopenPreview, preview_reopen
from kafkabal.executor.run_options import RunLimits, RunOptions
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal, RunState
from kafkabal.model import TopicPartition, TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition
from tests.unit.executor.conftest import found_run, planned_partition

_T0 = TopicPartition("t", 0)


def _found(*planned: RunPartition, **changes: Any) -> FoundRun:
    return found_run(*planned, state=RunState(), **changes)


def _cluster(*replicas: int, size: int = 100) -> InMemoryCluster:
    """Brokers with two log dirs, and ``t-0`` on some of them, in /d0."""
    memory = InMemoryCluster.of(cluster(brokers(6, dirs=2), []))
    memory.kafka.add_topic(TopicRow(topic="t", partitions=[partition(0, list(replicas), size)]))
    return memory


_PLANNED = planned_partition((1, 2, 3), (4, 5, 3), size=100)


@pytest.mark.parametrize(
    ("now", "goal", "missing"),
    [
        ((1, 2, 3), Goal.APPLY, 200),
        ((4, 5, 3), Goal.APPLY, None),
        ((4, 5, 3), Goal.ROLL_BACK, 200),
        ((1, 2, 3), Goal.ROLL_BACK, None),
        ((5, 3, 4), Goal.APPLY, 0),
    ],
)
def test_partitions_at_rest(scene: Any, now: tuple[int, ...], goal: Goal, missing: int | None) -> None:
    """Whole copies to each broker without one; nothing for a partition that is in place; an order copies nothing."""
    preview = preview_reopen(scene.environment(_cluster(*now)), _found(_PLANNED), goal)
    target = (4, 5, 3) if goal is Goal.APPLY else (1, 2, 3)
    found = [(m.name, m.found, m.target, m.copy_bytes, m.log_dirs) for m in preview.moves]
    assert found == ([("t-0", now, target, missing, {})] if missing is not None else [])
    assert preview.skipped == ()
    assert (preview.copy_bytes, preview.log_dir_bytes) == (missing or 0, 0)


def test_a_reassignment_in_flight(scene: Any) -> None:
    """What has arrived need not come again; a replica that is being added is not one that was found."""
    memory = _cluster(1, 2, 3)
    memory.kafka.bandwidth_bytes_per_s = 2.0
    assert not memory.alter_reassignments({_T0: (4, 5, 3)})
    memory.kafka.clock.sleep(10.0)
    arrived = sum(memory.replica_logs({4, 5}, {_T0})[0][ReplicaOn("t", 0, broker)].size_bytes for broker in (4, 5))
    assert 0 < arrived < 200
    (move,) = preview_reopen(scene.environment(memory), _found(_PLANNED), Goal.APPLY).moves
    assert (move.found, move.target, move.copy_bytes) == ((3, 1, 2), (4, 5, 3), 200 - arrived)


def test_a_cancel(scene: Any) -> None:
    """Only what is in flight for the run is cancelled; the rest stays, and nothing is moved."""
    memory = _cluster(1, 2, 3)
    assert preview_reopen(scene.environment(memory), _found(_PLANNED), Goal.CANCEL) == ReopenPreview((), ())
    memory.kafka.bandwidth_bytes_per_s = 2.0
    assert not memory.alter_reassignments({_T0: (4, 5, 3)})
    (move,) = preview_reopen(scene.environment(memory), _found(_PLANNED), Goal.CANCEL).moves
    assert (move.found, move.target, move.copy_bytes) == ((3, 1, 2), (3, 1, 2), 0)
    assert not memory.alter_reassignments({_T0: (6, 2, 3)})
    assert preview_reopen(scene.environment(memory), _found(_PLANNED), Goal.CANCEL).moves == ()


def test_partitions_that_are_skipped(scene: Any) -> None:
    """One that another tool has moved, or that is seen between both ends while nothing is in flight; not a deleted
    one."""
    for now in ((6, 2, 3), (1, 2, 3, 4, 5)):
        preview = preview_reopen(scene.environment(_cluster(*now)), _found(_PLANNED), Goal.APPLY)
        assert (preview.moves, preview.skipped) == ((), ("t-0",))
    gone = _cluster(1, 2, 3)
    gone.kafka.delete_topic("t")
    preview = preview_reopen(scene.environment(gone), _found(_PLANNED), Goal.APPLY)
    assert (preview.moves, preview.skipped) == ((), ())


def test_copies_between_log_dirs(scene: Any) -> None:
    """Of replicas that are on the right brokers, and of those that stay while others are moved."""
    memory = _cluster(1, 2, 3)
    within = planned_partition((1, 2, 3), (1, 2, 3), ("/d1", "any", "/d1"), size=100)
    preview = preview_reopen(scene.environment(memory), _found(within), Goal.APPLY)
    assert preview.moves == (
        PreviewedMove("t-0", (1, 2, 3), (1, 2, 3), PartitionCopies(1, {}, {1: 100, 3: 100}), {1: "/d1", 3: "/d1"}),
    )
    assert (preview.copy_bytes, preview.log_dir_bytes) == (0, 200)
    both = planned_partition((1, 2, 3), (4, 2, 3), ("/d1", "any", "/d1"), size=100)
    preview = preview_reopen(scene.environment(memory), _found(both), Goal.APPLY)
    assert preview.moves == (
        PreviewedMove("t-0", (1, 2, 3), (4, 2, 3), PartitionCopies(1, {4: 100}, {3: 100}), {3: "/d1"}),
    )


def test_a_step_on_the_way(scene: Any) -> None:
    """A run that exchanges one replica at a time recognises its own steps; any other has not made them."""
    by_steps = RunOptions(limits=RunLimits(one_replica_at_a_time=True))
    for options, skipped in ((by_steps, ()), (RunOptions(), ("t-0",))):
        environment = scene.environment(_cluster(4, 3, 2))
        assert preview_reopen(environment, _found(_PLANNED, options=options), Goal.APPLY).skipped == skipped
