"""``kafkabal produce`` and ``kafkabal telemetry``: what is refused before any broker is contacted."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from kafkabal.cli.commands.produce import (
    _count_sent,
    _expect_complete,
    _interrupted,
    _producer_settings,
    own_files_below,
)
from kafkabal.cli.framework.cluster_access import await_broker
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import command_settings
from kafkabal.cli.framework.open_transfer_textfile import open_textfile
from kafkabal.cli.framework.selected_scores import profile_watcher
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.config import Settings
from kafkabal.errors import InputFileError, PartialFailureError, RefusedByClusterError, UnreachableError
from kafkabal.producer import SendOutcome
from kafkabal.producer.profile_watcher import ProfileWatcher
from kafkabal.sources import FolderSource

NOWHERE = ("-b", "127.0.0.1:1")
MEASURED = ("--score", "latency", "--telemetry")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a file, and files of rows."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.jpg").write_bytes(b"x")
    (tmp_path / "rows.jsonl").write_bytes(b"{}\n")
    (tmp_path / "rows.dat").write_bytes(b"{}\n")
    return tmp_path


def test_what_a_run_writes_is_not_sent(tmp_path: Path) -> None:
    """Its manifest, textfile and state may be in the folder, under any name; files beside them are sent."""
    folder = tmp_path / "data"
    (folder / "state" / "produce").mkdir(parents=True)
    (folder / "deep").mkdir()
    for name in ("a.jpg", "deep/sent[1].jsonl", "sent[1].jsonl", "sent1.jsonl", "state/produce/m.jsonl", "states"):
        (folder / name).write_bytes(b"x")
    (tmp_path / "link").symlink_to(folder)
    written = [folder / "sent[1].jsonl", None, tmp_path / "elsewhere", tmp_path / "link" / "state"]
    source = FolderSource(folder, exclude=own_files_below(tmp_path / "link", written))
    assert [part.name for part in source.listing().parts] == ["a.jpg", "deep/sent[1].jsonl", "sent1.jsonl", "states"]


def test_a_row_that_is_not_complete_is_an_error_of_its_own() -> None:
    """Exit code 0 would mean that all of the file is in the topic; the hint says when to go on."""
    outcome = SendOutcome(sent=5, unfinished="a.csv, line 7: the file ends within this row")
    with pytest.raises(PartialFailureError) as caught:
        _expect_complete(outcome, is_remembered=True)
    assert caught.value.message == "a.csv, line 7: the file ends within this row; 5 records sent"
    assert caught.value.hint == "run the same command again once the row is complete"
    assert caught.value.exit_code == 1


def test_without_a_manifest_no_hint_offers_to_send_the_rest() -> None:
    """The same command would send all records again."""
    for outcome in (SendOutcome(unfinished="a.csv, line 7: …"), SendOutcome(failures=[("a", "is a socket")])):
        with pytest.raises(PartialFailureError) as caught:
            _expect_complete(outcome, is_remembered=False)
        assert caught.value.hint == "without a manifest, the same command sends everything again"


@pytest.mark.parametrize(
    ("source", "words", "message"),
    [
        ("nothing", [], "nothing: no such file or folder"),
        ("rows.dat", [], "unknown file format"),
        ("rows.dat", ["--format", "xml"], "--format: unknown format: 'xml'"),
        ("rows.jsonl", ["--chunk", "1MB"], "--chunk applies to folders only"),
        ("folder", ["--chunk", "0"], "--chunk: size must be above 0: '0'"),
        ("folder", ["--chunk", "much"], "--chunk: invalid size: 'much'"),
        ("folder", ["--value", "v"], "--format, --value and --label apply to rows only"),
        ("folder", ["--key", "name"], "invalid key for files: 'name'"),
        ("folder", ["--policy", "scoer"], "unknown policy: 'scoer'"),
        ("folder", ["--score", "dsik"], "unknown score: 'dsik'"),
        ("folder", ["--producer-config", "linger.ms"], "not NAME=VALUE: 'linger.ms'"),
        ("folder", ["--producer-config", "=5"], "not NAME=VALUE: '=5'"),
        ("folder", ["--manifest", "."], "--manifest: is a folder: ."),
        ("folder", ["--manifest", "/dev/null"], "--manifest: is not a regular file: /dev/null"),
        ("folder", ["--manifest", "-"], "--manifest: cannot be -: it is read again by the next run"),
        ("folder", ["--manifest", "m", "--no-manifest"], "--manifest and --no-manifest cannot be combined"),
        ("folder", ["--prometheus", "http://p"], "--prometheus and --prometheus-query must be given together"),
        ("folder", ["--score", "latency", "--telemetry", "here"], "invalid port: 'here'"),
        ("folder", ["--score", "latency", "--telemetry", "99999"], "invalid port: '99999'"),
        ("folder", ["--score", "latency", "--telemetry", "::1:4318"], "cannot listen on address: '::1:4318'"),
        ("folder", ["--refresh", "5"], "--refresh: invalid duration: '5'"),
        ("folder", ["--refresh", "0s"], "--refresh: interval too short: '0s'"),
        ("folder", ["--refresh", "99ms"], "--refresh: interval too short: '99ms'"),
        ("folder", ["--refresh", "-5s"], "--refresh: invalid duration: '-5s'"),
        ("folder", ["--refresh", "25h"], "--refresh: interval too long: '25h'"),
        ("folder", ["--policy", "power-of-d:d=0"], "power-of-d: d must be 1 to 100, not 0"),
    ],
)
def test_invalid_combinations_of_options_are_refused(
    run_cli: Callable[..., Any], data: Path, source: str, words: list[str], message: str
) -> None:
    """Invalid options end with exit 2 and one line that names the fault, without contacting a broker."""
    outcome = run_cli("produce", "images", str(data / source), *words, *NOWHERE)
    assert (outcome.code, outcome.out) == (2, ""), outcome.err
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_a_manifest_in_a_missing_folder_is_refused(run_cli: Callable[..., Any], data: Path) -> None:
    """A misspelled path creates no folders, as in every command that writes a file."""
    manifest = data / "mising" / "images.manifest"
    outcome = run_cli("produce", "images", str(data / "folder"), "--manifest", str(manifest), *NOWHERE)
    assert (outcome.code, outcome.out) == (1, "")
    assert f"{manifest}: cannot write: no such folder: {manifest.parent}" in outcome.err
    assert not manifest.parent.exists()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("foo=1", 'foo=1: No such configuration property: "foo"'),
        ("compression.type=bogus", 'compression.type=bogus: Invalid value "bogus"'),
        ("linger.ms=abc", "linger.ms=abc: Invalid value"),
        ("message.max.bytes=5", "message.max.bytes=5: "),
        ("delivery.report.only.error=true", "delivery.report.only.error=true: reserved"),
        ("stats_cb=x", "stats_cb=x: reserved"),
        ("transactional.id=t", "transactional.id=t: reserved"),
        ("bootstrap.servers=other:9092", "bootstrap.servers=other:9092: reserved"),
        ("acks=1", "acks=1: `acks` must be set to `all`"),
        ("message.timeout.ms=1", "message.timeout.ms=1: `message.timeout.ms` must be greater than `linger.ms`"),
    ],
)
def test_a_bad_producer_setting_is_named(run_cli: Callable[..., Any], data: Path, setting: str, message: str) -> None:
    """A bad setting is named in one line; a single key, and contradictory keys, are refused."""
    outcome = run_cli("produce", "images", str(data / "folder"), "--producer-config", setting, *NOWHERE)
    assert (outcome.code, outcome.out) == (2, "")
    assert f"--producer-config {message}" in outcome.err
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["produce", "images", "rows.jsonl"],
        ["produce", "images", "rows.jsonl", *MEASURED, "topic"],
        ["telemetry", "latency"],
    ],
)
def test_a_refused_connection_is_reported_within_seconds(
    run_cli: Callable[..., Any], data: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """The error lists every address, why it is unreachable, and what to check; exit 1 sooner than a client gives up."""
    monkeypatch.chdir(data)
    seconds = [0.0]

    def sleep(some_s: float) -> None:
        seconds[0] += some_s

    servers = "127.0.0.1:1,127.0.0.1:2"
    outcome = run_cli(*words, "-b", servers, monotonic=lambda: seconds[0], sleep=sleep)
    assert (outcome.code, outcome.out) == (1, "")
    error, hint = outcome.err.splitlines()
    assert error.endswith("cannot reach 127.0.0.1:1: connection refused (the same with 127.0.0.1:2)")
    assert "that this is the port of its listener" in hint
    assert 2 < seconds[0] < 5


@pytest.mark.parametrize("telemetry", [[], [*MEASURED, "topic"], [*MEASURED, "0"]])
def test_reachability_is_requested_once(
    run_cli: Callable[..., Any], data: Path, monkeypatch: pytest.MonkeyPatch, telemetry: list[str]
) -> None:
    """Wherever latencies come from, one response of a broker is enough."""
    asked: list[str] = []

    def refused(*_: object, **__: object) -> None:
        raise RefusedByClusterError("enough")

    monkeypatch.setattr(KafkaCluster, "cluster_id", lambda _: asked.append("id") or "id")
    monkeypatch.setattr("kafkabal.telemetry.TopicIntake", lambda *_, **__: nullcontext())
    monkeypatch.setattr("kafkabal.producer.produce_source", refused)
    outcome = run_cli("produce", "images", str(data / "folder"), *telemetry, *NOWHERE)
    assert (outcome.code, outcome.err) == (1, "kafkabal: error: enough\n")
    assert asked == ["id"]


@pytest.mark.parametrize("telemetry", [[], [*MEASURED, "topic"]])
def test_a_run_stopped_while_waiting_for_a_broker_reports_that(
    run_cli: Callable[..., Any], data: Path, telemetry: list[str]
) -> None:
    """Ctrl-C before anything was sent is reported like a later one."""

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    outcome = run_cli("produce", "images", str(data / "folder"), *telemetry, *NOWHERE, sleep=interrupted)
    assert outcome.code == 130
    assert "interrupted: 0 records sent to topic images" in outcome.err


def test_a_broker_that_is_just_starting_is_waited_for() -> None:
    """Refused connections are retried in the first seconds; other errors end the run at once."""
    seconds = [0.0]

    class Starting:
        def cluster_id(self) -> str:
            if seconds[0] < 2:
                raise UnreachableError("connection refused")
            return "id"

    class Refusing:
        def cluster_id(self) -> str:
            raise RefusedByClusterError("wrong password")

    def sleep(some_s: float) -> None:
        seconds[0] += some_s

    context = CommandContext(environ={}, monotonic=lambda: seconds[0], sleep=sleep)
    await_broker(Starting(), context)  # type: ignore[arg-type]
    assert 2 <= seconds[0] < 3
    with pytest.raises(RefusedByClusterError):
        await_broker(Refusing(), context)  # type: ignore[arg-type]
    assert seconds[0] < 3


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        (["enable.idempotence=false"], "retries may duplicate"),
        (["enable.idempotence=false", "acks=1"], "acks=1: acknowledged records are lost"),
        (["allow.auto.create.topics=true"], "may be created again"),
        (["linger.ms=1"], ""),
    ],
)
def test_a_setting_that_undoes_a_promise_is_warned_of(settings: list[str], warning: str) -> None:
    """A setting that weakens produce's guarantees causes one warning line; a harmless one causes none."""
    stream = io.StringIO()
    context = CommandContext(stderr=stream, environ={})
    assert _producer_settings(settings, context) == dict(setting.split("=") for setting in settings)
    assert (warning in stream.getvalue()) if warning else not stream.getvalue()


def test_without_a_cluster_nothing_is_sent(run_cli: Callable[..., Any], data: Path) -> None:
    """The hint says how to name a cluster."""
    outcome = run_cli("produce", "images", str(data / "folder"))
    assert outcome.code == 2
    assert "--bootstrap-server" in outcome.err
    assert "--snapshot" not in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["subscribe", "--metric", "*"], "not a metric prefix: '*'"),
        (["subscribe", "--interval", "10ms"], "push interval must be 0.1 s to 3600 s"),
        (["subscribe", "--match", "client_id"], "invalid match: 'client_id'"),
        (["subscribe", "--match", "name=a"], "unknown match key: 'name'"),
        (["subscribe", "--name", ""], "--name: empty value"),
        (["latency", "--listen", "x"], "invalid port: 'x'"),
        (["latency", "--listen", "99999"], "invalid port: '99999'"),
        (["latency", "--listen", "9" * 5000], "invalid port"),
        (["latency", "--listen", "..:4318"], "cannot listen on ..:4318"),
        (["remove"], "missing argument"),
        (["plugin", "--libs", "no-such-folder", "--out", "x.jar"], "no-such-folder: no such file or folder"),
    ],
)
def test_telemetry_is_refused_before_it_reaches_a_broker(
    run_cli: Callable[..., Any], words: list[str], message: str
) -> None:
    """Exit 2 and one line that names the fault."""
    cluster = () if words[0] == "plugin" else NOWHERE
    outcome = run_cli("telemetry", *words, *cluster)
    assert (outcome.code, outcome.out) == (2, ""), outcome.err
    assert message in outcome.err


def test_a_subscription_that_is_named_twice_is_removed_once(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers reject duplicate changes in a request, so the request has it once."""
    changed: list[Any] = []

    def alter(_: KafkaCluster, changes: list[Any]) -> dict[Any, Any]:
        changed.extend((change.resource.name, change.key) for change in changes)
        return {}

    monkeypatch.setattr(KafkaCluster, "client_metrics_subscriptions", lambda _: ("a", "b"))
    monkeypatch.setattr(KafkaCluster, "alter_configs", alter)
    outcome = run_cli("telemetry", "remove", "a", "b", "a", *NOWHERE)
    assert (outcome.code, "removed: a, b" in outcome.err) == (0, True)
    assert len(changed) == len(set(changed)) == 6


def watcher_of(profile: Path) -> tuple[ProfileWatcher, io.StringIO]:
    """The profile watcher of a run that took its scores from a profile."""
    stream = io.StringIO()
    folders = {"config": profile.parent, "state": profile.parent}
    context = CommandContext(stderr=stream, environ={}, folders=folders)
    return profile_watcher(command_settings({"profile": str(profile)}, context), context, default=("disk",)), stream


def rewrite(profile: Path, text: str) -> None:
    """Change a profile, with a new modification time even on a coarse clock."""
    before = profile.stat().st_mtime_ns
    profile.write_text(text)
    os.utime(profile, ns=(before + 10**9, before + 10**9))


def test_scores_of_a_changed_profile_are_taken(tmp_path: Path) -> None:
    """After each change, the run gets the profile's scores once, and reports it."""
    profile = tmp_path / "p.yaml"
    profile.write_text("bootstrap_servers: a:1\nscores: [disk]\n")
    watcher, stream = watcher_of(profile)
    assert watcher.new_scores() is None
    rewrite(profile, "bootstrap_servers: a:1\nscores: [disk=2, leader-bytes-in]\n")
    scores = watcher.new_scores()
    assert scores is not None
    assert [(s.score.name, s.weight) for s in scores] == [("disk", 2.0), ("leader-bytes-in", 1.0)]
    assert watcher.new_scores() is None
    assert "profile changed; scores: disk, leader-bytes-in" in stream.getvalue()


@pytest.mark.parametrize("text", ["scores: [nonsense]\n", "scores: [", "bootstrap_servers: a:1\nunknown: 1\n"])
def test_a_profile_that_no_longer_makes_sense_is_not_taken(tmp_path: Path, text: str) -> None:
    """A broken profile causes a warning, and the run keeps its current scores."""
    profile = tmp_path / "p.yaml"
    profile.write_text("bootstrap_servers: a:1\nscores: [disk]\n")
    watcher, stream = watcher_of(profile)
    rewrite(profile, text)
    assert watcher.new_scores() is None
    assert "changed profile ignored" in stream.getvalue()


def test_an_interrupted_run_reports_the_records_it_sent_itself() -> None:
    """A run stopped before it sent anything does not deny what earlier runs sent."""
    interrupted = _interrupted(0, "images", KeyboardInterrupt(), is_remembered=False)
    assert interrupted.message == "interrupted: 0 records sent to topic images"
    later = _interrupted(7, "images", KeyboardInterrupt(), is_remembered=True)
    assert (later.message, later.hint) == (
        "interrupted: 7 records sent to topic images",
        "run the same command again to continue",
    )


def test_a_bad_row_is_reported_with_what_was_sent_before() -> None:
    """What came before it is in the topic, unless it is the first thing that was read."""
    for sent, message in ((0, "rows.jsonl, line 7: bad"), (6, "rows.jsonl, line 7: bad; 6 records sent before")):
        error = InputFileError("rows.jsonl", "bad", line=7)
        _count_sent(error, sent)
        assert error.message == message


@pytest.mark.parametrize(("id_or_error", "label"), [(["mKsX"], "mKsX"), (UnreachableError("b1:9092: down"), "b1:9092")])
def test_a_textfile_names_the_cluster_by_its_id(tmp_path: Path, id_or_error: Any, label: str) -> None:
    """Without a profile the label is the cluster's id, as in all other metrics; if it does not respond, its servers."""
    cluster = Mock(cluster_id=Mock(side_effect=id_or_error))
    cluster.name = "b1:9092"
    context = CommandContext(environ={}, folders={"config": tmp_path})
    path = tmp_path / "produce.prom"
    with open_textfile(path, "produce", "images", cluster, Settings(), context):
        pass
    assert f'cluster="{label}",topic="images"' in path.read_text()
