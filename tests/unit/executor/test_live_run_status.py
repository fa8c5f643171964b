"""What status says of a run."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.clusters import ResourceKind
from kafkabal.clusters.simulated.fault_injection import Call
from kafkabal.errors import UnreachableError
from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.live_run_status import run_status
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.run_events import Submitted
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.journal_records import EffectKind
from kafkabal.model.topic_partition import TopicPartition


def test_status_agrees_with_the_cluster(scene: Any) -> None:
    """Status counts what the cluster shows, names the throttles, and is settled only when everything is done."""
    environment = scene.crash_at(30)
    found = find_run(environment)
    assert found is not None
    status = run_status(scene.memory, found)
    assert not status.is_as_planned
    assert status.stages.total() == 7
    assert any("leader.replication.throttled.rate of broker" in t for t in status.throttles)
    assert not any("800000000" in t or "3000000" in t for t in status.throttles)
    resume(environment)
    found = find_run(scene.environment())
    assert found is not None
    done = run_status(scene.memory, found)
    assert done.is_as_planned
    assert done.stages == {Stage.PLACED: 7}


def test_throttles_of_a_broker_that_cannot_be_read_are_unknown(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that died after the run may hold a throttle: neither set nor restored, so the run is not settled."""
    found = find_run(scene.crash_at(30))
    assert found is not None
    read = scene.memory.configs

    def without_brokers(resources: Any, keys: Any) -> Any:
        brokers = {r for r in resources if r.kind is ResourceKind.BROKER}
        values, faults = read(set(resources) - brokers, keys)
        return values, {**faults, **dict.fromkeys(brokers, "unreachable")}

    monkeypatch.setattr(scene.memory, "configs", without_brokers)
    status = run_status(scene.memory, found)
    assert not any("of broker" in throttle for throttle in status.throttles)
    assert status.unknown_throttles
    assert all(broker.endswith(": unreachable") for broker in status.unknown_throttles)


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
    """A completed run that somebody changed afterwards is no longer settled."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.memory.alter_reassignments({TopicPartition("b", 1): (2, 3)})
    found = find_run(scene.environment())
    assert found is not None
    status = run_status(scene.memory, found)
    assert [p.name for p in status.differing] == ["b-1"]
