"""What status says of a run."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.errors import UnreachableError
from kafkabal.executor.execute_run import apply, resume
from kafkabal.executor.live_run_status import run_status
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.state.find_run import find_run
from kafkabal.model.topic_partition import TopicPartition


def test_status_tells_what_is_true(scene: Any) -> None:
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


def test_status_after_somebody_moved_it_on(scene: Any) -> None:
    """A completed run that somebody changed afterwards is no longer settled."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.memory.alter_reassignments({TopicPartition("b", 1): (2, 3)})
    found = find_run(scene.environment())
    assert found is not None
    status = run_status(scene.memory, found)
    assert [p.name for p in status.differing] == ["b-1"]
