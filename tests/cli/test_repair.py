"""Broken clusters are repaired by the intended commands, or the command says why not."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.cli.commands.rebalance.run_session import RunSession
from kafkabal.clusters import ConfigResource, Fault, LockRequest, ResourceKind
from kafkabal.clusters.cluster_protocol import ReadRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster, MemoryRecordStore
from kafkabal.errors import ExitCode, RefusedByClusterError, UnreachableError
from kafkabal.executor import RunResult, ThrottleSearch, preflight, resume
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.replica_health import offline_replicas
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing.cluster_builders import brokers, cluster, partition
from tests.cli.simulated import Simulation, simulate

_MB = 10**6
_DEAD_AFTER_S = 600.0
_AT_ONCE = ("--max-runtime", "1m")
"""Leaves no time to wait for a broker that may come back."""


def _balanced() -> InMemoryCluster:
    """Five brokers with two log dirs, a normal topic and an internal one, spread evenly."""
    ring = [[1 + (i + k) % 5 for k in range(3)] for i in range(10)]
    rows = [partition(i, r, 10 * _MB, log_dirs=[i % 2] * 3) for i, r in enumerate(ring)]
    topics = [
        TopicRow(topic="img", partitions=rows),
        TopicRow(topic="__consumer_offsets", partitions=rows[:5], internal=True),
    ]
    return InMemoryCluster.of(cluster(brokers(5, dirs=2), topics))


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """A balanced cluster with its own clock."""
    return simulate(_balanced(), run_cli, monkeypatch)


def _die(simulation: Simulation, broker: int) -> None:
    """Let a broker be observed as dead for long enough."""
    simulation.memory.kafka.kill(broker)
    assert simulation.run("inspect", "-q").code == 0
    simulation.memory.kafka.clock.sleep(_DEAD_AFTER_S)


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-q",),
        ("--repair-only",),
        ("--drain", "4"),
        ("--drain", "4", "--exclude-brokers", "4"),
        ("--exclude-brokers", "4"),
    ],
)
def test_a_dead_broker_is_repaired_without_being_forced(simulation: Simulation, words: tuple[str, ...]) -> None:
    """Every command that an operator or an alert may run replaces all replicas of a dead broker, also internal ones."""
    _die(simulation, 4)
    done = simulation.run("rebalance", "--yes", *words)
    assert done.code == 0, done.err
    assert not any(4 in brokers for brokers in simulation.replicas().values())
    assert _broken(simulation) == 0


def test_a_repair_of_a_detached_run_says_how_to_end_it(simulation: Simulation) -> None:
    """Its throttles wait for its moves, not for brokers, which all respond."""
    drain = ("rebalance", "--yes", "--drain", "5", "--throttle", "2MB")
    detached = simulation.run(*drain, "--max-runtime", "2s", "--on-interrupt", "detach")
    assert detached.code == 3
    repaired = simulation.run("rebalance", "repair")
    assert (repaired.code, "continue with 'kafkabal rebalance resume" in repaired.err) == (1, True)
    assert "is unfinished (phase: detached)" in simulation.run(*drain).err


def test_a_run_that_met_a_dead_broker_keeps_no_later_one_from_repairing_it(simulation: Simulation) -> None:
    """The first run leaves a throttle on the dead broker; the next one repairs, and restores it once the broker is
    back."""
    kafka = simulation.memory.kafka
    kafka.clock.at(kafka.clock.monotonic() + 8.0, lambda: kafka.kill(4))
    first = simulation.run("rebalance", "--yes", "--drain", "5", "--throttle", "2MB")
    assert first.code == 1
    assert "still set: replication rates of broker 4" in first.err

    second = simulation.run("rebalance", "--yes", "--dead-after", "0", "--throttle", "2MB")
    assert "resuming it first" not in second.err
    assert "still set: replication rates of broker 4" in second.err
    assert _broken(simulation) == 0
    third = simulation.run("rebalance", "--yes", "-q", "--dead-after", "0")
    assert (third.code, third.err) == (0, "")

    kafka.start(4)
    assert simulation.run("rebalance", "--yes").code == 0
    assert not any(b.own_configs for b in kafka.parts.brokers.values())


def test_a_live_replica_out_of_sync_stops_a_run(simulation: Simulation) -> None:
    """A planned partition whose live follower lags stops the run, unless that check is allowed by its own name."""
    _die(simulation, 4)
    parts = simulation.memory.kafka.parts
    lagging = next(p for p in parts.partitions() if 4 in p.replicas and len(p.isr) == 2)
    behind = lagging.isr.pop()
    refused = simulation.run("rebalance", "--yes", "--repair-only")
    assert refused.code == 4
    assert f"live replicas out of sync: {lagging.name}" in refused.err
    assert "--allow under-replicated" in refused.err
    assert simulation.run("rebalance", "--yes", "--repair-only", "--allow", "throttle").code == 4
    clock = simulation.memory.kafka.clock
    clock.at(clock.monotonic() + 60.0, lambda: simulation.memory.kafka.start(behind))
    done = simulation.run("rebalance", "--yes", "--repair-only", "--allow", "under-replicated")
    assert done.code == 0, done.err
    assert f"{lagging.name} waits: the replica on broker {behind} is not in sync" in done.err


def test_a_lagging_replica_that_the_plan_replaces_blocks_nothing(simulation: Simulation) -> None:
    """Draining a live broker whose own replicas are out of sync proceeds: it removes just those."""
    for p in simulation.memory.kafka.parts.partitions():
        if 4 in p.isr:
            p.isr.remove(4)
            p.leader = p.isr[0]
    done = simulation.run("rebalance", "--yes", "--drain", "4")
    assert done.code == 0, done.err
    assert not any(4 in brokers for brokers in simulation.replicas().values())


def _verdict(simulation: Simulation) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(simulation.run("inspect", "-o", "json").out)
    return found


def _broken(simulation: Simulation) -> int:
    """Replicas on dead brokers or in offline log dirs, and partitions that are not fully in sync."""
    state = simulation.memory.read(ReadRequest()).state
    return int(offline_replicas(state).sum() + (~state.replicas.in_sync).sum())


def _dead(memory: InMemoryCluster) -> None:
    memory.kafka.kill(4)


def _dead_and_empty(memory: InMemoryCluster) -> None:
    for p in memory.kafka.parts.partitions():
        if 4 in p.replicas:
            other = next(b for b in (1, 2, 3, 5) if b not in p.replicas)
            p.replicas = [other if b == 4 else b for b in p.replicas]
            p.isr = list(p.replicas)
            p.logs[other] = p.logs.pop(4)
            p.leader = p.replicas[0]
    memory.kafka.kill(4)


def _offline_dir(memory: InMemoryCluster) -> None:
    memory.kafka.fail_log_dir(2, "/d1")


def _two_dead(memory: InMemoryCluster) -> None:
    memory.kafka.kill(4)
    memory.kafka.kill(5)


def _lost(memory: InMemoryCluster) -> None:
    """A partition whose only replica dies with its broker."""
    memory.kafka.add_topic(TopicRow(topic="single", partitions=[partition(0, [4], _MB)]))
    memory.kafka.kill(4)


def _uneven(memory: InMemoryCluster) -> None:
    rows = [partition(i, [1], 500 * _MB) for i in range(8)]
    memory.kafka.add_topic(TopicRow(topic="heavy", partitions=rows))


def _lagging(memory: InMemoryCluster) -> None:
    memory.kafka.parts.partitions().__next__().isr.pop()


def _hung(memory: InMemoryCluster) -> None:
    memory.kafka.pause(3)


@pytest.mark.parametrize(
    ("breakage", "code", "word"),
    [
        (_dead, 0, ""),
        (_dead_and_empty, 0, ""),
        (_two_dead, 0, ""),
        (_offline_dir, 0, ""),
        (_uneven, 0, ""),
        (_lost, 3, "no in-sync replica of single-0 is online"),
        (_lagging, None, "live replicas out of sync"),
        (_hung, None, ""),
    ],
)
def test_the_command_that_inspect_proposes_repairs_or_gives_a_reason(
    simulation: Simulation, breakage: Callable[[InMemoryCluster], None], code: int | None, word: str
) -> None:
    """The command that each verdict of inspect suggests is run for real.

    Without a suggested command, the verdict names what a person has to do."""
    breakage(simulation.memory)
    verdict = _verdict(simulation)
    simulation.memory.kafka.clock.sleep(_DEAD_AFTER_S)
    assert not verdict["headline"].startswith("Even")
    proposed = verdict["next_command"]
    if code is None:
        assert not proposed or "fair share" in verdict["headline"]
        assert word in verdict["headline"]
        return
    if not proposed:
        assert "0 replicas" in verdict["headline"]
        return
    words = [word for word in proposed.split(" --bootstrap-server")[0].split()[1:] if word != "--dry-run"]
    done = simulation.run(*words, "--yes")
    assert done.code == code, done.err
    assert word in done.err
    if code == 0:
        assert _broken(simulation) == 0
    else:
        assert simulation.run(*words, "--yes").code == code


def test_excluded_topics_stay_broken_and_say_so(simulation: Simulation) -> None:
    """A filter that excludes broken partitions ends with exit 3, even if nothing else is to be done."""
    _die(simulation, 4)
    words = ("rebalance", "--yes", "-q", "--repair-only", "--exclude-topics", "img")
    for _ in range(2):
        done = simulation.run(*words)
        assert done.code == 3
        assert "--exclude-topics keeps the replicas" in done.err
    assert simulation.memory.kafka.parts.partition(TopicPartition("__consumer_offsets", 0)) is not None
    assert not any(4 in b for name, b in simulation.replicas().items() if not name.startswith("img"))


def test_a_rolling_restart_starts_no_copy(simulation: Simulation) -> None:
    """While each broker in turn is down for minutes, a rebalance every minute moves nothing and says what it waits
    for."""
    before = simulation.replicas()
    kafka = simulation.memory.kafka
    for broker in (1, 2, 3, 4, 5):
        kafka.kill(broker)
        for _ in range(4):
            kafka.clock.sleep(60)
            done = simulation.run("rebalance", "--yes", *_AT_ONCE)
            assert done.code == 3, done.err
            assert f"broker {broker} was first seen dead" in done.err
            shown = simulation.run("rebalance", "--yes", "-q", "-o", "json", *_AT_ONCE)
            assert json.loads(shown.out)["run_id"] is None
            assert not kafka.catch_up().moving
        kafka.start(broker)
        kafka.clock.sleep(60)
        assert simulation.run("inspect", "-q").code == 0
    assert simulation.replicas() == before


@pytest.mark.parametrize(
    "words", [("--yes", "-q", *_AT_ONCE), ("--dry-run", "-q"), ("--yes", "-q", "--repair-only", *_AT_ONCE)]
)
def test_a_broker_that_is_waited_for_is_a_finding(simulation: Simulation, words: tuple[str, ...]) -> None:
    """A broker that is waited for causes exit 3, as in inspect --check, with one hint, also from cron; later 0."""
    kafka = simulation.memory.kafka
    kafka.kill(4)
    simulation.run("inspect", "-q")
    kafka.clock.sleep(120)
    assert simulation.run("inspect", "--check", "-q").code == ExitCode.FINDINGS
    done = simulation.run("rebalance", *words)
    assert (done.code, done.out) == (ExitCode.FINDINGS, "")
    said, hint = done.err.splitlines()
    assert "broker 4 was first seen dead 2 min ago and may come back: nothing is moved before 10 min" in said
    assert "run it again in 8 min or later" in hint
    kafka.clock.sleep(480)
    repaired = simulation.run("rebalance", "--yes", "-q")
    assert (repaired.code, repaired.out, repaired.err) == (0, "", "")
    assert _broken(simulation) == 0


def test_the_grace_counts_from_the_first_sight_of_any_command(simulation: Simulation) -> None:
    """The grace restarts once the broker was seen alive, ends on time, and 0 means immediately."""
    kafka = simulation.memory.kafka
    kafka.kill(4)
    assert simulation.run("inspect", "-q").code == 0
    kafka.clock.sleep(590)
    kafka.start(4)
    assert simulation.run("inspect", "-q").code == 0
    kafka.clock.sleep(60)
    kafka.kill(4)
    simulation.run("rebalance", "--yes", *_AT_ONCE)
    kafka.clock.sleep(590)
    simulation.run("rebalance", "--yes", "--max-runtime", "5s")
    assert any(4 in b for b in simulation.replicas().values())
    kafka.clock.sleep(20)
    assert simulation.run("rebalance", "--yes").code == 0
    assert not any(4 in b for b in simulation.replicas().values())
    kafka.kill(5)
    assert simulation.run("rebalance", "--yes", "--dead-after", "0").code == 0
    assert not any(5 in b for b in simulation.replicas().values())


def test_a_topic_with_the_longest_name_is_moved(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Kafka cannot choose the log dir of such a topic, so none is requested, between brokers or on one."""
    name = "x" * 249
    rows = [partition(i, [1, 2], 100 * _MB, log_dirs=[0, 0]) for i in range(6)]
    memory = InMemoryCluster.of(cluster(brokers(4, dirs=2), [TopicRow(topic=name, partitions=rows)]))
    simulation = simulate(memory, run_cli, monkeypatch)
    done = simulation.run("rebalance", "--yes", "--drain", "1")
    assert done.code == 0, done.err
    assert not any(1 in b for b in simulation.replicas().values())
    again = simulation.run("rebalance", "--yes", "--drain", "1")
    assert (again.code, "nothing to do" in again.err) == (0, True), again.err


def test_a_dry_run_while_a_run_is_live_is_busy(simulation: Simulation) -> None:
    """A dry run reports a live run as busy (75), and a crashed one with how to end it (4)."""
    _uneven(simulation.memory)

    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        assert simulation.run("rebalance", "--yes", "--throttle", "1MB").code == 1
    crashed = simulation.run("rebalance", "--dry-run")
    assert (crashed.code, "is unfinished" in crashed.err) == (4, True), crashed.err
    live = simulation.memory.connect("another").lock(LockRequest("a live run", 30.0))
    busy = simulation.run("rebalance", "--dry-run")
    assert (busy.code, "locked by a live run" in busy.err) == (75, True), busy.err
    live.release()


def test_a_process_that_lost_its_lock_before_its_checks_is_busy(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process suspended before its preflight checks meets the moves of another run: that is busy (75), not unsafe."""
    _uneven(simulation.memory)
    kafka, client = simulation.memory.kafka, simulation.memory.connect("simulated")
    monkeypatch.setattr("kafkabal.clusters.connect", lambda *_: client)

    def check_after_a_pause(*arguments: Any, **named: Any) -> Any:
        client.stop()
        kafka.clock.sleep(40.0)
        other = simulation.memory.connect("another")
        other.lock(LockRequest("a live run", 30.0))
        assert not other.alter_reassignments({TopicPartition("heavy", 7): (2,)})
        client.resume_process()
        return preflight(*arguments, **named)

    monkeypatch.setattr("kafkabal.executor.preflight", check_after_a_pause)
    done = simulation.run("rebalance", "--yes", "--throttle", "50MB", "--topics", "img")
    assert (done.code, "locked by a live run" in done.err) == (75, True), done.err


def test_a_signal_at_the_end_of_a_resumed_run_begins_no_other(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that was resumed first is complete when the signal comes: the command ends (143) and plans nothing."""
    _uneven(simulation.memory)
    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        assert simulation.run("rebalance", "--yes", "--throttle", "1MB").code == 1

    def resume_and_be_stopped(*arguments: Any, **named: Any) -> RunResult:
        result = resume(*arguments, **named)
        os.kill(os.getpid(), signal.SIGTERM)
        return result

    monkeypatch.setattr("kafkabal.executor.resume", resume_and_be_stopped)
    done = simulation.run("rebalance", "--yes", "--throttle", "50MB")
    assert (done.code, "stopped before a new plan was made" in done.err) == (143, True), done.err
    assert not simulation.memory.reassignments()


@pytest.mark.parametrize("word", ["pause", "cancel"])
def test_a_run_is_asked_although_its_lock_cannot_be_reached(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """While the coordinator of the lock is away, a live run learns of a pause or a cancel as it does otherwise."""
    _uneven(simulation.memory)
    asked: list[Any] = []

    def no_coordinator(*_: Any, **__: Any) -> Any:
        raise UnreachableError("coordinator of group g not available")

    def ask() -> bool:
        if not asked and simulation.memory.kafka.catch_up().moving:
            asked.append(None)
            with monkeypatch.context() as away:
                away.setattr(InMemoryCluster, "lock", no_coordinator)
                asked.append(simulation.run("rebalance", word, "--wait", "1s"))
        return False

    with simulation.crashing_when(ask):
        run = simulation.run("rebalance", "--yes", "--throttle", "1MB", "--max-runtime", "5m")
    assert asked[1].code == 1
    assert re.search(f"coordinator of group g not available: asked run \\S+ to {word}", asked[1].err)
    assert "as soon as it reads the request, if a process works on it" in asked[1].err
    reached = {"pause": "stopped: --max-runtime reached", "cancel": "stopped: cancelled by another command"}
    assert (run.code, reached[word] in run.err) == (3, True), run.err
    assert not simulation.memory.reassignments()


def test_a_live_run_that_is_cancelled_stays_cancelled(simulation: Simulation) -> None:
    """As one whose process has died: its status is not a finding, and neither a resume nor a cron job continues it."""
    _uneven(simulation.memory)
    asked: list[Any] = []

    def ask() -> bool:
        if not asked and simulation.memory.kafka.catch_up().moving:
            asked.append(None)
            asked.append(simulation.run("rebalance", "cancel", "--wait", "1s"))
        return False

    with simulation.crashing_when(ask):
        run = simulation.run("rebalance", "--yes", "--throttle", "1MB")
    assert asked[1].code == 75
    assert run.code == 3
    assert "hint: make a new plan with 'kafkabal rebalance " in run.err
    status = simulation.run("rebalance", "status")
    assert (status.code, "cancelled; nothing in flight" in status.out) == (0, True)
    resumed = simulation.run("rebalance", "resume", "--yes")
    assert (resumed.code, "is cancelled: nothing to resume" in resumed.err) == (0, True)
    assert "cancelled" in simulation.run("rebalance", "history").out


def test_a_run_that_cannot_be_asked_to_cancel_names_its_process(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With too few replicas alive for its record, it can still be stopped by a signal on its host."""
    _uneven(simulation.memory)
    asked: list[Any] = []

    def too_few(*_: Any, **__: Any) -> None:
        raise RefusedByClusterError("cannot write to topic __kafkabal: NOT_ENOUGH_REPLICAS")

    def ask() -> bool:
        if not asked and simulation.memory.kafka.catch_up().moving:
            asked.append(None)
            with monkeypatch.context() as away:
                away.setattr(MemoryRecordStore, "put", too_few)
                asked.append(simulation.run("rebalance", "cancel"))
        return False

    with simulation.crashing_when(ask):
        assert simulation.run("rebalance", "--yes").code == 0
    assert asked[1].code == 1
    assert re.search(r"error: cannot ask run \S+: cannot write to topic __kafkabal: NOT_ENOUGH_REPLICAS", asked[1].err)
    assert re.search(r"hint: cluster locked by .*: SIGTERM stops it on its host; .* may still follow", asked[1].err)


def test_a_paused_run_whose_process_died_is_not_resumed(simulation: Simulation) -> None:
    """Cron does not continue it (75); resume does, and then it no longer counts as paused."""
    _uneven(simulation.memory)
    clock = simulation.memory.kafka.clock
    began_s, asked = clock.monotonic(), []

    def pause_and_die() -> bool:
        if not asked and simulation.memory.kafka.catch_up().moving:
            asked.append("pause")
            asked.append(simulation.run("rebalance", "pause", "--wait", "1s").code)
        return clock.monotonic() > began_s + 120.0

    with simulation.crashing_when(pause_and_die):
        assert simulation.run("rebalance", "--yes", "--throttle", "1MB").code == 1
    assert asked == ["pause", 75]
    cron = simulation.run("rebalance", "--yes", "-q")
    assert (cron.code, "is paused, and its process has ended" in cron.err) == (75, True), cron.err
    done = simulation.run("rebalance", "resume", "--yes", "--throttle", "50MB")
    assert done.code == 0, done.err
    after = simulation.run("rebalance", "--yes", "-q")
    assert (after.code, after.err) == (0, "")


@pytest.mark.parametrize(
    ("given", "bytes_per_s"),
    [
        ((), 10 * 10**6),
        (("--throttle", "80MB"), 80 * 10**6),
        (("--throttle", "auto"), 10 * 10**6),
        (("--throttle", "none"), 10 * 10**6),
    ],
    ids=str,
)
def test_a_crashed_run_is_resumed_at_the_rate_that_is_typed(
    simulation: Simulation, tmp_path: Path, given: tuple[str, ...], bytes_per_s: int
) -> None:
    """A new rate in the crontab applies, but no other new option; without one the run keeps its own rate."""
    _uneven(simulation.memory)
    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        assert simulation.run("rebalance", "--yes", "--throttle", "10MB", "--moves-per-broker", "3").code == 1
    done = simulation.run("rebalance", "--yes", *given)
    assert done.code == 0, done.err
    assert "resuming it first" in done.err
    journal = min(tmp_path.rglob("*.jsonl"))
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert records[0]["options"]["limits"]["moves_in_per_broker"] == 3
    rates = [r["throttle"]["bytes_per_s"] for r in records if r["record"] == "throttle"]
    assert (rates or [10 * 10**6])[-1] == bytes_per_s
    assert records[-1]["record"] == "closed"


def test_a_short_grace_is_waited_for(simulation: Simulation) -> None:
    """A broker dead for less than a grace of seconds is repaired by that same command, not by a later one."""
    kafka = simulation.memory.kafka
    kafka.kill(4)
    done = simulation.run("rebalance", "--yes", "--dead-after", "30s")
    assert done.code == 0, done.err
    assert "waiting 30 s (--dead-after)" in done.err
    assert not any(4 in b for b in simulation.replicas().values())
    kafka.kill(5)
    quiet = simulation.run("rebalance", "--yes", "-q", "--dead-after", "1s")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert _broken(simulation) == 0


def test_a_broker_that_comes_back_within_a_short_grace_keeps_its_replicas(simulation: Simulation) -> None:
    """The cluster is read again after the wait, so nothing is copied off a broker that was only restarted."""
    kafka, before = simulation.memory.kafka, simulation.replicas()
    kafka.kill(4)
    sleep = kafka.clock.sleep

    def sleep_and_start(seconds: float) -> None:
        sleep(seconds)
        kafka.start(4)

    kafka.clock.sleep = sleep_and_start  # type: ignore[method-assign]
    assert simulation.run("rebalance", "--yes", "--dead-after", "30s").code == 0
    assert {name: set(b) for name, b in simulation.replicas().items()} == {n: set(b) for n, b in before.items()}


def test_the_first_night_that_sees_a_broker_dead_repairs_it(simulation: Simulation) -> None:
    """The nightly cron job waits for the grace and repairs, silently, in the first night."""
    simulation.memory.kafka.kill(4)
    done = simulation.run("rebalance", "--yes", "-q")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert _broken(simulation) == 0


@pytest.mark.parametrize("away_s", [None, 20.0])
@pytest.mark.parametrize("from_file", [False, True], ids=["rebalance", "apply"])
def test_what_fails_during_a_run_is_a_finding_of_that_run(
    simulation: Simulation, tmp_path: Path, away_s: float | None, from_file: bool
) -> None:
    """Nothing planned needs the failed broker, but cron must report it tonight, unless it was only restarted."""
    kafka = simulation.memory.kafka
    _uneven(simulation.memory)
    words: tuple[str, ...] = ("rebalance", "--topics", "heavy", "--exclude-brokers", "5")
    if from_file:
        plan = str(tmp_path / "plan.json")
        assert simulation.run("rebalance", "plan", *words[1:], "--out", plan).code == 0
        words = ("rebalance", "apply", plan)
    kafka.bandwidth_bytes_per_s = 1e8
    kafka.clock.at(kafka.clock.monotonic() + 10.0, lambda: kafka.kill(5))

    def has_moved() -> bool:
        return not kafka.catch_up().moving and kafka.clock.monotonic() > 10.0

    sleep = kafka.clock.sleep

    def sleep_and_start(seconds: float) -> None:
        sleep(seconds)
        if away_s is not None and has_moved() and not kafka.parts.brokers[5].responds:
            kafka.clock.at(kafka.clock.monotonic() + away_s, lambda: kafka.start(5))

    kafka.clock.sleep = sleep_and_start  # type: ignore[method-assign]
    done = simulation.run(*words, "--yes", "--throttle", "50MB")
    assert done.code == (3 if away_s is None else 0), done.err
    assert ("kafkabal: replicas went offline during the run: " in done.err) is (away_s is None)


def test_a_clock_that_is_set_ahead_does_not_end_the_wait(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grace of a broker is a duration: setting the clock ahead by an hour does not end it."""
    kafka = simulation.memory.kafka
    kafka.kill(4)
    clock, began_s, moved_s = kafka.clock, kafka.clock.monotonic(), list[float]()
    utc_now = clock.utc_now
    clock.at(began_s + 60, lambda: monkeypatch.setattr(clock, "utc_now", lambda: utc_now() + timedelta(hours=1)))
    alter = InMemoryCluster.alter_reassignments

    def note(*arguments: Any, **options: Any) -> Any:
        moved_s.append(clock.monotonic())
        return alter(*arguments, **options)

    monkeypatch.setattr(InMemoryCluster, "alter_reassignments", note)
    assert simulation.run("rebalance", "--yes", "-q").code == 0
    assert _broken(simulation) == 0
    assert moved_s[0] - began_s >= _DEAD_AFTER_S


def test_a_broker_that_is_restarted_during_the_wait_ends_it(simulation: Simulation) -> None:
    """Once the broker is back, the command continues at once: nothing is copied, and the grace is cut short."""
    kafka, before = simulation.memory.kafka, simulation.replicas()
    kafka.kill(4)
    began_s, sleep = kafka.clock.monotonic(), kafka.clock.sleep

    def sleep_and_start(seconds: float) -> None:
        sleep(seconds)
        if kafka.clock.monotonic() - began_s > 240 and not kafka.parts.brokers[4].responds:
            kafka.start(4)

    kafka.clock.sleep = sleep_and_start  # type: ignore[method-assign]
    assert simulation.run("rebalance", "--yes", "-q").code == 0
    assert {name: set(b) for name, b in simulation.replicas().items()} == {n: set(b) for n, b in before.items()}
    assert kafka.clock.monotonic() - began_s < _DEAD_AFTER_S


def test_a_grace_longer_than_usual_is_left_to_the_next_run(simulation: Simulation) -> None:
    """With a grace of an hour, a command that finds a broker dead for the first time exits with 3 and says when to
    retry."""
    simulation.memory.kafka.kill(4)
    done = simulation.run("rebalance", "--yes", "-q", "--dead-after", "1h")
    assert done.code == 3
    assert "nothing is moved before 1 h (--dead-after)" in done.err


def test_an_operator_may_act_during_the_wait(simulation: Simulation) -> None:
    """The lock is free during the wait; if another command repairs meanwhile, the waiting one has nothing to do."""
    kafka = simulation.memory.kafka
    kafka.kill(4)
    sleep, codes = kafka.clock.sleep, []

    def sleep_and_repair(seconds: float) -> None:
        kafka.clock.sleep = sleep  # type: ignore[method-assign]
        codes.append(simulation.run("rebalance", "--yes", "-q", "--repair-only", "--dead-after", "0").code)

    kafka.clock.sleep = sleep_and_repair  # type: ignore[method-assign]
    done = simulation.run("rebalance", "--yes", "--repair-only")
    assert (done.code, codes) == (0, [0])
    assert "nothing to do" in done.err


def test_damage_that_no_move_repairs_is_named_with_exit_3(simulation: Simulation) -> None:
    """If inspect calls a cluster broken and the plan is empty, the command says what stays broken."""
    _lagging(simulation.memory)
    done = simulation.run("rebalance", "--yes", "-q")
    assert done.code == 3
    assert "not repaired: 1 partition with live replicas out of sync" in done.err


@pytest.mark.parametrize(
    ("damage", "clause"),
    [(_hung, "broker 3 did not report its log dirs"), (_lagging, "1 partition with live replicas out of sync")],
)
def test_damage_that_no_plan_repairs_is_named(
    simulation: Simulation, damage: Callable[[InMemoryCluster], None], clause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty plan does not say that nothing is broken, and a dry run ends with 3 at once, as inspect --check does."""
    monkeypatch.setattr("kafkabal.clusters.simulated.simulated_kafka.BROKER_SESSION_S", 3600.0)
    damage(simulation.memory)
    assert simulation.run("inspect", "--check", "-q").code == ExitCode.FINDINGS
    plan = simulation.run("rebalance", "plan", "--repair-only", "-o", "json")
    document = json.loads(plan.out)
    assert (plan.code, document["headline"].partition(";")[0]) == (0, "nothing to repair by moving replicas")
    assert any(note == f"{clause}: moving replicas does not repair this" for note in document["notes"])
    tried = simulation.run("rebalance", "--dry-run", "--repair-only", "-q")
    assert (tried.code, f"not repaired: {clause}" in tried.err) == (ExitCode.FINDINGS, True)
    assert simulation.run("rebalance", "--dry-run", "-q", "--allow", "under-replicated").code == ExitCode.DONE


def test_damage_done_during_a_run_is_named_with_exit_3(simulation: Simulation) -> None:
    """The verdict is about the cluster after the run: a replica that fell out of sync meanwhile is a finding."""
    kafka = simulation.memory.kafka
    beside = next(p for p in kafka.parts.partitions() if 5 not in p.replicas)
    kafka.clock.at(kafka.clock.monotonic() + 8.0, lambda: beside.isr.remove(beside.replicas[-1]))
    done = simulation.run("rebalance", "--yes", "--drain", "5", "--throttle", "2MB")
    assert "broker 5 is safe to stop" in done.err
    assert done.code == 3
    assert "not repaired: 1 partition with live replicas out of sync" in done.err


def test_a_broker_that_is_about_to_be_fenced_counts_as_dead(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed broker that is still registered is waited for; with a short grace the same command repairs it."""
    monkeypatch.setattr("kafkabal.clusters.simulated.simulated_kafka.BROKER_SESSION_S", 18.0)
    _hung(simulation.memory)
    done = simulation.run("rebalance", "--yes", "--dead-after", "0")
    assert done.code == 0, done.err
    assert "broker 3 did not respond: waiting" in done.err
    assert not any(3 in b for b in simulation.replicas().values())


def test_a_replica_that_catches_up_in_time_is_not_a_finding(simulation: Simulation) -> None:
    """The end of a restart, over within half a minute, ends silently with exit 0."""
    _lagging(simulation.memory)
    lagging = next(p for p in simulation.memory.kafka.parts.partitions())
    sleep = simulation.memory.kafka.clock.sleep

    def sleep_and_catch_up(seconds: float) -> None:
        sleep(seconds)
        lagging.isr = list(lagging.replicas)

    simulation.memory.kafka.clock.sleep = sleep_and_catch_up  # type: ignore[method-assign]
    quiet = simulation.run("rebalance", "--yes", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_another_host_knows_from_the_cluster_since_when_a_broker_is_dead(
    simulation: Simulation, tmp_path: Path
) -> None:
    """What one host saw counts for a host that never looked; if the other saw the broker alive, the grace restarts."""
    kafka = simulation.memory.kafka
    kafka.kill(4)
    assert simulation.run("rebalance", "--yes", "-q", *_AT_ONCE).code == 3
    seen = tmp_path / "state" / "brokers"
    kafka.clock.sleep(500)
    kafka.start(4)
    shutil.move(seen, tmp_path / "other")
    simulation.run("inspect", "-q")  # a second host
    kafka.kill(4)
    kafka.clock.sleep(200)
    assert "first seen dead just now" in simulation.run("rebalance", "--yes", *_AT_ONCE).err
    shutil.rmtree(seen)  # a third host, which has never looked
    kafka.clock.sleep(300)
    done = simulation.run("rebalance", "--yes", *_AT_ONCE)
    assert (done.code, "first seen dead 5 min ago" in done.err) == (ExitCode.FINDINGS, True), done.err


def test_brokers_that_died_together_are_named_together(simulation: Simulation) -> None:
    """A rack that fails gives one clause, not one for each of its brokers."""
    for broker in (4, 5):
        simulation.memory.kafka.kill(broker)
    said = simulation.run("rebalance", "--yes", *_AT_ONCE).err
    assert "brokers 4, 5 were first seen dead just now and may come back" in said


def test_apply_waits_for_a_broker_that_may_come_back(simulation: Simulation, tmp_path: Path) -> None:
    """A plan that changes partitions of a broker that has just died is refused, with the option that allows it."""
    plan = tmp_path / "plan.json"
    assert simulation.run("rebalance", "plan", "--drain", "3", "--out", str(plan), "-q").code == 0
    simulation.memory.kafka.kill(4)
    words = ("rebalance", "apply", str(plan), "--yes", "--skip-drifted")
    refused = simulation.run(*words)
    assert refused.code == 4
    assert "--allow recently-dead" in refused.err
    assert simulation.run(*words, "--dead-after", "0").code == 0


def test_draining_an_unregistered_broker_succeeds(simulation: Simulation) -> None:
    """A completed drain ends with 0 although the broker is gone; a drain of an unknown broker is refused."""
    _dead_and_empty(simulation.memory)
    simulation.run("inspect", "-q")
    del simulation.memory.kafka.parts.brokers[4]
    for words in (("--yes",), ("--dry-run",)):
        done = simulation.run("rebalance", *words, "--drain", "4")
        assert done.code == 0, done.err
        assert "broker 4 holds no replicas and is not registered with this cluster" in done.err
        excluded = simulation.run("rebalance", *words, "--exclude-brokers", "4")
        assert excluded.code == 0, excluded.err
        slip = simulation.run("rebalance", *words, "--drain", "44")
        assert slip.code == 2
    assert simulation.run("rebalance", "plan", "--drain", "4", "-q").code == 0
    assert simulation.run("rebalance", "plan", "--drain", "44", "-q").code == 2


def test_checking_the_drain_of_an_unregistered_broker(simulation: Simulation) -> None:
    """The check says that it may be stopped, also to scripts; others are checked as usual, unknown ones refused."""
    _dead_and_empty(simulation.memory)
    simulation.run("inspect", "-q")
    del simulation.memory.kafka.parts.brokers[4]
    checked = simulation.run("rebalance", "--drain", "4", "--check")
    assert (checked.code, checked.out) == (0, "")
    assert "broker 4 holds no replicas and is not registered with this cluster" in checked.err
    as_json = json.loads(simulation.run("rebalance", "--drain", "4", "--check", "-o", "json").out)
    assert (as_json["can_drain"], as_json["replicas"]) == (True, 0)
    assert simulation.run("rebalance", "--drain", "3,4", "--check").out.startswith("broker 3: ")
    assert simulation.run("rebalance", "--drain", "44", "--check").code == 2


def _edited(path: Path, **change: Any) -> None:
    """Edit the first partition of a plan by hand, as the user's own plan."""
    plan = json.loads(path.read_text())
    plan.pop("kafkabal")
    plan["partitions"] = plan["partitions"][:1]
    plan["partitions"][0] |= change
    path.write_text(json.dumps(plan))


def test_a_plan_that_changes_a_replication_factor_is_refused(simulation: Simulation, tmp_path: Path) -> None:
    """The plan is refused, also in a dry run, unless that is allowed by name or the plan was made for it."""
    plan = tmp_path / "plan.json"
    simulation.run("rebalance", "plan", "--drain", "3", "--out", str(plan), "-q")
    _edited(plan, replicas=[1], log_dirs=["any"])
    name = json.loads(plan.read_text())["partitions"][0]
    for words in (("--yes",), ("--dry-run",)):
        refused = simulation.run("rebalance", "apply", str(plan), *words)
        assert refused.code == 4
        assert f"{name['topic']}-{name['partition']} from 3 to 1" in refused.err
    allowed = simulation.run("rebalance", "apply", str(plan), "--yes", "--allow", "replication-factor")
    assert allowed.code == 0, allowed.err
    simulation.run("rebalance", "plan", "--replication-factor", "2", "--out", str(plan), "-q")
    assert simulation.run("rebalance", "apply", str(plan), "--dry-run").code == 0


def test_a_plan_that_breaks_a_rule_is_refused(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Fewer racks and a cordoned target are refused: each can be allowed by its own name."""
    rows = brokers(5, racks=3, dirs=1)
    closed = replace(rows[4].log_dirs[0], state="cordoned")
    rows[4] = replace(rows[4], log_dirs=[closed])
    topics = [TopicRow(topic="img", partitions=[partition(0, [1, 2, 3], _MB)])]
    simulation = simulate(InMemoryCluster.of(cluster(rows, topics)), run_cli, monkeypatch)
    plan = tmp_path / "plan.json"
    for replicas, check in (([1, 2, 4], "rack-spread"), ([1, 5, 3], "closed-target")):
        text = {"version": 1, "partitions": [{"topic": "img", "partition": 0, "replicas": replicas}]}
        plan.write_text(json.dumps(text))
        refused = simulation.run("rebalance", "apply", str(plan), "--yes")
        assert refused.code == 4
        assert f"--allow {check}" in refused.err
        assert simulation.run("rebalance", "apply", str(plan), "--dry-run", "--allow", check).code == 0


def test_names_of_a_cluster_do_not_steer_the_terminal(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Racks and log dirs with escapes appear as text in table, CSV and messages; a formula in CSV is neutralised."""
    rack, path = "\x1b]0;owned\x07", "=cmd|'/c calc'!A1"
    rows = [replace(row, rack=rack, log_dirs=[replace(row.log_dirs[0], path=path)]) for row in brokers(3)]
    topics = [TopicRow(topic="img", partitions=[partition(i, [1], _MB) for i in range(6)])]
    simulation = simulate(InMemoryCluster.of(cluster(rows, topics)), run_cli, monkeypatch)
    outputs = [
        simulation.run("inspect", "--by", by, "-o", form)
        for by in ("broker", "rack", "log-dir")
        for form in ("table", "csv")
    ]
    outputs.append(simulation.run("rebalance", "--dry-run"))
    for done in outputs:
        assert not any(c in done.out + done.err for c in "\x1b\x07"), done
    assert "'=cmd" in outputs[-2].out


def test_a_drain_is_checked_before_it_is_begun(simulation: Simulation) -> None:
    """--check reports by its exit code whether a broker can be drained, and changes nothing."""
    before = simulation.replicas()
    good = simulation.run("rebalance", "--drain", "4", "--check")
    assert (good.code, "can be drained" in good.out) == (0, True), good.err
    bad = simulation.run("rebalance", "--drain", "2,3,4", "--check", "-o", "json")
    assert bad.code == 4
    assert {b["topic"] for b in json.loads(bad.out)["blockers"]} == {"img", "__consumer_offsets"}
    assert "cannot be drained" in simulation.run("rebalance", "--drain", "2,3,4", "--check", "-q").out
    assert simulation.run("rebalance", "--check").code == 2
    assert simulation.replicas() == before


def test_a_drain_check_names_brokers_that_vote_for_the_controller(simulation: Simulation) -> None:
    """A drained broker that is then stopped would leave the quorum with a vote less."""
    simulation.memory.kafka.parts.quorum_voters = frozenset({4, 5, 6})
    note = "broker 4 votes in the controller quorum: remove it there before you stop it"
    assert note in simulation.run("rebalance", "--drain", "4", "--check").out
    assert "quorum" not in simulation.run("rebalance", "--drain", "3", "--check").out


def test_the_command_proposed_after_a_drain_check_runs_as_printed(run_cli: Callable[..., Any]) -> None:
    """The suggested command selects the same cluster; for a snapshot, which is never written, it makes a plan."""
    lopsided = str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")
    shown = run_cli("rebalance", "--drain", "6", "--check", "--snapshot", lopsided)
    command = f"kafkabal rebalance plan --drain 6 --snapshot {lopsided}"
    assert f"next: {command}\n" in shown.out
    assert run_cli(*command.split()[1:]).code == 0


def test_a_drain_check_says_that_balancing_may_move_more(run_cli: Callable[..., Any]) -> None:
    """A plan without balancing moves fewer bytes, at least those of the check, and a note names the option."""
    drain = ("--drain", "1", "--snapshot", str(Path(__file__).parent / "snapshots" / "lopsided.jsonl"), "-o", "json")
    shown = json.loads(run_cli("rebalance", "--check", *drain).out)
    least = json.loads(run_cli("rebalance", "plan", "--repair-only", *drain).out)["moved_bytes"]
    full = json.loads(run_cli("rebalance", "plan", *drain).out)["moved_bytes"]
    assert shown["bytes"] <= least < full
    assert any("--repair-only" in note for note in shown["notes"])


def test_a_drained_broker_is_proved_safe_to_stop(simulation: Simulation) -> None:
    """The command reports no replica and no vote in the controller quorum, or what still needs the broker."""
    done = simulation.run("rebalance", "--yes", "--drain", "4")
    assert done.code == 0, done.err
    assert "broker 4 is safe to stop: no replica, so no leader and no group coordinator" in done.err
    simulation.memory.kafka.parts.quorum_voters = frozenset({4, 5, 6})
    voter = simulation.run("rebalance", "--yes", "--drain", "4")
    assert "broker 4 is not safe to stop: it votes in the controller quorum" in voter.err
    simulation.memory.kafka.parts.quorum_voters = frozenset({5, 6, 7})
    again = simulation.run("rebalance", "--yes", "--drain", "4")
    assert "and it is not a voter of the controller quorum" in again.err


def test_a_drain_that_is_not_confirmed_only_reports_its_broker(simulation: Simulation) -> None:
    """A no is no failed drain: exit code 1, as after any other no, and not 3."""
    declined = simulation.run("rebalance", "--drain", "4", stdin="n\n")
    assert (declined.code, "nothing changed" in declined.err) == (1, True)
    assert "broker 4 is not safe to stop: it holds " in declined.err
    assert "error" not in declined.err


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
def test_topics_created_during_a_drain_leave_nothing_behind(simulation: Simulation, form: str) -> None:
    """On a cluster without cordons, a broker is drained until it is empty, while a topic per second is created.

    In every format the command says in the end that the broker is safe to stop; -o json is one document."""
    kafka = simulation.memory.kafka

    def create(number: int) -> None:
        kafka.add_topic(TopicRow(topic=f"new-{number}", partitions=[partition(0, [4, 1, 2], _MB)]))
        if number < 60:
            kafka.clock.at(kafka.clock.monotonic() + 1.0, lambda: create(number + 1))

    kafka.clock.at(kafka.clock.monotonic() + 1.0, lambda: create(0))
    done = simulation.run("rebalance", "--yes", "--drain", "4", "-o", form)
    assert done.code == 0, done.err
    assert "new ones among them: draining again" in done.err
    assert "broker 4 is safe to stop" in done.err
    if form == "json":
        assert json.loads(done.out)["outcome"] == "complete"
    assert not any(4 in b for b in simulation.replicas().values())


def test_a_drain_that_is_only_partly_done_says_what_keeps_its_broker(simulation: Simulation) -> None:
    """A broker dies during the drain: beside the moves that failed, the command says that the drained one is needed."""
    kafka = simulation.memory.kafka
    kafka.bandwidth_bytes_per_s = 1e6
    kafka.clock.at(kafka.clock.monotonic() + 5.0, lambda: kafka.kill(5))
    done = simulation.run("rebalance", "--yes", "--drain", "4", "--throttle", "none")
    assert done.code == 1, done.err
    assert "broker 5 is dead" in done.err
    assert "broker 4 is not safe to stop: it holds " in done.err


@pytest.mark.parametrize("budget", [("--max-moves", "1"), ("--max-bytes", "10MB")])
def test_a_budget_of_a_drain_is_spent_once(simulation: Simulation, budget: tuple[str, str]) -> None:
    """What the budget leaves on the broker is for another command, and is no failure of this one."""
    before = sum(4 in b for b in simulation.replicas().values())
    done = simulation.run("rebalance", "--yes", "--drain", "4", *budget)
    assert done.code == 0, done.err
    assert "draining again" not in done.err
    assert "broker 4 is not safe to stop" in done.err
    assert sum(4 in b for b in simulation.replicas().values()) == before - 1


def test_throttles_of_other_tools_are_deleted_only_on_request(simulation: Simulation) -> None:
    """Throttles are listed without options, refused without a terminal, and deleted only after a yes or --yes."""
    own = simulation.memory.kafka.parts.brokers[2].own_configs
    words = ("rebalance", "repair", "--remove")
    for given, code, left in (({}, 2, True), ({"stdin": "n\n"}, 1, True), ({"stdin": "y\n"}, 0, False)):
        own["leader.replication.throttled.rate"] = "1000000"
        assert simulation.run("rebalance", "repair").code == 3
        assert simulation.run(*words, **given).code == code
        assert bool(own) is left
    own["leader.replication.throttled.rate"] = "1000000"
    assert simulation.run(*words, "--yes").code == 0
    assert not own


def test_throttles_that_change_during_the_prompt_are_kept(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is free while the prompt is open, and another tool may need another rate by the time of the answer."""
    own = simulation.memory.kafka.parts.brokers[2].own_configs
    own["leader.replication.throttled.rate"] = own["follower.replication.throttled.rate"] = "1000000"

    def change_and_confirm(*_: object, **__: object) -> bool:
        own["leader.replication.throttled.rate"] = "7"
        return True

    monkeypatch.setattr(RunSession, "confirm", change_and_confirm)
    done = simulation.run("rebalance", "repair", "--remove")
    assert (done.code, own) == (3, {"leader.replication.throttled.rate": "7"})
    assert "removed 1 throttle\n" in done.err
    assert "kept 1 throttle, changed meanwhile by another tool" in done.err


def test_throttles_that_cannot_be_read_are_not_called_absent(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that hangs, or a missing permission, leaves them unknown: they are named, and the exit code is 3."""
    hanging = ConfigResource(ResourceKind.BROKER, "3")
    read = InMemoryCluster.configs

    def without_one(memory: InMemoryCluster, resources: Any, keys: Any = None) -> Any:
        values, faults = read(memory, resources, keys)
        if hanging not in values:
            return values, faults
        return {r: v for r, v in values.items() if r != hanging}, {**faults, hanging: Fault("timeout", "hangs")}

    monkeypatch.setattr(InMemoryCluster, "configs", without_one)
    done = simulation.run("rebalance", "repair")
    assert (done.code, "cannot read the throttles of broker 3: hangs" in done.err) == (3, True), done.err
    assert done.err.endswith("no leftover throttles found elsewhere\n")
    simulation.memory.kafka.parts.brokers[2].own_configs["leader.replication.throttled.rate"] = "1000000"
    done = simulation.run("rebalance", "repair", "--remove", "--yes")
    assert (done.code, "removed 1 throttle\n" in done.err) == (3, True), done.err


def test_throttles_of_a_dead_broker_are_not_called_absent(simulation: Simulation) -> None:
    """No other broker knows what is set on it, and it keeps that until it is back."""
    simulation.memory.kafka.parts.brokers[4].own_configs["leader.replication.throttled.rate"] = "1000000"
    simulation.memory.kafka.kill(4)
    done = simulation.run("rebalance", "repair", "--remove", "--yes")
    assert (done.code, "cannot read the throttles of broker 4: dead\n" in done.err) == (3, True), done.err
    assert done.err.endswith("no leftover throttles found elsewhere\n")
    simulation.memory.kafka.start(4)
    done = simulation.run("rebalance", "repair", "--remove", "--yes")
    assert (done.code, "removed 1 throttle\n" in done.err) == (0, True), done.err


@pytest.mark.parametrize("has_run", [False, True])
def test_throttles_that_cannot_be_read_reach_programs(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_run: bool
) -> None:
    """JSON names where they cannot be read, the textfile reports no success, with a run to repair and without one."""
    kafka, broker = simulation.memory.kafka, ConfigResource(ResourceKind.BROKER, "3")
    if has_run:
        kafka.clock.at(kafka.clock.monotonic() + 8.0, lambda: kafka.kill(4))
        assert simulation.run("rebalance", "--yes", "--drain", "5", "--throttle", "2MB").code == 1
        kafka.start(4)
    monkeypatch.setattr(
        "kafkabal.executor.throttle.leftover_throttles.throttles_on",
        lambda cluster, resources: ThrottleSearch((), {broker: Fault("timeout", "hangs")}),
    )
    textfile = tmp_path / "repair.prom"
    done = simulation.run("rebalance", "repair", "-o", "json", "--textfile", str(textfile))
    assert done.code == 3, done.err
    found = json.loads(done.out)
    assert (found["run_id"] is not None, found["unread_throttles"]) == (has_run, ["broker 3: hangs"])
    assert re.search(r"^kafkabal_rebalance_success\S* 0\.?0?$", textfile.read_text(), re.MULTILINE)


def test_throttles_can_be_removed_though_the_run_record_is_damaged(simulation: Simulation) -> None:
    """Every command that needs the record ends with 1 and says so; 'repair' lists and removes what is left."""
    assert simulation.run("rebalance", "--drain", "4", "--yes").code == 0
    parts = simulation.memory.kafka.parts
    for key in [key for key in parts.records if key.endswith("/0")]:
        del parts.records[key]
    parts.brokers[2].own_configs["leader.replication.throttled.rate"] = "1000000"
    resumed = simulation.run("rebalance", "resume", "--yes")
    repair = "'kafkabal rebalance repair --remove --bootstrap-server simulated:9092'"
    assert (resumed.code, repair in resumed.err) == (1, True)
    done = simulation.run("rebalance", "repair", "--remove", "--yes")
    assert (done.code, parts.brokers[2].own_configs) == (0, {})
    assert "is incomplete" in done.err


def test_a_file_of_dead_brokers_that_cannot_be_written_is_reported(simulation: Simulation, tmp_path: Path) -> None:
    """With an old file, too: else every night would count the grace from zero and replace nothing, without a word."""
    simulation.run("inspect", "-q")
    (path,) = (tmp_path / "state" / "brokers").iterdir()
    simulation.memory.kafka.kill(4)
    recorded = simulation.run("rebalance", "--yes", "-q", *_AT_ONCE)
    assert "cannot be written" not in recorded.err
    path.unlink()
    path.mkdir()  # the tests may run as root, who can write everywhere
    done = simulation.run("rebalance", "--yes", "-q", *_AT_ONCE)
    assert (done.code, f"{path}: cannot be written" in done.err) == (ExitCode.FINDINGS, True), done.err
