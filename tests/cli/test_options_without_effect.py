"""Options that would be ignored are refused: a user would think that they did something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SNAPSHOT = str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")
PLAN_FILE = str(Path(__file__).parent / "snapshots" / "lopsided-plan.json")
ON_SNAPSHOT = ("--snapshot", SNAPSHOT)
LIVE = ("-b", "127.0.0.1:1")
PLAN = ("rebalance", "plan", *ON_SNAPSHOT)
DRAIN_CHECK = ("rebalance", *ON_SNAPSHOT, "--drain", "2", "--check")

HEALING = (
    *("--throttle 5MB", "--window 01:00-02:00", "--bootstrap-controller c:1", "--tolerance 5%"),
    *("--max-actions-per-day 24", "--max-dead 1"),
)
REPAIRS = ("--dead-after 5m", "--move-after 5m", "--max-bytes-per-day 1TB")
COPIES = (
    *("--below 50%", "--broker-limit 1:5", "--keep-moved x", "--max-bytes 1GB", "--max-cross-rack-bytes 1GB"),
    *("--max-duration 1h", "--max-moves 5"),
)
RUNS = (
    *("--log-dir-throttle 5MB", "--window 01:00-02:00", "--override-throttle", "--on-interrupt cancel"),
    *("--max-runtime 1h", "--moves-per-broker 10", "--one-replica-at-a-time"),
)
SCORES = (
    *("--score disk", "--tolerance 5%", "--telemetry topic"),
    *("--prometheus http://p", "--prometheus-query q", "--prometheus-label l"),
)
MEASURING = ("--readers 1", "--prefetch 1MB", "--cache x", "--cache-bytes 1GB", "--out y")
CLUSTER = ("-b b:1", "--command-config x", "--snapshot x", "--zookeeper z:1", "--broker-timeout 5s")

BESIDE = [
    (("inspect", *ON_SNAPSHOT), "--growth", (*SCORES, "--sample 5s")),
    (("watch", *LIVE), "--once", ("--every 5s", "--slow 20%", *REPAIRS, *HEALING)),
    (("telemetry", "latency", *LIVE), "--listen 4318", ("--topic t", "--last 1m")),
    (("telemetry", "errors", *LIVE), "--listen 4318", ("--topic t", "--last 1m")),
    (("telemetry", "show"), "--listen 4318", ("--topic t", "--last 1m", "-b b:1")),
    (("read", "t", *LIVE), "--follow", MEASURING),
    (("read", "t", *LIVE), "--to x", MEASURING),
    (("rebalance", *ON_SNAPSHOT, "--dry-run"), "--leaders-only", COPIES),
    (PLAN, "--leaders-only", COPIES),
    (PLAN, "--log-dirs-only", (*COPIES, "--exclude-brokers 2", "--max-leader-changes 2")),
    (PLAN, "--repair-only", ("--below 50%",)),
    (("rebalance", "explain", "--why-not", "images-0", "4"), "--repair-only", ("--below 50%",)),
    (PLAN, "--below 50%", ("--tolerance 5%", "--count-capacity disk")),
    (PLAN, "--frontier", ("--tolerance 5%", "--all")),
    (DRAIN_CHECK, "--check", (*COPIES, *RUNS, "--dry-run", "--yes", "--score disk", "--all", "--wait 5s", "--save x")),
    (("doctor",), "--zookeeper z:1", ("--for inspect",)),
    (("sandbox", "up"), "--heap 1GB", ("--replicas 2000",)),
]
"""Words of a command, the option in force, and options that it makes ineffective."""

WITHOUT = [
    (("doctor",), "a cluster", ("--for inspect", "--broker-timeout 5s")),
    (("watch", *LIVE), "--heal", HEALING),
    (("watch", *LIVE, "--heal", "leaders"), "--heal all", REPAIRS),
    (("read", "t", *LIVE), "--cache", ("--cache-bytes 1GB",)),
    (("read", "t", *LIVE), "--follow", ("--from-start",)),
    (PLAN, "--max-duration", ("--throttle 5MB",)),
    (("rebalance", *ON_SNAPSHOT, "--dry-run"), "--yes", ("--on-unfinished refuse",)),
    (("rebalance", "apply", PLAN_FILE, *ON_SNAPSHOT, "--dry-run"), "--yes", ("--on-unfinished refuse",)),
    (("rebalance", "resume", *LIVE), "--throttle", RUNS),
    (("rebalance", "rollback", *LIVE), "--throttle", RUNS),
    (
        ("rebalance", "adopt", *LIVE),
        "--finish or --cancel",
        (*RUNS, "--throttle 5MB", "--remove-throttles", "--textfile x", "--notify http://n", "--yes"),
    ),
    (("rebalance", "explain", PLAN_FILE, "images-0"), "--why-not", (*COPIES, "--snapshot x", "--drain 3")),
]
"""Words of a command, the option that is missing, and options that have no effect without it."""


def _refused(run_cli: Callable[..., Any], words: tuple[str, ...], option: str) -> str:
    outcome = run_cli(*words, *option.split())
    assert (outcome.code, outcome.out) == (2, ""), (option, outcome.err)
    assert "hint: " in outcome.err
    return str(outcome.err)


def _long(option: str) -> str:
    return option.split()[0].replace("-b", "--bootstrap-server") if option.startswith("-b ") else option.split()[0]


@pytest.mark.parametrize(("words", "mode", "options"), BESIDE, ids=lambda part: part if isinstance(part, str) else None)
def test_an_option_that_another_makes_ineffective(
    run_cli: Callable[..., Any], words: tuple[str, ...], mode: str, options: tuple[str, ...]
) -> None:
    """It is refused in one line that names both, also where its value is the default."""
    given = () if mode in words else mode.split()
    for option in options:
        shown = _refused(run_cli, (*words, *given), option)
        assert f"error: {mode.split()[0]} and {_long(option)} cannot be combined" in shown, option


@pytest.mark.parametrize(
    ("words", "mode", "options"), WITHOUT, ids=lambda part: part if isinstance(part, str) else None
)
def test_an_option_that_requires_another(
    run_cli: Callable[..., Any], words: tuple[str, ...], mode: str, options: tuple[str, ...]
) -> None:
    """It is refused in one line that names what it requires."""
    for option in options:
        assert f"error: {_long(option)} requires {mode}" in _refused(run_cli, words, option), option


@pytest.mark.parametrize("option", ["--by rack", "--top 5"])
def test_options_of_rows_beside_nagios(run_cli: Callable[..., Any], option: str) -> None:
    """A monitoring plugin prints one line."""
    outcome = run_cli("inspect", *ON_SNAPSHOT, "--nagios", *option.split())
    assert outcome.code == 3
    assert f"--nagios and {option.split()[0]} cannot be combined" in outcome.out


@pytest.mark.parametrize("option", CLUSTER)
def test_a_cluster_beside_a_workload_that_describes_one(run_cli: Callable[..., Any], option: str) -> None:
    """The workload's own cluster would be simulated."""
    shown = _refused(run_cli, ("route-simulate", "--workload", "uneven", "--policy", "sticky"), option)
    assert f"--workload uneven and {_long(option)} cannot be combined" in shown


def test_a_measurement_that_no_score_uses(run_cli: Callable[..., Any]) -> None:
    """It would be waited for, and then not shown."""
    for words in (("inspect",), ("create", "t", "-p", "1", "-r", "1"), ("rebalance", "plan", "--leaders-only")):
        shown = _refused(run_cli, (*words, *ON_SNAPSHOT), "--telemetry topic")
        assert "--telemetry requires a score that uses it\nkafkabal: hint: add --score latency" in shown


def test_values_for_all_commands_pass(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The environment and a profile hold limits for every run, also for one that needs none of them."""
    (tmp_path / "p.yaml").write_text(f"snapshot: {SNAPSHOT}\nmax_bytes: 1TB\nmax_moves: 10\n")
    words = ("rebalance", "plan", "--leaders-only", "--profile", str(tmp_path / "p.yaml"))
    assert run_cli(*words, environ={"KAFKABAL_THROTTLE": "50MB", "KAFKABAL_MAX_DURATION": "1h"}).code == 0
