"""Values that no command may misinterpret: empty, misspelt, too large, or without effect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SNAPSHOT = str(Path(__file__).parent / "snapshots" / "lopsided.jsonl")
PLAN = ("rebalance", "plan", "--snapshot", SNAPSHOT)
HUGE = "9" * 21
LONG = "a" * 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        # empty values
        ((*PLAN, "--topics", ""), "--topics: empty value"),
        ((*PLAN, "--exclude-brokers", ""), "--exclude-brokers: empty value"),
        ((*PLAN, "--score", ""), "--score: empty value"),
        ((*PLAN, "--profile", ""), "--profile: empty value"),
        ((*PLAN, "--keep-moved", ""), "--keep-moved: empty value"),
        ((*PLAN, "--drain", ""), "--drain: empty value"),
        ((*PLAN, "--out", ""), "--out: empty value"),
        (("inspect", "--snapshot", SNAPSHOT, "--output-file", ""), "--output-file: empty value"),
        (("create", "", "--snapshot", SNAPSHOT, "--dry-run"), "error: TOPIC: empty value"),
        (("route", "", "--snapshot", SNAPSHOT), "error: TOPIC: empty value\nkafkabal: hint: see whether"),
        (("produce", "img", "-", "-b", "b:1"), "standard input is closed"),
        (("policies", ""), "empty value"),
        # patterns without a match
        ((*PLAN, "--topics", "imagse"), "--topics: unknown topic: 'imagse'"),
        ((*PLAN, "--exclude-topics", "imagse"), "--exclude-topics: unknown topic: 'imagse'"),
        ((*PLAN, "--exclude-topics", "*"), "no topic in scope: --exclude-topics excludes all topics"),
        (
            (*PLAN, "--topics", "nosuch*"),
            "unknown topic: 'nosuch*'\nkafkabal: hint: list topics with 'kafkabal inspect",
        ),
        ((*PLAN, "--exclude-brokers", "77"), "unknown broker: 77\nkafkabal: hint: see 'kafkabal inspect --snapshot"),
        ((*PLAN, "--keep-moved", "no/such/plan.json"), "no/such/plan.json: cannot"),
        ((*PLAN, "--keep-moved", str(Path(__file__).parent)), "no plan (*.json) in this folder"),
        # invalid numbers, and numbers out of range
        ((*PLAN, "--replication-factor", HUGE), "--replication-factor: number too large"),
        ((*PLAN, "--max-moves", "-1"), "--max-moves: must be at least 0: '-1'"),
        ((*PLAN, "--throttle", "0.0001"), "--throttle: rate is less than one byte: '0.0001'"),
        ((*PLAN, "--what-if", "add=7:r:9..9TB"), "--what-if: invalid size: '9..9TB'"),
        ((*PLAN, "--score", "disk=0"), "--score: weight must be a number above 0"),
        ((*PLAN, "--no-color", "--color", "always"), "--no-color and --color always cannot be combined"),
        ((*PLAN, "--replication-factor", "1_0"), "--replication-factor: not a whole number"),
        ((*PLAN, "--what-if", "add=99999999999:r:1GB"), "--what-if: invalid broker id: 99999999999"),
        ((*PLAN, "--drain", HUGE), "--drain: invalid broker ids"),
        ((*PLAN, "--broker-limit", f"{HUGE}:3"), "--broker-limit: invalid limit"),
        (("inspect", "--snapshot", SNAPSHOT, "--top", "１２"), "--top: not a whole number"),
        (("inspect", "--snapshot", SNAPSHOT, "--top", "1_000"), "--top: not a whole number"),
        (("inspect", "--snapshot", SNAPSHOT, "--top", "-1"), "--top: must be at least 0"),
        (("inspect", "--snapshot", SNAPSHOT, "--sample", "1m1m"), "invalid duration: '1m1m'"),
        (("inspect", "--snapshot", SNAPSHOT, "--score", "disk=1_0"), "disk=1_0"),
        (("rebalance", "--snapshot", SNAPSHOT, "--dry-run", "--throttle", "0"), "--throttle: rate must be above 0"),
        (("rebalance", "throttle", "0", "--snapshot", SNAPSHOT), "rate must be above 0"),
        (
            (*PLAN, "--throttle", "50"),
            "--throttle: throttle too low: '50' is 50 B/s\nkafkabal: hint: write it like 50MB/s",
        ),
        ((*PLAN, "--throttle", "999"), "the minimum is 1KB/s"),
        (("rebalance", "--snapshot", SNAPSHOT, "--dry-run", "--log-dir-throttle", "50"), "throttle too low"),
        (("rebalance", "throttle", "50", "--snapshot", SNAPSHOT), "throttle too low: '50' is 50 B/s"),
        (("watch", "-b", "b:1", "--every", "1ms"), "--every: interval too short: '1ms'"),
        (("top", "-b", "b:1", "--every", "1ms"), "--every: interval too short: '1ms'"),
        # impossible names of files and hosts
        ((*PLAN, "--keep-moved", LONG), "--keep-moved: path too long"),
        ((*PLAN, "--out", LONG), "--out: path too long"),
        (("produce", "clicks", LONG, "-b", "b:1"), "path too long"),
        (("inspect", "--snapshot", LONG), "--snapshot: path too long"),
        (("inspect", "--profile", f"{LONG}.yaml"), "cannot read"),
        (("rebalance", "status", "-b", f"{'x' * 300}:1"), "--bootstrap-server: invalid address"),
        (("inspect", "-b", f"b:{HUGE}"), "--bootstrap-server: invalid address: 'b:"),
        (("inspect", "--zookeeper", f"{'x' * 300}:2181"), "--zookeeper: invalid address"),
        # values without effect
        (("inspect", "--snapshot", SNAPSHOT, "--command-config", "/nope"), "--command-config has no effect"),
        (("inspect", "--snapshot", SNAPSHOT, "--broker-timeout", "5s"), "--broker-timeout has no effect"),
        (
            ("inspect", "--snapshot", SNAPSHOT, "--prometheus-label", "id"),
            "--prometheus-label requires --prometheus and",
        ),
        (("inspect", "--snapshot", SNAPSHOT, "-q", "-v"), "--quiet and --verbose cannot be combined"),
        (("rebalance", "--snapshot", SNAPSHOT, "--exit-code", "--yes"), "--exit-code requires --dry-run"),
        (("sandbox", "up", "--class-path", "/nope"), "--class-path: no such file or folder: /nope"),
        (
            ("sandbox", "up", "--listener", "x"),
            "--listener: invalid listener: 'x'\nkafkabal: hint: write it like TLS=SSL",
        ),
        # options of policies
        (("policies", "power-of-d:d=0"), "d must be 1 to 100"),
        (("policies", "round-robin:over=moon"), "over"),
        (("policies", "score:floor=nan"), "floor"),
        (("policies", "power-of-d:d=2,d=3"), "duplicate option: 'd'"),
        (("policies", "power-of-d:d=1_0"), "d=1_0"),
        (
            ("route-simulate", "--snapshot", SNAPSHOT, "--topic", "images", "--policy", "sticky", "--policy", "sticky"),
            "--policy: duplicate policy: 'sticky'",
        ),
        (("monitoring", "--out", "m", "--full", "0"), "--full: must be above 0% and below 100%: '0'"),
        # limits that cannot be met
        ((*PLAN, "--replication-factor", "100"), "--replication-factor 100 needs as many brokers"),
    ],
)
def test_a_wrong_value_is_one_line(run_cli: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    """A wrong value is named in one line, and nothing is done."""
    refused = run_cli(*words)
    assert (refused.code, refused.out) == (2, ""), refused.err
    assert message in refused.err


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"KAFKABAL_TOPICS": ""}, "KAFKABAL_TOPICS: empty value"),
        ({"KAFKABAL_KEEP_MOVED": " "}, "KAFKABAL_KEEP_MOVED: empty value"),
        ({"KAFKABAL_REPLICATION_FACTOR": "x"}, "KAFKABAL_REPLICATION_FACTOR: not a whole number"),
    ],
)
def test_a_wrong_variable_is_named(run_cli: Callable[..., Any], environ: dict[str, str], message: str) -> None:
    """The error uses the variable's name."""
    refused = run_cli(*PLAN, environ=environ)
    assert (refused.code, message in refused.err) == (2, True), refused.err


@pytest.mark.parametrize(
    ("profile", "words", "message"),
    [
        ("tolerance: 5%\nscores: {ruplicas: 1}\n", PLAN, "p.yaml, line 2: scores: unknown score: 'ruplicas'"),
        (
            "scores: [ruplicas]\n",
            ("inspect", "--snapshot", SNAPSHOT),
            "p.yaml, line 1: scores: unknown score: 'ruplicas'",
        ),
        ("\nexclude_topics: [imagse]\n", PLAN, "p.yaml, line 2: exclude_topics: unknown topic: 'imagse'"),
        ("exclude_brokers: [77]\n", PLAN, "p.yaml, line 1: exclude_brokers: unknown broker: 77"),
        ("\nbootstrap_servers: b\n", ("inspect",), "p.yaml, line 2: bootstrap_servers: invalid address: 'b'"),
        ("\nscores: {}\n", PLAN, "p.yaml, line 2: scores: empty value"),
        ("{tolerance: 5%, throttle: fast}\n", PLAN, "p.yaml, line 1: throttle: "),
        ("topics:\n- a\n- ''\n", PLAN, "p.yaml, line 3: topics: empty value"),
        ("capacity: {1: {/d0: x}}\n", PLAN, "p.yaml, line 1: /d0: "),
        ("capacity: {one: 1TB}\n", PLAN, "p.yaml, line 1: invalid broker id: 'one'"),
        ("\ncapacity: {1: {/nope: 1TB}}\n", ("inspect", "--snapshot", SNAPSHOT), "p.yaml, line 2: capacity"),
    ],
)
def test_a_wrong_name_in_a_profile_is_named_by_its_line_and_key(
    run_cli: Callable[..., Any], tmp_path: Path, profile: str, words: tuple[str, ...], message: str
) -> None:
    """A wrong value in a profile is reported with its line and key, even if only the cluster or a registry can tell."""
    (tmp_path / "p.yaml").write_text(profile)
    refused = run_cli(*words, "--profile", str(tmp_path / "p.yaml"))
    assert (refused.code, message in refused.err) == (2, True), refused.err


def test_a_setting_without_effect_in_a_profile_is_named(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Settings may share a line, so that the line alone does not tell which one is meant."""
    profile = tmp_path / "p.yaml"
    profile.write_text(f"{{snapshot: {SNAPSHOT}, broker_timeout: 5s}}\n")
    refused = run_cli("inspect", "--profile", str(profile))
    assert refused.code == 2
    assert f"broker_timeout ({profile}, line 1) has no effect: snapshot ({profile}, line 1)" in refused.err


_NOWHERE = ("-b", "127.0.0.1:1")
"""No broker listens there: whatever is asked of it ends with exit code 1."""
_LATENCY = ("--leaders-only", "--score", "latency")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        *(
            ((*command, *words), message)
            for command in (
                ("rebalance", "--yes"),
                ("rebalance", "plan"),
                ("rebalance", "explain", "--why-not", "a-0", "1"),
            )
            for words, message in (
                (("--broker-limit", "foo"), "--broker-limit: invalid limit: 'foo'"),
                (("--keep-moved", "/no/such/plan.json"), "/no/such/plan.json: cannot read"),
                (("--score", "nosuch"), "--score: unknown score: 'nosuch'"),
                (("--below", "200%"), "--below must be above 0% and at most 100%"),
                (("--leaders-only", "--drain", "3"), "--leaders-only and --drain cannot be combined"),
            )
        ),
        (("rebalance", "--yes", "--max-duration", "1h"), "--max-duration requires a throttle with a rate"),
        (("rebalance", "--yes", *_LATENCY, "--telemetry", "99999"), "--telemetry: invalid port: '99999'"),
        (
            ("rebalance", "--yes", *_LATENCY, "--prometheus", "p:9090", "--prometheus-query", "up"),
            "--prometheus: invalid URL: p:9090",
        ),
        (("rebalance", "plan", "--what-if", "remove=x"), "--what-if: invalid change: 'remove=x'"),
        *(
            ((*command, "--journal", "/no/such/run.jsonl"), "/no/such/run.jsonl: cannot read")
            for command in (
                ("rebalance", "resume", "--yes"),
                ("rebalance", "cancel"),
                ("rebalance", "rollback", "--yes"),
                ("rebalance", "repair"),
                ("rebalance", "status"),
            )
        ),
        (("create", "img", "--placement", "foo"), "unknown placement: 'foo'"),
        (("create", "img", "--score", "nosuch"), "--score: unknown score: 'nosuch'"),
        (("inspect", "--score", "nosuch"), "--score: unknown score: 'nosuch'"),
        (("inspect", "--score", "disk=3"), "weights have no effect here: 'disk=3'"),
        (("route", "img", "--score", "nosuch"), "--score: unknown score: 'nosuch'"),
        (("route-simulate", "--topic", "img", "--score", "nosuch"), "--score: unknown score: 'nosuch'"),
    ],
)
def test_what_words_alone_refute_is_refused_before_a_cluster_is_contacted(
    run_cli: Callable[..., Any], words: tuple[str, ...], message: str
) -> None:
    """Nothing waits for a cluster, or for another command that holds its lock, to report a mistake of the user."""
    refused = run_cli(*words, *_NOWHERE)
    assert (refused.code, message in refused.err) == (2, True), refused.err


@pytest.mark.parametrize(
    ("words", "environ", "message"),
    [
        (("--score", "nosuch"), {}, "--score: unknown score: 'nosuch'"),
        (("--score", "disk=3"), {}, "weights have no effect here: 'disk=3'"),
        (("--tolerance", "foo"), {}, "--tolerance: invalid percentage: 'foo'"),
        ((), {"KAFKABAL_TOLERANCE": "foo"}, "KAFKABAL_TOLERANCE: invalid percentage: 'foo'"),
    ],
)
def test_a_wrong_value_is_not_a_fault_of_each_of_several_clusters(
    run_cli: Callable[..., Any], tmp_path: Path, words: tuple[str, ...], environ: dict[str, str], message: str
) -> None:
    """With several profiles, a mistake on the command line is one error, and no cluster is said not to respond."""
    profiles = tmp_path / "p.yaml"
    profiles.write_text(f"profiles: {{a: {{snapshot: {SNAPSHOT}}}, b: {{snapshot: {SNAPSHOT}}}}}\n")
    both = ("--profile", f"{profiles}#a", "--profile", f"{profiles}#b")
    refused = run_cli("inspect", *both, *words, environ=environ)
    assert (refused.code, refused.out, message in refused.err) == (2, "", True), refused.err


def test_an_empty_folder_holds_no_earlier_plan_yet(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """The first day of a cron job that keeps its plans in a folder."""
    assert run_cli(*PLAN, "--keep-moved", str(tmp_path / "state"), "-q").code == 2
    (tmp_path / "plans").mkdir()
    assert run_cli(*PLAN, "--keep-moved", str(tmp_path / "plans"), "-q").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "--profile", "~no-such-user/p.yaml"),
        ("route-simulate", "--workload", "~no-such-user/w.yaml"),
    ],
    ids=lambda words: words[0],
)
def test_the_home_of_a_user_that_does_not_exist(run_cli: Callable[..., Any], words: tuple[str, ...]) -> None:
    """The home of an unknown user is reported as an unreadable file, named as written."""
    outcome = run_cli(*words)
    assert (outcome.code, f"{words[-1]}: cannot read" in outcome.err) == (2, True), outcome.err


@pytest.mark.parametrize(
    "words",
    [
        ("profiles", "add", "lab", "--snapshot", "s.jsonl"),
        ("completion", "candidates", "topics", "--snapshot", "s.jsonl"),
        ("sandbox", "status"),
    ],
    ids=lambda words: words[0],
)
def test_a_current_folder_that_was_removed(
    run_cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A path relative to it is named."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    outcome = run_cli(*words, environ={"KAFKABAL_SANDBOX_HOME": "boxes"})
    assert outcome.code == 2
    assert ": relative to a folder that no longer exists\nkafkabal: hint: " in outcome.err


def test_a_folder_of_sandboxes_that_links_to_itself(
    run_cli: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that links to itself counts as having no sandboxes, in every command without a cluster."""
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    monkeypatch.setenv("KAFKABAL_SANDBOX_HOME", str(loop))
    outcome = run_cli("sandbox", "status")
    assert (outcome.code, "Traceback" in outcome.err) == (0, False), outcome.err
