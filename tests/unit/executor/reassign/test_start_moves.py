"""Which moves may start."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kafkabal.clusters import Fault
from kafkabal.executor.execute_run import apply
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.start_moves import endangers_isr, start_moves
from kafkabal.executor.reassign.target_placement import target_of
from kafkabal.executor.state.run_states import Goal
from kafkabal.plan.plan import Plan
from tests.unit.executor.conftest import planned_partition


def test_min_insync_is_kept(scene: Any) -> None:
    """A move that would leave too few replicas in sync is not started."""
    parts = scene.memory.kafka.parts
    parts.topics["a"].configs["min.insync.replicas"] = "3"
    scene.configs["topic a"]["min.insync.replicas"] = "3"
    change = msgspec.structs.replace(scene.plan.partitions[0], replicas=(1, 2), log_dirs=("any", "any"))
    scene.plan = Plan(partitions=(change,), cluster_id="simulated")
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    assert "min.insync.replicas" in result.problems["a-0"]
    scene.assert_as_at_start()


class _Effects:
    """Records the requests, and answers some of them with faults."""

    def __init__(self, dirs: dict[int, str] | None = None, moves: dict[int, str] | None = None) -> None:
        self._dirs, self._moves = dirs or {}, moves or {}
        self.requests: list[Any] = []

    def move_log_dirs(self, paths: Any) -> Any:
        """Faults by broker."""
        self.requests.append({(r.partition, r.broker): path for r, path in paths.items()})
        return {r: Fault(self._dirs[r.broker], "") for r in paths if r.broker in self._dirs}

    def reassign(self, moves: Any, *, changes_replication_factor: bool) -> Any:
        """Faults by partition."""
        self.requests.append((changes_replication_factor, {name.partition: to for name, to in moves.items()}))
        return {name: Fault(self._moves[name.partition], "") for name in moves if name.partition in self._moves}


def _task(number: int, now: tuple[int, ...], target: tuple[int, ...], *dirs: str, **state: Any) -> PartitionTask:
    planned = planned_partition(now, target, dirs or None, number=number)
    arriving = tuple(b for b in target if b not in now)
    return PartitionTask(target_of(planned, Goal.APPLY, by_steps=False), current=now, to_add=arriving, **state)


def _start(effects: _Effects, *tasks: PartitionTask) -> dict[int, str]:
    faults = start_moves(effects, tasks)  # type: ignore[arg-type]
    return {task.name.partition: fault.name for task, fault in faults.items()}


def _tasks() -> list[PartitionTask]:
    return [
        _task(0, (1, 2), (3, 2), "/d1", "any"),
        _task(1, (1, 2), (4, 5), "/d1", "/d2"),
        _task(2, (1, 2), (1, 2, 3)),
        _task(3, (1, 2), (1, 2), "/d1", "any", stage=Stage.MISPLACED, misplaced={1: "/d1"}),
        _task(4, (1, 2), (3, 4), stage=Stage.MOVING),
    ]


def test_the_order_of_requests() -> None:
    """Copies within brokers, then the log dirs of those to come, then moves; those that change the replication factor
    apart."""
    effects, tasks = _Effects(), _tasks()
    assert _start(effects, *tasks) == {}
    assert effects.requests == [
        {(3, 1): "/d1"},
        {(0, 3): "/d1", (1, 4): "/d1", (1, 5): "/d2"},
        (False, {0: (3, 2), 1: (4, 5)}),
        (True, {2: (1, 2, 3)}),
    ]
    assert [t.stage for t in tasks] == [Stage.MOVING, Stage.MOVING, Stage.MOVING, Stage.COPYING, Stage.MOVING]
    assert [t.arriving for t in tasks] == [(3,), (4, 5), (3,), (), ()]


def test_faults_of_requests() -> None:
    """Each is that of its task; a broker that only does not have the replica yet will remember the dir."""
    effects, tasks = _Effects({1: "LOG_DIR_NOT_FOUND", 3: "REPLICA_NOT_AVAILABLE", 5: "KAFKA_STORAGE_ERROR"}), _tasks()
    assert _start(effects, *tasks) == {3: "LOG_DIR_NOT_FOUND", 1: "KAFKA_STORAGE_ERROR"}
    # no reassignment without its log dir: it would have to copy twice
    assert effects.requests[2:] == [(False, {0: (3, 2)}), (True, {2: (1, 2, 3)})]
    assert (tasks[1].stage, tasks[1].arriving) == (Stage.WAITING, ())
    effects, tasks = _Effects(moves={0: "POLICY_VIOLATION", 2: "INVALID_REPLICATION_FACTOR"}), _tasks()
    assert _start(effects, *tasks) == {0: "POLICY_VIOLATION", 2: "INVALID_REPLICATION_FACTOR"}
    assert [t.stage for t in tasks[:3]] == [Stage.WAITING, Stage.MOVING, Stage.WAITING]


@pytest.mark.parametrize(
    ("isr", "target", "min_insync", "is_endangered"),
    [
        ((1, 2, 3), (1, 2), 3, True),
        ((1, 2, 3), (1, 2), 2, False),
        ((1, 2, 3), (1, 4, 5), 3, False),
        ((1, 2), (1, 2), 3, False),  # no fewer than now
        ((1, 2), (1, 3), 2, True),
        ((), (1, 2, 4), 2, False),
    ],
)
def test_when_a_move_endangers_the_isr(
    isr: tuple[int, ...], target: tuple[int, ...], min_insync: int, is_endangered: bool
) -> None:
    """With the new replicas counted as in sync, fewer than required and fewer than now would be left."""
    assert endangers_isr(_task(0, (1, 2, 3), target, isr=isr), min_insync) is is_endangered
