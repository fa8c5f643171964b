"""What new and reopened runs have in common: a lock that was lost is taken again, as long as nothing has begun."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.clusters import Capability, ClusterLock
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import BusyError, NotAuthorizedError
from kafkabal.executor.begin_run import begin_run
from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Warned
from kafkabal.executor.run_setup import retry_if_lock_lost, write_cluster_record
from kafkabal.executor.safety.cluster_lock import LockLostError, LockRegainedError
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.find_run import find_run


@pytest.mark.parametrize(("losses", "is_lost"), [(0, False), (1, False), (2, False), (3, True)])
def test_a_beginning_that_loses_the_lock(losses: int, is_lost: bool) -> None:
    """It is repeated twice, with a lock of its own; the third loss is reported."""
    held: Any = object()
    used: list[Any] = []

    def begin(lock: ClusterLock | None) -> str:
        used.append(lock)
        if len(used) <= losses:
            raise LockLostError("lost")
        return "begun"

    if is_lost:
        with pytest.raises(LockLostError):
            retry_if_lock_lost(begin, held)
    else:
        assert retry_if_lock_lost(begin, held) == "begun"
    assert used == [held, None, None][: losses + 1]


def _write(scene: Any, environment: RunEnvironment, write: Any, run_id: str | None = None) -> ClusterRecord | None:
    lock = lock_cluster(environment, 30.0)
    try:
        return write_cluster_record(environment, scene.options, lock, write, new_run_id=run_id)
    finally:
        lock.release()


@pytest.mark.parametrize(
    ("recorded", "begins", "is_lost"), [("r", "r", False), ("other", "r", True), (None, "r", True), ("r", None, True)]
)
def test_a_lock_that_is_lost_in_the_write(
    scene: Any, monkeypatch: pytest.MonkeyPatch, recorded: str | None, begins: str | None, is_lost: bool
) -> None:
    """If the record names the new run it has begun, and its fence deals with the lock; otherwise nothing has."""
    monkeypatch.setattr(ClusterRecord, "run_id", lambda _: recorded)

    def lose(_: ClusterRecord) -> None:
        raise LockLostError("lost")

    if is_lost:
        with pytest.raises(LockLostError):
            _write(scene, scene.environment(), lose, begins)
    else:
        assert _write(scene, scene.environment(), lose, begins) is not None


def test_a_record_that_is_written_under_the_lock(scene: Any) -> None:
    """A lock that is not ours any more prevents the write."""
    environment, written = scene.environment(), []
    assert _write(scene, environment, written.append) is not None
    assert len(written) == 1
    lock = lock_cluster(scene.environment(), 30.0)
    lock.release()
    scene.memory.kafka.clock.sleep(60.0)
    with pytest.raises(LockLostError):
        write_cluster_record(environment, scene.options, lock, written.append)
    assert len(written) == 1


def test_records_that_may_not_be_written(scene: Any) -> None:
    """The run goes on without them, and says so; where the cluster keeps none, there is nothing to say."""

    def deny(_: ClusterRecord) -> None:
        raise NotAuthorizedError("no WRITE")

    assert _write(scene, scene.environment(), deny) is None
    assert [e.message for e in scene.recorder.of(Warned)] == [
        "only the journal on this host can resume or roll back this run: no WRITE"
    ]
    written: list[Any] = []
    without = InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS])
    assert _write(scene, scene.environment(without, host="two"), written.append) is None
    assert written == []
    assert len(scene.recorder.of(Warned)) == 1


class _Suspended:
    """A run whose process stood still until its lock expired, and what other hosts do meanwhile."""

    def __init__(self, scene: Any, **cluster: Any) -> None:
        self._scene = scene
        scene.memory = InMemoryCluster(scene.memory.kafka, **cluster)
        scene.faulty.inner = scene.memory
        context = begin_run(scene.environment(), scene.plan, scene.options)
        assert context is not None
        self.context = context
        context.store.announce_rates(["10000000"])
        scene.memory.stop()
        scene.memory.kafka.clock.sleep(60.0)

    def elsewhere(self, *commands: Any) -> None:
        """Commands on another host."""
        client = self._scene.memory.connect("elsewhere")
        for command in commands:
            command(self._scene.environment(client, host="two"))
            self._scene.memory.kafka.clock.sleep(60.0)

    def wake_up(self) -> str:
        """Continue, and return why it cannot, with the hint."""
        self._scene.memory.resume_process()
        with pytest.raises(BusyError, match="lost the lock of this cluster: ") as ended:
            self.context.fence.check()
        self.context.store.close()
        assert self._scene.memory.lock_holders() == ()
        return f"{ended.value.message.removeprefix('lost the lock of this cluster: ')} ({ended.value.hint})"


def test_a_lock_that_expired_is_taken_again(scene: Any) -> None:
    """If no other process has worked on the run since."""
    suspended = _Suspended(scene)
    scene.memory.resume_process()
    with pytest.raises(LockRegainedError):
        suspended.context.fence.check()
    suspended.context.fence.check()
    assert scene.memory.lock_holders() == ("kafkabal on one (process 1)",)
    suspended.context.store.close()


def test_a_run_that_another_process_has_ended(scene: Any) -> None:
    """A process that wakes up changes nothing more, and leaves the lock free."""
    suspended = _Suspended(scene)
    suspended.elsewhere(resume)
    run_id = suspended.context.record.run_id
    assert suspended.wake_up() == (
        f"run {run_id} was resumed by another process (nothing more changed; run 'kafkabal rebalance status')"
    )
    scene.assert_as_planned()


def test_a_run_that_another_has_replaced(scene: Any) -> None:
    """The same, with another place to look it up."""
    suspended = _Suspended(scene)
    suspended.elsewhere(resume, roll_back, lambda two: apply(two, scene.plan, scene.options))
    run_id = suspended.context.record.run_id
    assert suspended.wake_up() == (
        f"run {run_id} was replaced by another (nothing more changed; run 'kafkabal rebalance history')"
    )


def test_a_lost_lock_without_a_record(scene: Any) -> None:
    """It cannot be known whether another process has worked on the run, so that it is left alone."""
    suspended = _Suspended(scene, without=[Capability.RECORDS])
    assert "another process may have resumed run" in suspended.wake_up()


def test_a_late_request_on_a_run_that_another_has_ended(scene: Any) -> None:
    """What it has changed is named, and the run is open again, so that a resume undoes it."""
    suspended = _Suspended(scene)
    suspended.elsewhere(resume, roll_back)
    scene.memory.kafka.parts.brokers[3].own_configs["leader.replication.throttled.rate"] = "10000000"
    found = find_run(scene.environment(scene.memory.connect("look"), host="two"))
    assert found is not None
    openings = found.state.openings
    run_id = suspended.context.record.run_id
    late = "changed by a request that arrived late"
    assert suspended.wake_up() == (
        f"run {run_id} was resumed by another process; {late}: replication rates of broker 3 "
        "(undo that with 'kafkabal rebalance resume')"
    )
    found = find_run(scene.environment(scene.memory.connect("look"), host="two"))
    assert found is not None
    assert (found.state.pending, found.state.openings) == ([f"replication rates of broker 3: {late}"], openings + 1)
    assert found.is_open
    assert resume(scene.environment(scene.memory.connect("end"), host="two")).pending == []
    scene.assert_as_at_start()


def test_a_late_request_on_a_run_that_another_has_replaced(scene: Any) -> None:
    """The record is that of the other run, so that other commands list what is left."""
    suspended = _Suspended(scene)
    suspended.elsewhere(resume, roll_back, lambda two: apply(two, scene.plan, scene.options), roll_back)
    scene.memory.kafka.parts.brokers[3].own_configs["leader.replication.throttled.rate"] = "10000000"
    told = suspended.wake_up()
    assert "was replaced by another; changed by a request that arrived late: replication rates of broker 3" in told
    assert "'kafkabal rebalance adopt' lists its moves, 'kafkabal rebalance repair' its throttles" in told
    found = find_run(scene.environment(scene.memory.connect("look"), host="two"))
    assert found is not None
    assert not found.is_open
