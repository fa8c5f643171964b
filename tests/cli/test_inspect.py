"""``kafkabal inspect`` on snapshots: goldens of the output for people and programs, and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

import kafkabal.clusters as clusters_room
from kafkabal.cli.framework.nagios_output import time_limit
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.config.connection_settings import SnapshotAddress
from kafkabal.errors import KafkabalError, UnreachableError
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
SNAPSHOTS = HERE / "snapshots"


def check_golden(name: str, text: str) -> None:
    """Compare with the golden file of that name; UPDATE_GOLDENS=1 writes it instead."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("by", ["broker", "log-dir", "rack", "topic", "partition"])
@pytest.mark.parametrize("snapshot", ["lopsided", "broken"])
def test_tables_fit_80_columns(run_cli: Callable[..., Any], snapshot: str, by: str) -> None:
    """Every view of an unbalanced and of a broken cluster matches its golden at 80 columns, byte for byte."""
    outcome = run_cli(
        "inspect", "--by", by, environ={"COLUMNS": "80", "KAFKABAL_SNAPSHOT": str(SNAPSHOTS / f"{snapshot}.jsonl")}
    )

    assert outcome.code == 0, outcome.err
    assert max(map(len, outcome.out.splitlines())) <= 80
    check_golden(f"inspect-{snapshot}-{by}.txt", outcome.out)


@pytest.mark.parametrize("form", ["json", "yaml", "csv", "prometheus"])
def test_forms_for_programs(run_cli: Callable[..., Any], form: str) -> None:
    """Machine formats are stable, including the order of keys."""
    outcome = run_cli(
        "inspect", "--snapshot", str(SNAPSHOTS / "broken.jsonl"), "-o", form, wall_clock=lambda: 1_700_000_000.0
    )

    assert outcome.code == 0, outcome.err
    text = outcome.out.replace(str(SNAPSHOTS), "SNAPSHOTS")
    check_golden(f"inspect-broken.{form}", text)


def test_a_pipe_gets_whole_lines_without_colour(run_cli: Callable[..., Any]) -> None:
    """In a pipe nothing is truncated and no escape sequence appears."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "broken.jsonl"))

    assert "left out" not in outcome.out
    assert "\x1b" not in outcome.out
    check_golden("inspect-broken-pipe.txt", outcome.out.replace(str(SNAPSHOTS), "SNAPSHOTS"))


def test_a_terminal_without_unicode_gets_ascii(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars and arrows have an ASCII form."""
    monkeypatch.setattr("tests.cli.conftest.FakePipe.encoding", "ascii", raising=False)
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "lopsided.jsonl"))

    assert outcome.out.isascii()
    assert "###" in outcome.out


@pytest.mark.parametrize(
    ("snapshot", "words", "code"),
    [
        ("lopsided", ["--check"], 3),
        ("lopsided", ["--check", "--tolerance", "170%", "--score", "disk"], 0),
        ("even", ["--check"], 0),
        ("even", [], 0),
        ("lopsided", [], 0),
        ("broken", ["--check", "--tolerance", "1.0", "--score", "disk"], 3),
    ],
)
def test_check_reports_imbalance_by_its_exit_code(
    run_cli: Callable[..., Any], snapshot: str, words: list[str], code: int
) -> None:
    """Only --check turns findings into an exit code, and the tolerance decides."""
    assert run_cli("inspect", "--snapshot", str(SNAPSHOTS / f"{snapshot}.jsonl"), *words).code == code


@pytest.mark.parametrize(
    ("snapshot", "words", "code", "start"),
    [
        ("even", [], 0, "KAFKABAL OK - Balanced: "),
        ("lopsided", ["-w", "10%", "-c", "25%"], 2, "KAFKABAL CRITICAL - Broker 1 is at "),
        ("lopsided", ["-w", "10%", "-c", "300%", "--score", "disk"], 1, "KAFKABAL WARNING - Broker 1 is at "),
        ("broken", ["-w", "500%", "-c", "500%"], 2, "KAFKABAL CRITICAL - "),
        ("lopsided", ["-w", "30%", "-c", "20%"], 3, "KAFKABAL UNKNOWN - -w 30% is above -c 20%"),
        ("missing", [], 3, "KAFKABAL UNKNOWN - "),
    ],
)
def test_nagios_is_one_line_and_four_codes(
    run_cli: Callable[..., Any], snapshot: str, words: list[str], code: int, start: str
) -> None:
    """The line, the figures and the exit code follow the guidelines for monitoring plugins."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / f"{snapshot}.jsonl"), "--nagios", *words)

    assert outcome.code == code
    assert len(outcome.out.splitlines()) == 1
    assert outcome.out.startswith(start)
    assert ("'disk skew'=" in outcome.out) is (code != 3)


def test_a_monitoring_plugin_names_full_log_dirs(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Evenly full disks are balanced, so the status is OK, but its line names them; so does that of a fleet."""
    there = [BrokerRow(broker=b, log_dirs=[LogDirRow(path="/d", total_bytes=100, usable_bytes=3)]) for b in (1, 2)]
    path = tmp_path / "full.jsonl"
    write_snapshot(cluster(there, [TopicRow(topic="t", partitions=[partition(0, [1, 2], 60)])]), path)
    words = ("inspect", "--score", "disk", "--nagios")
    one = run_cli(*words, "--snapshot", str(path))
    assert (one.code, one.out.startswith("KAFKABAL OK - Balanced: 2 brokers")) == (0, True)
    assert ". Log dirs more than 85% full: /d of broker 1, /d of broker 2. |" in one.out
    profiles = tmp_path / "config" / "profiles.yaml"
    profiles.parent.mkdir(exist_ok=True)
    profiles.write_text(f"profiles:\n  full:\n    snapshot: {path}\n")
    fleet = run_cli(*words, "--all-profiles")
    assert (fleet.code, fleet.out.startswith("KAFKABAL OK - full: Balanced")) == (0, True)
    assert "Log dirs more than 85% full" in fleet.out


@pytest.mark.parametrize("words", [[], ["--no-such-option"], ["-o", "json"]])
def test_nagios_from_the_environment_is_the_same(run_cli: Callable[..., Any], words: list[str]) -> None:
    """Errors too have a plugin's line and exit codes, not those of other commands."""
    words = ["inspect", "--snapshot", str(SNAPSHOTS / "missing.jsonl"), *words]
    by_flag, by_variable = run_cli(*words, "--nagios"), run_cli(*words, environ={"KAFKABAL_NAGIOS": "1"})
    assert (by_variable.code, by_variable.out) == (by_flag.code, by_flag.out)
    assert by_variable.code == 3


@pytest.mark.parametrize(("command", "value"), [("inspect", "0"), ("inspect", "no"), ("create", "1")])
def test_nagios_in_the_environment_is_not_for_others(run_cli: Callable[..., Any], command: str, value: str) -> None:
    """A no disables it, and other commands do not have this format."""
    outcome = run_cli(command, "--snapshot", "no/such/file", environ={"KAFKABAL_NAGIOS": value})
    assert (outcome.code, outcome.out) == (2, "")


@pytest.mark.parametrize("option", ["--sample", "--broker-timeout"])
def test_no_time_at_all_is_refused(run_cli: Callable[..., Any], option: str) -> None:
    """A zero sampling time or timeout is refused."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "even.jsonl"), option, "0s")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0] == f"kafkabal: error: {option}: duration must be above 0: '0s'"


def snapshot_with(folder: Path, **partition: Any) -> str:
    """The balanced cluster with a change to all its partitions."""
    header, *lines = [json.loads(line) for line in (SNAPSHOTS / "even.jsonl").read_text().splitlines()]
    for line in lines:
        for row in line.get("partitions", ()):
            row.update({key: value(row) for key, value in partition.items()})
    path = folder / "changed.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (header, *lines)))
    return str(path)


def test_replicas_out_of_sync_are_a_finding(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A cluster with balanced bytes is unhealthy while followers lag, unless they are being added."""
    lagging = snapshot_with(tmp_path, isr=lambda row: row["replicas"][:1])
    assert run_cli("inspect", "--snapshot", lagging, "--check").code == 3
    outcome = run_cli("inspect", "--snapshot", lagging, "--nagios")
    assert (outcome.code, "partitions with live replicas out of sync" in outcome.out) == (2, True)

    moving = snapshot_with(
        tmp_path, isr=lambda row: row["replicas"][:1], adding=lambda row: row["replicas"][1:], removing=lambda _: []
    )
    assert run_cli("inspect", "--snapshot", moving, "--check").code == 0


def test_unknown_sizes_are_not_reported_as_balanced(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Unknown sizes are part of the verdict, in the table and for monitors."""
    unknown = snapshot_with(tmp_path, sizes=lambda row: [None] * len(row["replicas"]))
    for words in ([], ["--nagios"]):
        text = " ".join(run_cli("inspect", "--snapshot", unknown, *words).out.split())
        assert "sizes of all replicas unknown" in text


def test_no_next_command_is_proposed_for_a_balanced_cluster(run_cli: Callable[..., Any]) -> None:
    """No incomplete command is suggested."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "even.jsonl"), "-o", "json")
    assert json.loads(outcome.out)["next_command"] is None
    assert "next:" not in run_cli("inspect", "--snapshot", str(SNAPSHOTS / "even.jsonl")).out


def test_the_next_command_judges_by_the_same_scores_and_tolerance(run_cli: Callable[..., Any]) -> None:
    """What was named on the command line decides what is imbalanced, so the suggested command names it too."""
    lopsided = str(SNAPSHOTS / "lopsided.jsonl")
    words = ["--snapshot", lopsided, "--score", "disk", "--tolerance", "2.5%"]
    proposed = json.loads(run_cli("inspect", *words, "-o", "json").out)["next_command"]
    assert proposed == f"kafkabal rebalance --dry-run --score disk --tolerance 2.5% --snapshot {lopsided}"
    plan = run_cli(*proposed.split()[1:], "-o", "json")
    assert plan.code == 0, plan.err
    assert [score["score"] for score in json.loads(plan.out)["scores"]] == ["disk"]


@pytest.mark.parametrize("words", [["-o", "json"], ["--output-file", "x"]])
def test_a_monitor_is_given_its_line_alone(run_cli: Callable[..., Any], words: list[str]) -> None:
    """--nagios with an explicit format or output file is refused, as status UNKNOWN."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "even.jsonl"), "--nagios", *words)
    assert outcome.code == 3
    assert "--nagios has its own output format" in outcome.out


def test_a_monitor_has_its_own_exit_codes(run_cli: Callable[..., Any]) -> None:
    """--check would be ignored beside --nagios: it is refused, as status UNKNOWN."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "even.jsonl"), "--nagios", "--check")
    assert outcome.code == 3
    assert "--nagios and --check cannot be combined" in outcome.out


def test_thresholds_without_nagios_are_refused(run_cli: Callable[..., Any]) -> None:
    """A threshold without --nagios would have no effect: it is an error that names the right option."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "even.jsonl"), "-w", "10%")

    assert outcome.code == 2
    assert "--nagios" in outcome.err


def test_save_writes_the_same_cluster(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A saved snapshot gives the same result as the cluster."""
    saved = tmp_path / "saved.jsonl.gz"
    first = run_cli("inspect", "--snapshot", str(SNAPSHOTS / "broken.jsonl"), "--save", str(saved), "-o", "csv")
    second = run_cli("inspect", "--snapshot", str(saved), "-o", "csv")

    assert first.code == 0
    assert "wrote the snapshot to" in first.err
    assert second.out == first.out
    assert read_snapshot(saved).cluster_id == "broken"


def test_rates_appear_after_a_sample(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """--sample reads twice, that far apart; a cluster that is idle in between has rates of 0."""
    connect = clusters_room.connect
    monkeypatch.setattr(clusters_room, "connect", lambda _: connect(SnapshotAddress(str(SNAPSHOTS / "lopsided.jsonl"))))
    slept: list[float] = []
    clock = iter(range(1000))
    outcome = run_cli(
        "inspect",
        "-b",
        "idle:9092",
        "--sample",
        "10s",
        "-o",
        "json",
        sleep=slept.append,
        monotonic=lambda: float(next(clock)),
    )

    assert outcome.code == 0, outcome.err
    assert slept == [10.0]
    assert {row["in_bytes_per_s"] for row in json.loads(outcome.out)["brokers"]} == {0.0}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--snapshot", "no/such/file"], 2, "no/such/file: cannot read"),
        (["--snapshot", __file__], 2, "line 1"),
        (["-b", "127.0.0.1:1"], 1, "cannot reach 127.0.0.1:1"),
        ([], 2, "no cluster given"),
        (["--profile", "nobody"], 2, "unknown profile: 'nobody'"),
        (["--snapshot", str(SNAPSHOTS / "even.jsonl"), "--score", "disc"], 2, "unknown score: 'disc'"),
        (["--snapshot", str(SNAPSHOTS / "even.jsonl"), "--score", "disk", "--score", "disk=2"], 2, "duplicate score"),
        (["--snapshot", str(SNAPSHOTS / "even.jsonl"), "--score", "disk=nan"], 2, "a number above 0"),
        (
            ["--snapshot", str(SNAPSHOTS / "even.jsonl"), "--score", "disk=3"],
            2,
            "weights have no effect here: 'disk=3'",
        ),
        (["--snapshot", str(SNAPSHOTS / "even.jsonl"), "--score", "leader-bytes-in"], 2, "needs rates"),
        (["--snapshot", str(SNAPSHOTS / "even.jsonl"), "--save", "/no/such/folder/s"], 1, "cannot write"),
        (["--snapshot", str(SNAPSHOTS / "even.jsonl"), "--sample", "10s"], 2, "a snapshot shows one moment"),
    ],
)
def test_bad_input_is_one_clear_line(run_cli: Callable[..., Any], words: list[str], code: int, says: str) -> None:
    """Each mistake is named, with its exit code and without a traceback."""
    outcome = run_cli("inspect", *words)

    assert (outcome.code, outcome.out) == (code, "")
    assert says in outcome.err.splitlines()[0]


def test_a_monitor_reports_a_broker_that_never_responds(run_cli: Callable[..., Any]) -> None:
    """-t, in seconds as monitoring servers pass it, ends the plugin with CRITICAL and its own line."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        outcome = run_cli("inspect", "-b", address, "--nagios", "-t", "1")

    assert (outcome.code, outcome.out) == (2, "KAFKABAL CRITICAL - no result within 1 s\n")
    assert run_cli("inspect", "--snapshot", str(SNAPSHOTS / "even.jsonl"), "-t", "1s").code == 2


def test_the_timeout_of_a_monitor_counts_from_the_start_of_its_process(run_cli: Callable[..., Any]) -> None:
    """What the start of Python took is not given once more: the monitoring server counts it, too."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        outcome = run_cli("inspect", "-b", address, "--nagios", "-t", "3600", begun_ago_s=lambda: 3599.0)
        late = run_cli("inspect", "-b", address, "--nagios", "-t", "3600", begun_ago_s=lambda: 9999.0)

    assert (outcome.code, outcome.out) == (2, "KAFKABAL CRITICAL - no result within 3600 s\n")
    assert late.out == outcome.out


def test_a_timeout_that_ends_as_it_begins_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy host the signal comes before the command does anything, or once it is done: never a bare exception."""
    begin = signal.setitimer

    def at_once(which: int, seconds: float, *_: float) -> None:
        begin(which, seconds)
        signal.raise_signal(signal.SIGALRM)

    monkeypatch.setattr(signal, "setitimer", at_once)
    with pytest.raises(UnreachableError, match="no result within 3600 s"), time_limit(3600.0):
        raise AssertionError("not reached")


def test_the_age_of_a_process_includes_its_start() -> None:
    """It is more than what a program can measure by itself, and known without /proc as well."""
    code = (
        "import time; time.sleep(0.5)\n"
        "from pathlib import Path\n"
        "from kafkabal.cli.framework import process_age\n"
        "age_s = process_age.process_age_s()\n"
        "process_age._STAT = Path('/nowhere')\n"
        "print(age_s, process_age.process_age_s(), time.process_time())"
    )
    began_s = time.monotonic()
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    age_s, without_proc_s, used_s = map(float, shown.split())
    assert 0.5 <= age_s <= time.monotonic() - began_s + 0.02
    assert 0 < without_proc_s <= used_s


def test_a_time_limit_is_no_reason_to_try_another_broker() -> None:
    """Code that goes on after a broker that does not respond ends too when the time of the plugin is up."""
    with pytest.raises(UnreachableError, match=r"no result within 0\.05 s"), time_limit(0.05), suppress(KafkabalError):
        Event().wait(10)


def test_the_help_of_inspect_points_to_top(run_cli: Callable[..., Any]) -> None:
    """'inspect --watch', which people try first, suggests the right command."""
    refused = run_cli("inspect", "--watch", "5s")
    assert refused.code == 2
    assert refused.err.startswith("kafkabal: error: no such option: --watch\n")
    assert "hint: 'kafkabal top' follows a cluster in the terminal\n" in refused.err


def test_a_few_batches_on_large_disks_are_no_imbalance(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Less than a ten-millionth of a disk counts neither for ``inspect`` nor for ``rebalance``; more does."""

    def outcomes(size_bytes: int) -> tuple[Any, Any]:
        path = tmp_path / "cluster.jsonl"
        topic = TopicRow(topic="t", partitions=[partition(i, [i % 3 + 1], size_bytes * (i % 3 == 0)) for i in range(6)])
        write_snapshot(cluster(brokers(3, dir_bytes=10**12), [topic]), path)
        plan = ("rebalance", "plan", "--snapshot", str(path), "-o", "json", "--score", "disk")
        return run_cli("inspect", "--check", "--snapshot", str(path)), json.loads(run_cli(*plan).out)

    small, nothing = outcomes(5 * 10**4)
    assert (small.code, nothing["partitions"]) == (0, 0)
    assert "disk: shares outside 10% are inside their bands, since less than a ten-millionth of a disk" in small.out
    large, something = outcomes(10**6)
    assert large.code == 3
    assert "Broker 1 is at 3.00x and broker 2 is at 0.00x its fair share by disk." in large.out
    assert something["partitions"] == 1


def test_fullness_counts_only_replicas_on_disks_of_known_size(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Replicas on a dead broker, and in an offline log dir, fill no disk of their rack or broker."""
    online, offline = LogDirRow(path="/d0", total_bytes=1000, usable_bytes=900), LogDirRow(path="/d1", state="offline")
    rows = [
        BrokerRow(broker=1, rack="a", log_dirs=[online, offline]),
        BrokerRow(broker=2, rack="a", log_dirs=[LogDirRow(path="/d0", total_bytes=1000, usable_bytes=500)]),
        BrokerRow(broker=3, rack="a", state="dead"),
    ]
    parts = [
        replace(partition(0, [2, 1], 400, log_dirs=[0, 1]), isr=[2]),
        partition(1, [1, 2], 100),
        PartitionRow(partition=2, leader=2, replicas=[2, 3], isr=[2], sizes=[0, 300], log_dirs=[0, None]),
    ]
    path = tmp_path / "offline.jsonl"
    write_snapshot(cluster(rows, [TopicRow(topic="t", partitions=parts)]), path)

    def shown(by: str, key: str) -> dict[str, Any]:
        found = json.loads(run_cli("inspect", "--by", by, "--snapshot", str(path), "-o", "json").out)
        return {row[by]: row["full"] for row in found[key]}

    assert shown("broker", "brokers") == {1: 0.1, 2: 0.5, 3: None}
    assert shown("rack", "racks") == {"a": 0.3}


@pytest.mark.parametrize("form", ["table", "json", "jsonl", "yaml", "csv", "html", "markdown", "prometheus"])
def test_any_name_can_be_written_to_any_terminal(tmp_path: Path, form: str) -> None:
    """A file name that is no UTF-8, and a rack that ASCII lacks, end no format where the terminal knows ASCII only."""
    path = tmp_path / os.fsdecode(b"\xff.jsonl")
    rows = [replace(row, rack="r\u00fc\u20ac") for row in brokers(2)]
    write_snapshot(cluster(rows, [TopicRow(topic="t", partitions=[partition(0, [1])])]), path)
    words = [sys.executable, "-m", "kafkabal", "inspect", "-o", form, "--snapshot", str(path)]
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, check=False, env=environ)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    if form == "json":
        assert json.loads(done.stdout)["brokers"][0]["rack"] == "r\u00fc\u20ac"


def test_ids_are_written_as_kafka_writes_them(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Brokers of old clusters are numbered from 1001: no table writes that as 1,001."""
    rows = [replace(row, broker=1000 + row.broker) for row in brokers(4)]
    parts = [partition(number, [1001, 1002], 10**9) for number in range(1200)]
    path = tmp_path / "old.jsonl"
    write_snapshot(cluster(rows, [TopicRow(topic="img", partitions=parts)]), path)
    on = ("--snapshot", str(path))
    for words in (
        ("inspect", "--by", "partition", "--top", "0", *on),
        ("rebalance", "plan", "--all", *on),
        ("rebalance", "--drain", "1001", "--check", *on),
        ("create", "new", "-p", "1100", "-r", "1", "--dry-run", *on),
    ):
        shown = run_cli(*words, environ={"COLUMNS": "200"})
        assert shown.code == 0, shown.err
        assert "1001" in shown.out
        assert not re.search(r"(?:^| )1,00[1-4](?: |$)", shown.out, re.MULTILINE), words
