"""A command that waits without a display says so."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafkabal import advice, executor, planner
from kafkabal.cli.commands import create
from kafkabal.cli.commands.rebalance import check_and_apply, dry_run, run_session
from kafkabal.cli.framework import cluster_access, slow_notice
from kafkabal.cli.framework.slow_notice import saying_if_slow
from kafkabal.clusters import LockRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.snapshot.cluster import SnapshotCluster
from kafkabal.errors import ExitCode, UnreachableError
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from tests.cli.simulated import SLOWLY, half_empty_cluster, simulate


def test_a_fast_block_says_nothing() -> None:
    """Its timer is stopped at the end."""
    said: list[str] = []
    with saying_if_slow(said.append, "slow", after_s=60.0):
        timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    for timer in timers:
        timer.join(30.0)
    assert not said
    assert not any(timer.is_alive() for timer in timers)


def _say_at_once(monkeypatch: pytest.MonkeyPatch, has_said: threading.Event, command: ModuleType = run_session) -> None:
    """Let commands take every wait for slow, and set the event once one has said so."""

    def at_once(say: Callable[[str], None], text: str) -> Any:
        has_said.clear()

        def said(text: str) -> None:
            say(text)
            has_said.set()

        return saying_if_slow(said, text, after_s=0.01)

    monkeypatch.setattr(command, "saying_if_slow", at_once)


def test_a_dry_run_that_simulates_for_long_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan of tens of thousands of partitions takes minutes to simulate."""
    simulation = simulate(half_empty_cluster(), run_cli, monkeypatch)
    simulated, has_said = dry_run.simulate_run, threading.Event()

    def slowly(*arguments: Any) -> Any:
        assert has_said.wait(30.0)
        return simulated(*arguments)

    monkeypatch.setattr(dry_run, "simulate_run", slowly)
    _say_at_once(monkeypatch, has_said, check_and_apply)
    shown = simulation.run("rebalance", "--dry-run")
    assert (shown.code, shown.err.count("still simulating ")) == (0, 1)


def _responds_once_said(method: str, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Make a request to the simulated cluster wait until the event is set."""
    respond, has_said = getattr(InMemoryCluster, method), threading.Event()

    def slow(*arguments: Any) -> Any:
        assert has_said.wait(60.0)
        return respond(*arguments)

    monkeypatch.setattr(InMemoryCluster, method, slow)
    return has_said


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("history",),
        ("adopt",),
        ("repair",),
        ("rollback",),
        ("resume",),
        ("cancel",),
        ("throttle", "5MB/s"),
        ("--yes",),
        ("--dry-run",),
    ],
    ids=" ".join,
)
def test_a_command_that_waits_for_the_run_record_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """As while the record has no leader; the emergency stop above all must not wait without a word."""
    simulation = simulate(InMemoryCluster.of(cluster(brokers(2), [topic("t", [1, 2])])), run_cli, monkeypatch)
    has_said = _responds_once_said("records", monkeypatch)
    _say_at_once(monkeypatch, has_said)
    shown = simulation.run("rebalance", *words)
    assert shown.err.startswith("still waiting for the cluster to respond\n")


@pytest.mark.parametrize(
    "words",
    [
        ("inspect",),
        ("inspect", "--by", "topic"),
        ("rebalance", "plan"),
        ("rebalance", "explain", "--why-not", "t-0", "2"),
        ("advise",),
        ("create", "new", "-p", "1", "-r", "1", "--dry-run"),
        ("route-simulate", "--topic", "t", "--records", "10", "--no-latency"),
        ("scores",),
    ],
    ids=" ".join,
)
def test_a_command_that_waits_for_a_broker_to_be_read_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A broker that hangs is waited for ten seconds; with -q nothing is said."""
    simulation = simulate(InMemoryCluster.of(cluster(brokers(2), [topic("t", [1, 2])])), run_cli, monkeypatch)
    has_said = _responds_once_said("read", monkeypatch)
    _say_at_once(monkeypatch, has_said, cluster_access)
    assert simulation.run(*words).err.startswith("still waiting for the cluster to respond\n")
    assert simulation.run(*words, "-q").err == ""


@pytest.mark.parametrize(
    "words",
    [
        ("doctor", "--broker-timeout", "100ms"),
        ("watch", "--broker-timeout", "100ms"),
        ("watch", "--once", "--broker-timeout", "100ms"),
        ("route", "t", "--broker-timeout", "100ms"),
        ("telemetry", "list", "--broker-timeout", "100ms"),
        ("read", "t"),
        ("produce", "t", "."),
    ],
    ids=" ".join,
)
def test_a_command_that_waits_for_its_first_contact_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """As at the port of another service, which takes the connection and says nothing."""
    (tmp_path / "client.properties").write_text("request.timeout.ms=100\nsocket.timeout.ms=100\n")
    (tmp_path / "a").touch()
    monkeypatch.chdir(tmp_path)
    said = threading.Event()
    _say_at_once(monkeypatch, said, cluster_access)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        shown = run_cli(*words, "-b", server, "--command-config", "client.properties")
    assert said.is_set()
    assert "still waiting for the cluster to respond\n" in shown.err


def test_a_large_snapshot_is_not_taken_for_a_slow_cluster(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Millions of lines take seconds to parse: the file is named then."""
    snapshot = Path(__file__).parent / "snapshots" / "even.jsonl"
    read, has_said = SnapshotCluster.read, threading.Event()

    def slow(*arguments: Any) -> Any:
        assert has_said.wait(60.0)
        return read(*arguments)

    monkeypatch.setattr(SnapshotCluster, "read", slow)
    _say_at_once(monkeypatch, has_said, cluster_access)
    assert run_cli("inspect", "--snapshot", str(snapshot)).err.startswith(f"still reading {snapshot}\n")


@pytest.mark.parametrize("request_", ["cancel", "pause"])
def test_a_request_that_waits_for_the_lock_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, request_: str
) -> None:
    """As when the broker that keeps the lock has just died: an emergency stop must not wait without a word."""
    simulation = simulate(InMemoryCluster.of(cluster(brokers(2), [topic("t", [1, 2])])), run_cli, monkeypatch)
    has_said = threading.Event()

    def out_of_reach(*_: Any) -> Any:
        assert has_said.wait(60.0)
        raise UnreachableError("broker 1 did not respond")

    monkeypatch.setattr(InMemoryCluster, "lock", out_of_reach)
    _say_at_once(monkeypatch, has_said)
    assert simulation.run("rebalance", request_).err.startswith("still waiting for the cluster to respond\n")


@pytest.mark.parametrize("dirs", [1, 2], ids=["controller", "brokers that keep log dirs"])
def test_a_creation_that_waits_for_brokers_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, dirs: int
) -> None:
    """A broker that does not take its log dirs is waited for up to 30 s before the topics are created without them."""
    simulation = simulate(
        InMemoryCluster.of(cluster(brokers(2, dirs=dirs), [topic("t", [1, 2])])), run_cli, monkeypatch
    )
    request = "move_log_dirs" if dirs > 1 else "create_topics"
    respond, has_said = getattr(InMemoryCluster, request), threading.Event()

    def slow(*arguments: Any, **options: Any) -> Any:
        assert has_said.wait(60.0)
        return respond(*arguments, **options)

    monkeypatch.setattr(InMemoryCluster, request, slow)
    _say_at_once(monkeypatch, has_said, create)
    shown = simulation.run("create", "new", "-p", "2", "-r", "2")
    assert shown.code == 0
    assert shown.err.splitlines()[-1] == "still creating topics: waiting for brokers to respond"
    assert dirs > 1 or shown.err.startswith("still waiting for the controller to validate the topics\n")


@pytest.mark.parametrize(
    ("words", "is_alive"),
    [
        (("--yes",), False),
        (("resume", "--yes"), False),
        (("resume", "--yes"), True),
        (("resume", "--wait", "1s"), True),
    ],
    ids=["rebalance", "resume", "resume beside a live process", "resume that waits"],
)
def test_a_command_that_waits_for_the_request_to_a_run_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], is_alive: bool
) -> None:
    """Whether a run was paused is in its record, which takes longest to read while it has no leader."""
    simulation, has_said, waited = simulate(half_empty_cluster(), run_cli, monkeypatch), threading.Event(), []
    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        simulation.run(*SLOWLY)
    if is_alive:
        simulation.memory.connect("other").lock(LockRequest("kafkabal on two (process 7)", 30.0))

    def slow(_: Any) -> bool:
        waited.append(has_said.wait(60.0))
        return False

    monkeypatch.setattr(executor, "is_pause_requested", slow)
    _say_at_once(monkeypatch, has_said)
    shown = simulation.run("rebalance", *words)
    assert shown.code == (75 if is_alive else 0), shown.err
    assert waited
    assert all(waited)
    assert "still waiting for the cluster to respond\n" in shown.err


@pytest.mark.parametrize(("word", "request_name"), [("pause", "request_pause"), ("cancel", "request_cancel")])
def test_a_request_to_a_run_says_once_that_the_cluster_is_slow(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, word: str, request_name: str
) -> None:
    """The lock and the record of the run are read in turn, and both may take long: one line, not one for each."""
    simulation, has_said = simulate(half_empty_cluster(), run_cli, monkeypatch), threading.Event()
    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        simulation.run(*SLOWLY)
    simulation.memory.connect("other").lock(LockRequest("kafkabal on two (process 7)", 30.0))
    ask = getattr(executor, request_name)

    def slow(*arguments: Any, **options: Any) -> Any:
        assert has_said.wait(60.0)
        return ask(*arguments, **options)

    monkeypatch.setattr(executor, request_name, slow)
    _say_at_once(monkeypatch, has_said)
    shown = simulation.run("rebalance", word, "--wait", "1s")
    assert shown.code == ExitCode.BUSY, shown.err
    assert shown.err.count("still waiting for the cluster to respond\n") == 1


@pytest.mark.parametrize(
    ("words", "module", "name"),
    [
        (("advise",), advice, "advise_relief"),
        (("rebalance", "plan"), planner, "make_plan"),
        (("rebalance", "plan", "--frontier"), planner, "frontier"),
        (("rebalance", "explain", "--why-not", "img-0", "3"), planner, "why_not"),
        (("rebalance", "--drain", "1", "--check"), planner, "check_drain"),
        (("rebalance", "--dry-run"), planner, "make_plan"),
        (("rebalance", "--dry-run", "--yes"), planner, "make_plan"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_command_that_plans_for_long_says_so(
    run_cli: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    module: ModuleType,
    name: str,
) -> None:
    """A plan for 200,000 partitions takes many seconds; a cron job with --yes, which may find nothing to do, is
    silent."""
    simulation = simulate(half_empty_cluster(), run_cli, monkeypatch)
    compute, has_said = getattr(module, name), threading.Event()

    def slowly(*arguments: Any, **options: Any) -> Any:
        assert has_said.wait(30.0)
        return compute(*arguments, **options)

    monkeypatch.setattr(module, name, slowly)
    _say_at_once(monkeypatch, has_said, slow_notice)
    shown = simulation.run(*words)
    assert shown.err.count("still planning: ") == (0 if "--yes" in words else 1)
