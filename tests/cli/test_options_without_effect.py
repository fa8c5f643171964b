"""Options that would be ignored are refused: a user would think that they did something."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.command_table import COMMANDS, Row
from kafkabal.cli.framework.typer_parameters import read_signature

SNAPSHOT = str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")
PLAN_FILE = str(Path(__file__).parent / "snapshots" / "lopsided-plan.json")
ON_SNAPSHOT = ("--snapshot", SNAPSHOT)
LIVE = ("-b", "127.0.0.1:1")
PLAN = ("rebalance", "plan", *ON_SNAPSHOT)
DRAIN_CHECK = ("rebalance", *ON_SNAPSHOT, "--drain", "2", "--check")

HEALING = (
    *("--bootstrap-controller c:1", "--max-actions-per-day 24", "--max-dead 1"),
    *("--topics t", "--exclude-topics t", "--exclude-brokers 1"),
)
MOVES = (
    *("--dead-after 5m", "--move-after 5m", "--max-bytes-per-day 1TB"),
    *("--throttle 5MB", "--window 01:00-02:00", "--tolerance 5%", "--include-internal"),
)
COPIES = (
    *("--below 50%", "--broker-limit 1:5", "--keep-moved x", "--max-bytes 1GB", "--max-cross-rack-bytes 1GB"),
    *("--max-duration 1h", "--max-moves 5"),
)
RUNS = (
    *("--log-dir-throttle 5MB", "--window 01:00-02:00", "--override-throttle", "--on-interrupt cancel"),
    *("--max-runtime 1h", "--moves-per-broker 10", "--one-replica-at-a-time"),
)
REPORTS = ("--textfile x", "--notify http://n")
NOT_OF_DRY_RUNS = (
    *REPORTS,
    *("--window 01:00-02:00", "--on-interrupt cancel", "--max-runtime 1h", "--on-unfinished refuse"),
    *("--rollback-file x", "--save x"),
)
SCORES = (
    *("--score disk", "--tolerance 5%", "--telemetry topic"),
    *("--prometheus http://p", "--prometheus-query q", "--prometheus-label l"),
)
MEASURING = ("--readers 1", "--prefetch 1MB", "--cache x", "--cache-bytes 1GB", "--out y")
CLUSTER = ("-b b:1", "--command-config x", "--snapshot x", "--zookeeper z:1", "--broker-timeout 5s")

BESIDE = [
    (("inspect", *ON_SNAPSHOT), "--growth", (*SCORES, "--sample 5s")),
    (("watch", *LIVE), "--once", ("--every 5s", "--slow 20%", *MOVES, *HEALING)),
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
    (("rebalance", *ON_SNAPSHOT, "--yes"), "--dry-run", NOT_OF_DRY_RUNS),
    (("rebalance", "apply", PLAN_FILE, *ON_SNAPSHOT, "--yes"), "--dry-run", NOT_OF_DRY_RUNS),
    (("rebalance", "rollback", *LIVE), "--dry-run", (*RUNS, *REPORTS, "--throttle 5MB", "--wait 5s", "--save x")),
    (("create", "t", *ON_SNAPSHOT), "--dry-run", ("--save x",)),
]
"""Words of a command, the option in force, and options that it makes ineffective."""

WITHOUT = [
    (("doctor",), "a cluster", ("--for inspect", "--broker-timeout 5s")),
    (("watch", *LIVE), "--heal", HEALING),
    (("watch", *LIVE, "--heal", "leaders"), "--heal all", MOVES),
    (("read", "t", *LIVE), "--cache", ("--cache-bytes 1GB",)),
    (("read", "t", *LIVE), "--follow", ("--from-start",)),
    ((*PLAN, "--frontier"), "--max-duration", ("--throttle 5MB",)),
    (("rebalance", "explain", "--why-not", "images-0", "4", *ON_SNAPSHOT), "--max-duration", ("--throttle 5MB",)),
    (("rebalance", *ON_SNAPSHOT), "--yes", ("--on-unfinished refuse",)),
    (("rebalance", "apply", PLAN_FILE, *ON_SNAPSHOT), "--yes", ("--on-unfinished refuse",)),
    (("rebalance", "resume", *LIVE), "--throttle", RUNS),
    (("rebalance", "rollback", *LIVE), "--throttle", RUNS),
    (
        ("rebalance", "adopt", *LIVE),
        "--finish or --cancel",
        (*RUNS, "--throttle 5MB", "--remove-throttles", "--textfile x", "--notify http://n", "--yes"),
    ),
    (("inspect", *ON_SNAPSHOT), "--nagios", ("--warning 10%", "--critical 20%", "--timeout 5s")),
    (("inspect", *ON_SNAPSHOT), "--growth", ("--over 7d", "--full-within 7d")),
    (("inspect", *ON_SNAPSHOT), "--by rack", ("--rack-level 1", "--price-per-gb 0.01")),
    (("inspect", *ON_SNAPSHOT), "several clusters", ("--topics images", "--cluster-timeout 5s")),
    (("create", "t", *ON_SNAPSHOT), "--dry-run", ("--exit-code",)),
    (("rebalance", *ON_SNAPSHOT), "--dry-run", ("--exit-code",)),
    (("rebalance", "apply", PLAN_FILE, *ON_SNAPSHOT), "--dry-run", ("--exit-code",)),
    (("route", "t", *LIVE), "--publish", ("--once", "--refresh 5s", "--valid-for 1m")),
    (
        ("route-simulate", *ON_SNAPSHOT, "--topic", "images", "--policy", "sticky", "--storage", "nfs"),
        "a policy that uses it",
        ("--rack r0",),
    ),
    (("rebalance", "explain", PLAN_FILE, "images-0"), "--why-not", (*COPIES, "--snapshot x", "--drain 3")),
]
"""Words of a command, the option that is missing, and options that have no effect without it."""


IN_FORCE = {
    "inspect": "--all-profiles --check --record --save --top",
    "inspect diff": "--all --score --tolerance",
    "rebalance": (
        "--allow --count-capacity --dead-after --drain --exclude-brokers --exclude-topics --force "
        "--include-internal --log-dirs-only --max-leader-changes --only-to-new --prometheus "
        "--prometheus-label --prometheus-query --repair-only --replication-factor --telemetry --throttle "
        "--tolerance --topics"
    ),
    "rebalance plan": (
        "--drain --exclude-topics --include-internal --only-to-new --out --plan-for --prometheus "
        "--prometheus-label --prometheus-query --replication-factor --score --telemetry --topics --what-if"
    ),
    "rebalance show": "--all",
    "rebalance diff": "--all",
    "rebalance explain": (
        "--count-capacity --exclude-brokers --exclude-topics --include-internal --leaders-only "
        "--log-dirs-only --max-leader-changes --only-to-new --replication-factor --score --tolerance --topics"
    ),
    "rebalance apply": (
        "--allow --dead-after --force --log-dir-throttle --moves-per-broker --one-replica-at-a-time "
        "--override-throttle --skip-drifted --throttle --wait"
    ),
    "rebalance simulate": "--case --check --days",
    "rebalance status": "--journal --watch",
    "rebalance pause": "--wait",
    "rebalance resume": "--journal --notify --save --textfile --wait --yes",
    "rebalance cancel": "--journal --notify --save --textfile --wait --yes",
    "rebalance rollback": "--journal --yes",
    "rebalance throttle": "--log-dir-throttle",
    "rebalance history": "--last",
    "rebalance repair": "--journal --notify --remove --textfile --wait --yes",
    "create": (
        "--all --config --exclude-brokers --file --if-not-exists --partition-bytes --partitions --placement "
        "--preset --prometheus --prometheus-label --prometheus-query --replication-factor --score --telemetry "
        "--tolerance --yes"
    ),
    "advise": "--broker --limit --plan-for --target --throttle --tolerance",
    "produce": (
        "--any-key-order --chunk --exclude --format --include --key --label --manifest --no-manifest --policy "
        "--producer-config --prometheus --prometheus-label --prometheus-query --read-ahead --refresh --resend "
        "--score --telemetry --textfile --transform --value"
    ),
    "read": "--for --rack --textfile",
    "route-simulate": (
        "--bytes --data --key --latency/--no-latency --plot --policy --records --score --seeds --storage "
        "--topic --training --workload"
    ),
    "route": "--policy --prometheus --prometheus-label --prometheus-query --score --telemetry",
    "routing plugin": "--out",
    "watch": "--notify --rebalance-above --textfile",
    "top": "--by --every --score --tolerance",
    "monitoring": (
        "--alertmanager --blind-after --exporter --full --full-within --out --overwrite --textfiles --webhook"
    ),
    "telemetry subscribe": "--interval --match --metric --name --topic",
    "telemetry plugin": "--libs --out",
    "telemetry show": "--for --metric --top",
    "telemetry errors": "--for",
    "telemetry latency": "--for",
    "profiles check": "--timeout",
    "profiles add": "--set --use",
    "config show": (
        "--count-capacity --dead-after --exclude-brokers --exclude-topics --include-internal "
        "--log-dir-throttle --max-bytes --max-duration --max-leader-changes --max-moves --score --throttle "
        "--tolerance --topics --window"
    ),
    "completion candidates": "--name --plan",
    "snapshot import": "--assignment --cluster-id --log-dirs --out --topics",
    "sandbox up": (
        "--broker-property --brokers --capacity --class-path --controllers --kafka-version --listener "
        "--log-dirs --name --property --racks --timeout"
    ),
    "sandbox status": "--name",
    "sandbox logs": "--lines --name",
    "sandbox kill": "--name",
    "sandbox pause": "--name",
    "sandbox start": "--name",
    "sandbox stop": "--name",
    "sandbox down": "--name",
    "demo": "--keep",
}
"""Options by command that have an effect whatever else is given, or whose tests are those below."""

EVERYWHERE = frozenset(
    {
        *("--bootstrap-server", "--bootstrap-controller", "--command-config", "--profile", "--snapshot"),
        *("--zookeeper", "--broker-timeout", "--output", "--output-file"),
    }
)
"""Options that select the cluster and the output."""


def _commands(
    rows: Mapping[str, Row] = COMMANDS, parents: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Words and long options of every command."""
    for name, row in rows.items():
        words = (*parents, name)
        if row.function:
            module, _, function = row.function.partition(":")
            signature = read_signature(getattr(import_module(module), function))
            yield words, {leaf.title for leaf in signature.leaves() if leaf.is_option}
        yield from _commands(row.commands or {}, words)


def test_every_option_is_in_a_table() -> None:
    """The author of an option decides whether it can be without effect; a removed one leaves no row behind."""
    commands = dict(_commands())
    judged: dict[tuple[str, ...], set[str]] = {words: set() for words in commands}
    for typed, mode, options in (*BESIDE, *WITHOUT):
        command = max((words for words in commands if words == typed[: len(words)]), key=len)
        judged[command] |= {_long(option) for option in options} | {word for word in mode.split() if word[0] == "-"}
    found = {
        " ".join(words): " ".join(sorted(options - EVERYWHERE - judged[words]))
        for words, options in commands.items()
        if options - EVERYWHERE - judged[words]
    }
    assert found == IN_FORCE


def _refused(run_cli: Callable[..., Any], words: tuple[str, ...], option: str) -> str:
    outcome = run_cli(*words, *option.split())
    assert (outcome.code, outcome.out) == (2, ""), (option, outcome.err)
    assert "hint: " in outcome.err
    return str(outcome.err)


def _without_waiting() -> dict[str, Any]:
    """A clock on which a second passes with each look, for commands that wait for a broker."""
    return {"monotonic": count().__next__, "sleep": lambda _seconds: None}


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


@pytest.mark.parametrize("option", ["--by rack", "--top 5", "--topics images"])
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


@pytest.mark.parametrize("words", [PLAN, ("rebalance", "explain", "--why-not", "images-0", "4", *ON_SNAPSHOT)])
def test_a_grace_of_dead_brokers_is_an_option_of_what_moves_data(
    run_cli: Callable[..., Any], words: tuple[str, ...]
) -> None:
    """A plan is made for the brokers that are alive, whenever the others died; applying it waits for them."""
    assert "no such option: --dead-after" in _refused(run_cli, words, "--dead-after 1h")
    assert run_cli(*words, environ={"KAFKABAL_DEAD_AFTER": "1h"}).code == 0


def test_the_rate_that_a_hint_of_explain_asks_for_is_an_option(run_cli: Callable[..., Any]) -> None:
    """A plan of a limited duration depends on the throttle."""
    words = ("rebalance", "explain", "--why-not", "images-0", "4", *ON_SNAPSHOT, "--max-duration", "1h")
    assert "as in --throttle 50MB" in _refused(run_cli, words, "")
    assert run_cli(*words, "--throttle", "50MB").code == 0


def test_a_measurement_that_no_score_uses(run_cli: Callable[..., Any]) -> None:
    """It would be waited for, and then not shown."""
    for words in (("inspect",), ("create", "t", "-p", "1", "-r", "1"), ("rebalance", "plan", "--leaders-only")):
        shown = _refused(run_cli, (*words, *ON_SNAPSHOT), "--telemetry topic")
        assert "--telemetry requires a score that uses it\nkafkabal: hint: add --score latency" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("produce", "t", str(Path(__file__).parent), *LIVE, "--policy", "sticky"),
        ("route-simulate", *ON_SNAPSHOT, "--topic", "images", "--policy", "sticky", "--policy", "key-hash"),
    ],
)
def test_a_score_that_no_policy_uses(run_cli: Callable[..., Any], words: tuple[str, ...], tmp_path: Path) -> None:
    """It is refused on the command line; in a profile it is for other commands."""
    refused = _refused(run_cli, words, "--score disk")
    assert "error: --score requires a policy that uses it\nkafkabal: hint: add --policy score, or leave" in refused
    (tmp_path / "p.yaml").write_text("scores: [disk]\n")
    passes = run_cli(*words, "--profile", str(tmp_path / "p.yaml"), **_without_waiting())
    assert "--score" not in passes.err


def test_a_measurement_that_routing_does_not_use(run_cli: Callable[..., Any]) -> None:
    """A policy that goes by measured latencies takes them without a score; one that times its own records does not."""
    words = ("produce", "t", str(Path(__file__).parent), *LIVE)
    telemetry, query = "--telemetry topic", "--prometheus http://p --prometheus-query q"
    for policy in ("score", "sticky", "key-hash"):
        assert "--prometheus requires a score that uses it" in _refused(run_cli, (*words, "--policy", policy), query)
    for policy in ("score", "key-hash", "sticky", "adaptive", "join-idle-queue"):
        assert "--telemetry requires a score that uses it" in _refused(run_cli, (*words, "--policy", policy), telemetry)
    for policy in ("astraea", "c3", "prequal"):
        assert run_cli(*words, "--policy", policy, *telemetry.split(), **_without_waiting()).code == 1


def test_values_for_all_commands_pass(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The environment and a profile hold limits for every run, also for one that needs none of them."""
    (tmp_path / "p.yaml").write_text(f"snapshot: {SNAPSHOT}\nmax_bytes: 1TB\nmax_moves: 10\n")
    words = ("rebalance", "plan", "--leaders-only", "--profile", str(tmp_path / "p.yaml"))
    assert run_cli(*words, environ={"KAFKABAL_THROTTLE": "50MB", "KAFKABAL_MAX_DURATION": "1h"}).code == 0
