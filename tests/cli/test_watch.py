"""``kafkabal watch``: a single check of a snapshot, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.cli.commands.watch_command_options import HealOptions, watch_options
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, UsageError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition
from kafkabal.watch.broker_health import BrokerHealth, BrokerSample, HealthMonitor
from kafkabal.watch.heal_policy import HealLevel


@pytest.fixture
def snapshot(tmp_path: Path) -> Callable[..., str]:
    """A snapshot of three brokers, of which some may be missing."""

    def make(live: int = 3) -> str:
        path = tmp_path / "c.jsonl"
        parts = [partition(n, replicas) for n, replicas in enumerate([(1, 2), (2, 3), (3, 1)])]
        known = [replace(p, log_dirs=[0 if b <= live else None for b in p.replicas]) for p in parts]
        write_snapshot(cluster(brokers(live), [TopicRow(topic="t", partitions=known)]), path)
        return str(path)

    return make


def test_a_healthy_cluster(run_cli: Callable[..., Any], snapshot: Callable[..., str]) -> None:
    """No findings: exit 0 and a sentence that says so."""
    found = run_cli("watch", "--once", "--snapshot", snapshot())

    assert (found.code, found.err) == (ExitCode.DONE, "")
    assert "3 brokers, no problems" in found.out


def test_a_dead_broker_is_a_finding(run_cli: Callable[..., Any], snapshot: Callable[..., str]) -> None:
    """A dead broker causes exit 3, and programs get the health of every broker."""
    found = run_cli("watch", "--once", "--snapshot", snapshot(2), "-o", "json")

    document = json.loads(found.out)
    assert found.code == ExitCode.FINDINGS
    assert document["problems"][0] == "broker 3 dead"
    assert {row["broker"]: row["health"] for row in document["brokers"]} == {1: "well", 2: "well", 3: "dead"}


def test_unknown_log_dirs_are_a_finding(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Brokers that respond but do not say what they hold: they may be full or offline for all that is known."""
    silent = [replace(broker, log_dirs=[]) for broker in brokers(3)]
    parts = [replace(partition(n, (n + 1, (n + 1) % 3 + 1)), log_dirs=[None, None]) for n in range(3)]
    write_snapshot(cluster(silent, [TopicRow(topic="t", partitions=parts)]), tmp_path / "c.jsonl")
    found = run_cli("watch", "--once", "--snapshot", str(tmp_path / "c.jsonl"))

    assert found.code == ExitCode.FINDINGS
    assert found.out.splitlines()[0] == "brokers 1, 2, 3 did not report log dirs"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-o", "json"), "requires --once"),
        (("--once", "--heal", "all"), "cannot be combined"),
        (("--once", "--notify", "http://h/hook"), "--once and --notify cannot be combined"),
        (("--once", "--textfile", "watch.prom"), "--once and --textfile cannot be combined"),
        (("--once", "-o", "jsonl"), "--once and -o jsonl cannot be combined"),
        (("--notify", "ftp://x"), "invalid URL"),
        ((), "does not change"),
    ],
)
def test_invalid_combinations_of_options_are_refused(
    run_cli: Callable[..., Any], snapshot: Callable[..., str], words: tuple[str, ...], why: str
) -> None:
    """Invalid options are refused in one line, before the cluster is contacted."""
    found = run_cli("watch", "--snapshot", snapshot(), *words)

    assert found.code == ExitCode.USAGE
    assert why in found.err


def test_what_is_called_balanced_is_not_rebalanced() -> None:
    """A --rebalance-above below --tolerance is refused where it rebalances; a watch that only reports has no limit."""
    reported = HealOptions(outer_tolerance=0.05)

    assert watch_options(Settings(), reported, 5.0, 0.2).policy.outer_tolerance == 0.05
    with pytest.raises(UsageError, match="--rebalance-above 5% must exceed --tolerance 9%"):
        watch_options(Settings(), changed(reported, heal=HealLevel.ALL), 5.0, 0.2)


def test_thresholds_that_are_refused_are_shown_with_all_their_digits() -> None:
    """A refusal never says that 9% must exceed 9%."""
    close = HealOptions(outer_tolerance=0.092, heal=HealLevel.ALL)

    with pytest.raises(UsageError, match=r"--rebalance-above 9\.2% must exceed --tolerance 9\.4%"):
        watch_options(Settings(tolerance=0.094), close, 5.0, 0.2)


@pytest.mark.parametrize("every_s", [0.001, 1.0, 5.0])
def test_a_short_interval_finds_a_dead_broker_in_time(every_s: float) -> None:
    """An observation takes three seconds while a broker hangs: a dead one is found within 35 s at any interval."""
    options = watch_options(Settings(), HealOptions(), every_s, slow_fraction=0.2)
    monitor = HealthMonitor(options.rules)
    monitor.update({1: BrokerSample(is_registered=True, response_s=0.002)}, 0.0)
    for observed_at_s in range(3, 36, 3):
        monitor.update({}, float(observed_at_s))

    assert monitor.in_health(BrokerHealth.DEAD) == {1}


def test_ctrl_c_while_it_connects(tmp_path: Path) -> None:
    """A broker that accepts but never responds does not delay Ctrl-C: exit 130, as in every command."""
    environ = os.environ | {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("STATE", "CACHE", "CONFIG")}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60.0)
        words = ["-m", "kafkabal", "watch", "-b", f"127.0.0.1:{listener.getsockname()[1]}"]
        with subprocess.Popen([sys.executable, *words], stderr=subprocess.PIPE, text=True, env=environ) as run:
            connection, _ = listener.accept()
            with connection:
                # the request has arrived, so the command waits for the response
                connection.recv(4)
                run.send_signal(signal.SIGINT)
                _, said = run.communicate(timeout=60.0)
    assert (run.returncode, said) == (ExitCode.INTERRUPTED, "kafkabal: interrupted\n")
