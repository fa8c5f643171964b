"""Runs that have ended: nothing executes them again, and a rollback skips what others have moved since."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan_file import write_plan
from tests.live.executor.scenery import KB
from tests.live.executor.stage import Stage


@pytest.fixture
def run_id(stage: Stage, tmp_path: Path) -> str:
    """A run that is complete."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    done = stage.command("apply", str(path), "--yes", "--force", "--throttle", "50MB")
    assert done.returncode == 0, done.stderr
    assert "measuring" not in done.stderr  # a given rate needs no measuring
    stage.assert_as_planned()
    return stage.journal().record.run_id


def test_a_complete_run_is_not_executed_again(stage: Stage, run_id: str) -> None:
    """After another tool moved a partition on, resume and cancel move nothing, and status suggests no resume."""
    moved = stage.moving(1)
    assert not stage.cluster.alter_reassignments({moved: (2, 3)})
    stage.until(lambda: not stage.in_flight() and stage.placement()[moved][0] == (2, 3))
    before = stage.placement()
    for words in (("resume", "--yes"), ("cancel",)):
        for host in ("one", "two"):
            said = stage.command(*words, host=host)
            assert said.returncode == 0, said.stderr
            assert run_id in said.stderr
    status = stage.command("status")
    assert "resume" not in status.stdout + status.stderr
    unnamed = stage.command("rollback", "--yes")
    assert (unnamed.returncode, f"kafkabal rebalance rollback {run_id}" in unnamed.stderr) == (2, True), unnamed.stderr
    assert stage.placement() == before
    stage.assert_clean()


def test_a_rollback_skips_partitions_changed_by_other_tools(stage: Stage, run_id: str) -> None:
    """A partition whose factor an operator raised is skipped, and all others are rolled back."""
    raised = stage.moving(1)  # from 1, 2 to 3, 2
    assert not stage.cluster.alter_reassignments({raised: (3, 2, 1)}, allow_replication_factor_change=True)
    stage.until(lambda: not stage.in_flight() and stage.placement()[raised][0] == (3, 2, 1))
    done = stage.command("rollback", run_id, "--yes")
    assert done.returncode == 1, done.stderr
    assert str(raised) in done.stderr
    assert stage.placement()[raised][0] == (3, 2, 1)
    assert all(found == stage.start[name] for name, found in stage.placement().items() if name != raised)
    stage.assert_clean()


def test_a_rollback_that_is_stopped(stage: Stage, run_id: str) -> None:
    """SIGTERM while replicas are copied back between log dirs: the copies are cancelled, then the throttle is
    removed."""
    throttle = replace(stage.slow.throttle, log_dir_bytes_per_s=20 * KB)
    process = stage.begin_when_free(replace(stage.slow, throttle=throttle), "roll back")
    stage.until(stage.copying)
    (copied, *_), before = stage.copying(), stage.placement()
    process.send(signal.SIGTERM)
    code, said = process.end()
    assert code == 1, said
    assert stage.journal().record.run_id == run_id
    assert stage.journal().state.outcome is RunOutcome.STOPPED
    # without its throttle it would arrive within a second
    stage.assert_clean()
    name = TopicPartition(copied.topic, copied.partition)
    assert stage.placement()[name][2][copied.broker] == before[name][2][copied.broker]
    stage.finish("roll back")
    stage.assert_as_at_start()


def test_plans_from_anywhere(stage: Stage, tmp_path: Path) -> None:
    """A plan on standard input is applied; one with escapes in its names is refused in plain text; a device by its
    size."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    words = ("apply", "-", "--yes", "--force", "--throttle", "50MB")
    done = stage.command(*words, given=path.read_text())
    assert done.returncode == 0, done.stderr
    stage.assert_as_planned()
    escaped = '{"version": 1, "partitions": [{"topic": "\\u001b]0;owned\\u0007", "partition": 0, "replicas": [1]}]}'
    refused = stage.command(*words, given=escaped)
    assert refused.returncode in (2, 4), refused.stderr
    assert not {"\x1b", "\x07"} & set(refused.stdout + refused.stderr)
    endless = stage.command("apply", "/dev/zero", "--yes")
    assert (endless.returncode, "bug" in endless.stderr) == (2, False), endless.stderr
    stage.assert_as_planned()
