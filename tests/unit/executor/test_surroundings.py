"""Checks before a run, what status says, what repair finds, and the locks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kafkabal.clusters.protocol import Capability, ConfigResource, ResourceKind
from kafkabal.clusters.simulated.clock import FakeClock
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import BusyError, PartialFailureError, UnreachableError, UnsafeError, UsageError
from kafkabal.executor.current_run import run_status
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.run_actions import apply, resume
from kafkabal.executor.safety.check_names import Overridable
from kafkabal.executor.safety.cluster_lock import Fence, FileLock, LockRegainedError, take_lock
from kafkabal.executor.safety.preflight import Verdict, enforce, preflight
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.throttle.leftover_throttles import LeftoverThrottle, find_leftovers, remove_leftovers, repair_run
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import Plan


def _verdicts(scene: Any, **changes: Any) -> dict[str, Verdict]:
    arguments = {"plan": scene.plan, "options": scene.options, "unfinished": None} | changes
    return {c.name: c.verdict for c in preflight(scene.environment(), **arguments)}


def test_checks_of_a_healthy_cluster(scene: Any) -> None:
    """Nothing stands in the way of a plan for a healthy cluster."""
    plan = Plan(partitions=scene.plan.partitions, cluster_id="simulated", options={"replication_factor": 3})
    assert set(_verdicts(scene, plan=plan).values()) == {Verdict.OK}


def test_checks_find_what_stands_in_the_way(scene: Any) -> None:
    """Each trouble shows in the check of its name."""
    parts = scene.memory.kafka.parts
    parts.partition(TopicPartition("a", 0)).isr = [1]
    parts.partition(TopicPartition("a", 1)).growth_bytes_per_s = 50e6
    scene.memory.alter_reassignments({TopicPartition("c", 0): (3, 2)})
    scene.memory.alter_reassignments({TopicPartition("a", 2): (2, 1, 5)})
    plan = Plan(partitions=scene.plan.partitions[:-1], cluster_id="other")
    found = _verdicts(scene, plan=plan)
    assert found["cluster"] is Verdict.REFUSED
    assert found["drift"] is Verdict.REFUSED
    assert found["other-reassignments"] is Verdict.OVERRIDABLE
    assert found["under-replicated"] is Verdict.OVERRIDABLE
    assert found["throttle"] is Verdict.OVERRIDABLE
    assert found["offline-partitions"] is Verdict.OK


def test_checks_know_what_the_cluster_cannot_do(scene: Any) -> None:
    """Missing capabilities refuse what needs them, and warn of what is only safer with them."""
    scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=[Capability.CONFIGS, Capability.LOCK])
    found = _verdicts(scene)
    assert found["capabilities"] is Verdict.REFUSED
    assert found["other hosts"] is Verdict.WARNING


def test_a_check_is_overridden_by_its_own_name_only(scene: Any) -> None:
    """A check that may be overridden is by its name, by no other, and what is refused never."""
    scene.memory.alter_reassignments({TopicPartition("c", 0): (3, 2)})
    plan = Plan(partitions=scene.plan.partitions[:-1], cluster_id="simulated")
    checks = preflight(scene.environment(), plan, scene.options, None)
    with pytest.raises(UnsafeError) as refused:
        enforce(checks)
    assert refused.value.hint == "to run it all the same: --allow other-reassignments"
    with pytest.raises(UnsafeError):
        enforce(checks, set(Overridable) - {Overridable.OTHER_REASSIGNMENTS})
    enforce(checks, {Overridable.OTHER_REASSIGNMENTS})
    other = preflight(scene.environment(), Plan(partitions=plan.partitions, cluster_id="x"), scene.options, None)
    with pytest.raises(UnsafeError, match="the plan is for cluster x"):
        enforce(other, set(Overridable))


def _interrupted(scene: Any, call: int) -> Any:
    def die(made: Any) -> None:
        if made.number == call:
            raise scene.Crash

    scene.faulty.before.append(die)
    with pytest.raises(scene.Crash):
        apply(scene.environment(), scene.plan, scene.options)
    return scene.next_process()


def test_status_tells_what_is_true(scene: Any) -> None:
    """Status counts what the cluster shows, names the throttles, and is settled only when all is done."""
    environment = _interrupted(scene, 30)
    found = find_run(environment)
    assert found is not None
    status = run_status(scene.memory, found)
    assert not status.is_settled
    assert status.stages.total() == 7
    assert any("leader.replication.throttled.rate of broker" in t for t in status.throttles)
    assert not any("800000000" in t or "3000000" in t for t in status.throttles)
    resume(environment)
    found = find_run(scene.environment())
    assert found is not None
    done = run_status(scene.memory, found)
    assert done.is_settled
    assert done.stages == {Stage.PLACED: 7}


def test_status_after_somebody_moved_it_on(scene: Any) -> None:
    """A run that is done and then changed by somebody is no longer settled."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.memory.alter_reassignments({TopicPartition("b", 1): (2, 3)})
    found = find_run(scene.environment())
    assert found is not None
    status = run_status(scene.memory, found)
    assert [p.name for p in status.differing] == ["b-1"]


def test_repair_while_moves_go_on(scene: Any) -> None:
    """What is in flight keeps its throttle, and repair says so; later it puts back the rest."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    environment = _interrupted(scene, 31)
    first = repair_run(environment)
    assert any("still in flight" in p for p in first.pending)
    assert scene.configs_now() != scene.configs
    scene.memory.kafka.bandwidth_bytes_per_s = 1e9
    scene.memory.kafka.clock.sleep(3600.0)
    assert repair_run(scene.environment()).pending == []
    assert scene.configs_now() == scene.configs


def test_strays(scene: Any) -> None:
    """Throttles that nothing uses are listed, those of a topic that moves are not, and are removed when told."""
    scene.memory.kafka.bandwidth_bytes_per_s = 1.0
    scene.memory.alter_reassignments({TopicPartition("b", 0): (1, 4)})
    found = find_leftovers(scene.memory)
    of = {str(s.resource) for s in found}
    assert of == {"topic a", "topic c"}
    remove_leftovers(scene.environment(), found)
    assert find_leftovers(scene.memory) == ()
    gone = LeftoverThrottle(ConfigResource(ResourceKind.TOPIC, "none"), "k", "v")
    with pytest.raises(PartialFailureError, match="1 of 1"):
        remove_leftovers(scene.environment(), [gone])


def test_journal_of_another_cluster(scene: Any) -> None:
    """A journal is not applied to a cluster that it is not about."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.memory.kafka.parts.cluster_id = "another"
    with pytest.raises(UsageError, match="journal of another cluster: simulated, not another"):
        find_run(scene.environment(), scene.journal())


def test_file_lock(tmp_path: Path) -> None:
    """The lock of a host keeps a second process out and names the first."""
    lock = FileLock(tmp_path / "lock", "kafkabal on one (process 7)")
    with pytest.raises(BusyError, match="process 7"):
        FileLock(tmp_path / "lock", "two")
    assert lock.is_held()
    lock.release()
    lock.release()
    FileLock(tmp_path / "lock", "two").release()


def test_lock_without_permission_is_one_of_the_host(scene: Any, tmp_path: Path) -> None:
    """Where the cluster gives no lock, one of this host is in force, and says so."""
    bare = InMemoryCluster(scene.memory.kafka, without=[Capability.LOCK])
    lock = take_lock(bare, "me", 30.0, tmp_path / "lock")
    assert lock.scope == "this host only"
    lock.release()


class _Lock:
    """A lock as old as it is told to be."""

    scope = "test"

    def __init__(self, ages: list[float]) -> None:
        self.ages = ages

    def seconds_since_heartbeat(self) -> float:
        """The next age; the last one stays."""
        return self.ages.pop(0) if len(self.ages) > 1 else self.ages[0]

    def is_held(self) -> bool:
        """Always."""
        return True

    def release(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("ages", "raises"),
    [([1.0], None), ([16.0, 16.0, 1.0], LockRegainedError), ([16.0], UnreachableError)],
)
def test_fence(ages: list[float], raises: type[Exception] | None) -> None:
    """An effect passes on a fresh heartbeat; after an old one everything is looked at anew; silence has an end."""
    lock = _Lock(ages)
    fence = Fence(lock, lambda: lock, FakeClock(), session_s=30.0, give_up_s=60.0)
    if raises is None:
        fence.check()
    else:
        with pytest.raises(raises):
            fence.check()


def test_min_insync_is_kept(scene: Any) -> None:
    """A move after which too few replicas would be in sync is not started."""
    parts = scene.memory.kafka.parts
    parts.topics["a"].configs["min.insync.replicas"] = "3"
    scene.configs["topic a"]["min.insync.replicas"] = "3"
    change = msgspec.structs.replace(scene.plan.partitions[0], replicas=(1, 2), log_dirs=("any", "any"))
    scene.plan = Plan(partitions=(change,), cluster_id="simulated")
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    assert "min.insync.replicas" in result.problems["a-0"]
    scene.assert_as_at_start()
