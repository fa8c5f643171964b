"""An unfinished run that no process works on is a finding, on the host that began it and on others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters import Fault
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.doctor.check_result import CheckStatus
from kafkabal.doctor.cluster_checks import _check_lock
from kafkabal.doctor.run_checks import check_latest_run
from kafkabal.executor import LockHolder, RunEnvironment, RunOptions, Throttle, apply, cancel, resume
from kafkabal.plan import PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic

_BEFORE = Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0"))
_PLAN = Plan(
    partitions=(PartitionChange(topic="t", partition=0, replicas=(1, 3), log_dirs=("any", "any"), previous=_BEFORE),)
)


class Crash(BaseException):
    """The process is killed."""


@pytest.fixture
def memory() -> InMemoryCluster:
    """Three brokers and a topic."""
    return InMemoryCluster.of(cluster(brokers(3), [topic("t", (1, 2), size_bytes=GB)]))


def _environment(memory: InMemoryCluster, folder: Path, host: str = "one") -> RunEnvironment:
    holder = LockHolder(host, 1)
    clock = memory.kafka.clock
    return RunEnvironment(cluster=memory, state_dir=folder / host, clock=clock, host=host, holder=holder)


def _found(memory: InMemoryCluster, folder: Path, host: str = "one") -> list[str]:
    checks = list(check_latest_run(_environment(memory.connect("doctor"), folder, host)))
    assert all(check.status is CheckStatus.WARNING and check.hint for check in checks)
    return [check.detail for check in checks]


def _crash(memory: InMemoryCluster, folder: Path, during: Callable[[], None] = lambda: None) -> None:
    """Let a run die while it moves."""

    def die() -> None:
        during()
        raise Crash

    memory.kafka.clock.at(memory.kafka.clock.monotonic() + 20.0, die)
    run = memory.connect("run")
    with pytest.raises(Crash):
        apply(_environment(run, folder), _PLAN, RunOptions(throttle=Throttle(bytes_per_s=5_000_000)))
    run.stop()


def test_a_run_that_was_killed(memory: InMemoryCluster, tmp_path: Path) -> None:
    """While its process lives there is nothing to do; once it is dead, any host names the run and what to type."""
    during: list[list[str]] = []
    _crash(memory, tmp_path, lambda: during.append(_found(memory, tmp_path)))
    assert during == [[]]
    memory.kafka.clock.sleep(60.0)
    (here,) = _found(memory, tmp_path)
    assert here.endswith("of one is unfinished (phase: moving); no process works on it")
    assert _found(memory, tmp_path, "two") == [here]
    resume(_environment(memory.connect("next"), tmp_path))
    assert _found(memory, tmp_path) == []


def test_throttles_that_a_run_could_not_restore(
    memory: InMemoryCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that has ended and left something is named together with what it left."""
    _crash(memory, tmp_path)
    memory.kafka.clock.sleep(60.0)

    def refuse(_: InMemoryCluster, changes: Any) -> Any:
        return {change.resource: Fault("POLICY_VIOLATION", "not this one") for change in changes}

    monkeypatch.setattr(InMemoryCluster, "alter_configs", refuse)
    cancel(_environment(memory.connect("next"), tmp_path))
    (left,) = _found(memory, tmp_path)
    assert " has ended and left: throttled replicas of topic t: POLICY_VIOLATION: not this one" in left


def test_a_run_that_was_overtaken_by_its_end(
    memory: InMemoryCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ends between two readings was live when it was read first, and is no finding."""
    _crash(memory, tmp_path)
    memory.kafka.clock.sleep(60.0)
    holders = InMemoryCluster.lock_holders

    def end_first(asked: InMemoryCluster) -> tuple[str, ...]:
        with monkeypatch.context() as patched:
            patched.setattr(InMemoryCluster, "lock_holders", holders)
            cancel(_environment(memory.connect("next"), tmp_path))
        return holders(asked)

    monkeypatch.setattr(InMemoryCluster, "lock_holders", end_first)
    assert _found(memory, tmp_path) == []


def test_a_dead_process_of_this_host_does_not_hold_the_lock(
    memory: InMemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its session has not expired, but the next command replaces it at once."""
    monkeypatch.setattr(memory, "lock_holders", lambda: (str(LockHolder.current("h")), "kafkabal of another host"))
    monkeypatch.setattr("kafkabal.executor.is_provably_gone", lambda owner: "another" not in owner)
    check = _check_lock(memory)  # type: ignore[arg-type]
    assert (check.status, check.detail) == (CheckStatus.NOTE, "held by kafkabal of another host")
