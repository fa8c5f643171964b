"""Unattended commands: several at once, killed, cancelled from another host, interrupted twice."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from kafkabal.clusters import LockRequest
from kafkabal.clusters.cluster_protocol import NewTopic
from kafkabal.clusters.config_items import ConfigResource, ConfigSource, ResourceKind
from kafkabal.errors import BusyError
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS
from kafkabal.plan.plan_file import write_plan
from tests.live.executor.scenery import LONGEST_S
from tests.live.executor.stage import Stage

_BUSY = BusyError.exit_code


@pytest.fixture
def plan_file(stage: Stage, tmp_path: Path) -> Path:
    """The plan of the stage."""
    path = tmp_path / "plan.json"
    write_plan(stage.plan, path)
    return path


def _read_until(process: subprocess.Popen[str], text: str) -> str:
    """The output of a process when this text appears; fails if the process ends without it."""
    assert process.stdout is not None
    lines = [""]
    while text not in lines[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], lines
    return "".join(lines)


def _slowly(plan_file: Path) -> tuple[str, ...]:
    """A command whose moves stay in flight as long as a test needs."""
    return ("apply", str(plan_file), "--yes", "--force", "--throttle", "100kB")


def test_five_at_once(stage: Stage) -> None:
    """Of five cron jobs that start in the same second one works, and four say that the cluster is busy (75)."""
    words = stage.command_line("--yes", "-q", "--force")
    crowd = [
        subprocess.Popen(words, env=stage.environment_variables(f"host-{n}"), stderr=subprocess.PIPE, text=True)
        for n in range(5)
    ]
    said = [process.communicate(timeout=LONGEST_S)[1] for process in crowd]
    assert sorted(process.returncode for process in crowd) == [0, _BUSY, _BUSY, _BUSY, _BUSY], said
    assert [text for process, text in zip(crowd, said, strict=True) if process.returncode == 0] == [""]
    stage.assert_clean()


@pytest.mark.parametrize("then", ["resume", "apply", pytest.param("cancel", marks=pytest.mark.sweep)])
def test_takes_over_from_a_killed_process_at_once(stage: Stage, plan_file: Path, then: str) -> None:
    """On the host where the lock's holder was killed, no command waits for its session to expire (30 s)."""
    with stage.running(*_slowly(plan_file)) as process:
        stage.until(stage.in_flight)
        process.kill()
        process.wait()
        more = {
            "resume": ("resume", "--yes", "--throttle", "50MB"),
            "cancel": ("cancel",),
            "apply": ("apply", str(plan_file), "--yes", "--force", "--throttle", "50MB", "--max-runtime", "1s"),
        }
        done = stage.command(*more[then])
    # apply resumes the killed run first, until its own runtime is over
    assert done.returncode == (3 if then == "apply" else 0), done.stderr
    assert "locked by" not in done.stderr
    if then == "resume":
        stage.assert_as_planned()
    stage.assert_clean()


def test_waits_for_another_run_as_long_as_asked(stage: Stage, plan_file: Path) -> None:
    """With --wait a line names the holder; too short a time ends with 75, a longer one with the work done."""
    first = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    early = stage.command("apply", str(plan_file), "--yes", "--force", "--wait", "2s", host="two")
    assert early.returncode == _BUSY
    assert "waiting up to 2 s" in early.stderr
    with stage.running("apply", str(plan_file), "--yes", "--force", "--wait", "2m", host="two") as second:
        stage.hasten()
        assert first.end()[0] == 0
        said, _ = second.communicate(timeout=LONGEST_S)
    assert second.returncode == 0, said
    assert "all partitions are as planned" in said
    stage.assert_as_planned()


def test_cancelled_from_another_host(stage: Stage, plan_file: Path) -> None:
    """The live run cancels what is in flight, says why, and the canceller learns that it has ended."""
    with stage.running(*_slowly(plan_file)) as process:
        stage.until(stage.in_flight)
        asked = stage.command("cancel", host="two")
        said, _ = process.communicate(timeout=LONGEST_S)
    assert asked.returncode == 0, asked.stderr
    assert process.returncode == 3
    assert "has ended: its reassignments are cancelled; all throttles restored" in asked.stderr
    assert "cancelled by another command" in said
    assert stage.journal().state.outcome is RunOutcome.STOPPED
    stage.assert_clean()


def test_paused_watched_and_continued_from_another_host(stage: Stage) -> None:
    """While a run is paused nothing moves and no throttle is set; status shows everything; then it completes."""
    process = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    live = json.loads(stage.command("status", "-o", "json", host="two").stdout)
    assert live["phase"] == "moving"
    assert f"(process {process.popen.pid}, " in live["lock_holder"]
    assert 0 <= live["done_bytes"] < live["total_bytes"]
    assert live["bytes_per_s"] is not None
    paused = stage.command("pause", host="two")
    assert paused.returncode == 0, paused.stderr
    assert "is paused; continue with" in paused.stderr
    stage.assert_clean()
    status = stage.command("status", host="two")
    assert (status.returncode, "paused" in status.stdout) == (3, True), status.stdout
    gone_on = stage.command("resume", host="two")
    assert (gone_on.returncode, "asked it to resume" in gone_on.stderr) == (0, True), gone_on.stderr
    stage.until(stage.in_flight)
    with stage.running("status", "--watch", host="two") as watching:
        seen = _read_until(watching, " in flight, ")
        stage.hasten()
        code, said = process.end()
        watched, _ = watching.communicate(timeout=LONGEST_S)
    assert watching.returncode == 0, watched
    assert " in flight, " in seen
    assert code == 0, said
    stage.assert_as_planned()


def test_a_second_interrupt_releases_the_lock(stage: Stage, plan_file: Path) -> None:
    """A second interrupt aborts at once (130) and leaves moves in place, but another host can clean up at once."""
    with stage.running(*_slowly(plan_file), "--on-interrupt", "finish") as process:
        stage.until(stage.in_flight)
        process.send_signal(signal.SIGINT)
        _read_until(process, "stopping gracefully")
        time.sleep(0.3)  # two signals within 0.2 s are one
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 130, said
    assert "aborted; " in said
    stage.cluster.lock(LockRequest("one who does not know that the process is gone", 3.0)).release()
    assert stage.command("cancel", host="two").returncode == 0
    stage.assert_clean()


def test_a_dry_run_during_a_live_run(stage: Stage, plan_file: Path) -> None:
    """A dry run reports that the cluster is busy (75), not that a run crashed."""
    stage.begin(stage.slow)
    stage.until(stage.in_flight)
    for words in (("--dry-run",), ("apply", str(plan_file), "--dry-run")):
        dry_run = stage.command(*words, host="two")
        assert dry_run.returncode == _BUSY, dry_run.stderr
        assert "locked by kafkabal on one" in dry_run.stderr
    assert stage.in_flight()


def test_a_report_that_cannot_be_written(stage: Stage, plan_file: Path) -> None:
    """A complete run whose JSON goes to a full disk ends with 0 and a warning."""
    words = ("apply", str(plan_file), "--yes", "--force", "--throttle", "50MB", "-o", "json")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            stage.command_line(*words),
            env=stage.environment_variables("one"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "cannot write the output" in done.stderr
    stage.assert_as_planned()


@pytest.fixture
def long_named(stage: Stage) -> Iterator[str]:
    """A topic with the longest name that Kafka accepts, entirely on two brokers."""
    name = "n" * 249
    failed = stage.cluster.create_topics([NewTopic(name=name, assignment=((1, 2), (2, 1)))])
    assert not failed
    stage.until(lambda: len(stage.cluster.partition_status([name])) == 2)
    yield name
    admin = AdminClient({"bootstrap.servers": stage.sandbox.bootstrap_servers})
    admin.delete_topics([name])[name].result()


def test_the_longest_topic_name_moves(stage: Stage, long_named: str, tmp_path: Path) -> None:
    """A plan that names log dirs for it is applied, and reports that Kafka chooses them, for this topic only."""
    path = tmp_path / "long.json"
    dirs = [str(stage.sandbox.log_dirs(broker)[0]) for broker in (3, 4)]
    rows = [{"topic": long_named, "partition": n, "replicas": [3, 4], "log_dirs": dirs} for n in range(2)]
    path.write_text(json.dumps({"version": 1, "partitions": rows}))
    done = stage.command("apply", str(path), "--yes", "--force", "--throttle", "50MB")
    assert done.returncode == 0, done.stderr
    assert "a name too long for Kafka to choose a log dir" in done.stderr
    found = stage.cluster.partition_status([long_named])
    assert {status.replicas for status in found.values()} == {(3, 4)}
    undone = stage.command("rollback", stage.journal().record.run_id, "--yes")
    assert undone.returncode == 0, undone.stderr


def test_a_topic_created_again_is_another_topic(stage: Stage, tmp_path: Path) -> None:
    """An older plan is refused for it, though the new topic has the old one's placement."""
    path = tmp_path / "plan.json"
    made = stage.command("plan", "--out", str(path), "--topics", stage.moves, "--drain", "1")
    assert made.returncode == 0, made.stderr
    admin = AdminClient({"bootstrap.servers": stage.sandbox.bootstrap_servers})
    before = stage.cluster.partition_status([stage.moves])
    admin.delete_topics([stage.moves])[stage.moves].result()
    stage.until(lambda: not stage.cluster.partition_status([stage.moves]))
    assignment = tuple(before[name].replicas for name in sorted(before))
    assert not stage.cluster.create_topics([NewTopic(name=stage.moves, assignment=assignment)])
    stage.until(lambda: len(stage.cluster.partition_status([stage.moves])) == len(before))
    refused = stage.command("apply", str(path), "--yes", "--throttle", "50MB")
    assert refused.returncode == 4
    assert "deleted and created again" in refused.stderr


def test_a_topic_created_again_during_a_run_is_left_alone(stage: Stage, plan_file: Path) -> None:
    """Neither resume nor rollback of the killed run moves or throttles it, though it has the old one's placement."""
    with stage.running(*_slowly(plan_file)) as process:
        stage.until(stage.in_flight)
        process.kill()
        process.wait()
    admin = AdminClient({"bootstrap.servers": stage.sandbox.bootstrap_servers})
    assignment = tuple(stage.start[name][0] for name in sorted(stage.start) if name.topic == stage.moves)
    admin.delete_topics([stage.moves])[stage.moves].result()
    stage.until(lambda: not stage.cluster.partition_status([stage.moves]))
    assert not stage.cluster.create_topics([NewTopic(name=stage.moves, assignment=assignment)])
    stage.until(lambda: len(stage.cluster.partition_status([stage.moves])) == len(assignment))
    run_id = stage.journal().record.run_id
    for words in (("resume", "--yes", "--throttle", "50MB"), ("rollback", run_id, "--yes")):
        done = stage.command(*words)
        assert done.returncode == 0, done.stderr
        found = stage.cluster.partition_status([stage.moves])
        assert tuple(found[name].replicas for name in sorted(found)) == assignment
    assert not stage.cluster.reassignments()
    topic = ConfigResource(ResourceKind.TOPIC, stage.moves)
    configs, _ = stage.cluster.configs({topic}, LIST_KEYS)
    assert not [value for value in configs[topic].values() if value.source is ConfigSource.OWN]


def test_steps_that_take_seconds_are_announced(stage: Stage, plan_file: Path) -> None:
    """A run whose rate adapts to the load reports that it measures, before it does."""
    with stage.running("apply", str(plan_file), "--yes", "--force") as process:
        said, _ = process.communicate(timeout=LONGEST_S)
    assert process.returncode == 0, said
    assert said.index("measuring broker load for 6 s") < said.index(f"run {stage.journal().record.run_id}")
    stage.assert_as_planned()
