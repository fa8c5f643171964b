"""``kafkabal telemetry``: invalid durations are refused before any broker is contacted."""

import socket
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkabal.cli.framework.telemetry_intake import open_topic_intake
from kafkabal.config import ConnectionSettings
from kafkabal.errors import ExitCode


@pytest.mark.parametrize("words", [["latency", "--for", "0s"], ["subscribe", "--interval", "0s"]])
def test_no_time_at_all_is_refused(run_cli: Callable[..., Any], words: list[str]) -> None:
    """A collection time or push interval of zero is refused."""
    refused = run_cli("telemetry", *words, "-b", "127.0.0.1:1")
    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert refused.err.splitlines()[0] == f"kafkabal: error: {words[1]}: duration must be above 0: '0s'"


def test_an_address_may_be_an_ipv6_one_in_brackets(run_cli: Callable[..., Any]) -> None:
    """As in a URL; without them it is not clear where the port begins."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 here")
    shown = run_cli("telemetry", "show", "--listen", "[::1]:0", "--for", "1ms", "-q")
    assert shown.code == ExitCode.DONE, shown.err
    refused = run_cli("telemetry", "show", "--listen", "::1:0", "--for", "1ms", "-q")
    assert (refused.code, "cannot listen on address: '::1:0'" in refused.err) == (ExitCode.USAGE, True)


def test_posted_metrics_are_shown_without_a_cluster(run_cli: Callable[..., Any]) -> None:
    """Posted metrics need no cluster; latencies need its brokers."""
    shown = run_cli("telemetry", "show", "--listen", "0", "--for", "1ms", "-q")
    refused = run_cli("telemetry", "latency", "--listen", "0", "--for", "1ms", "-q")

    assert shown.code == ExitCode.DONE, shown.err
    assert "0 client pushes" in shown.out
    assert (refused.code, "no cluster given" in refused.err) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("source", [("--listen", "0"), ("-b", "127.0.0.1:1")], ids=["posted", "topic"])
def test_metrics_are_collected_for_as_long_as_asked(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, source: tuple[str, str]
) -> None:
    """Pushes arrive while the intake is open; they are shown once the time has passed."""
    intake, slept_s = nullcontext(SimpleNamespace(payloads=1, malformed=0)), list[float]()
    for name in ("open_http_intake", "_live", "_intake"):
        monkeypatch.setattr(f"kafkabal.cli.commands.telemetry.{name}", lambda *_: intake)

    shown = run_cli("telemetry", "show", *source, "--for", "30s", sleep=slept_s.append)

    assert shown.code == ExitCode.DONE, shown.err
    assert "collecting for 30 s" in shown.err
    assert slept_s == [30.0]


def test_what_cannot_be_decoded_is_reported(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Foreign payloads are a warning, not passed over in silence."""
    intake = SimpleNamespace(payloads=1, malformed=2)
    monkeypatch.setattr("kafkabal.cli.commands.telemetry.open_http_intake", lambda *_: nullcontext(intake))

    shown = run_cli("telemetry", "show", "--listen", "0", "--for", "1ms")

    assert shown.code == ExitCode.DONE
    assert "2 payloads ignored: not OTLP metrics" in shown.err


def test_a_topic_that_cannot_be_read_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, by every command with telemetry from the topic: without it, latencies would become unknown silently."""
    warnings: list[str] = []
    context: Any = SimpleNamespace(warn=warnings.append, wall_clock=lambda: 0.0)
    monkeypatch.setattr("kafkabal.cli.framework.cluster_access.await_broker", lambda *_: None)

    def intake(*_: Any, on_problem: Callable[[str], None], **__: Any) -> None:
        on_problem("Broker: Topic authorization failed")

    monkeypatch.setattr("kafkabal.telemetry.TopicIntake", intake)
    settings = ConnectionSettings(bootstrap_servers=("127.0.0.1:1",))
    open_topic_intake(cast("Any", None), settings, None, cast("Any", None), context, before_s=1.0)
    assert warnings == ["part of topic __kafkabal_telemetry cannot be read: Broker: Topic authorization failed"]


@pytest.mark.parametrize(("command", "found"), [("latency", '"broker": 6'), ("errors", '"pushes": 0')])
def test_posts_are_received_from_the_clients_of_a_snapshot(
    run_cli: Callable[..., Any], tmp_path: Path, command: str, found: str
) -> None:
    """With --listen only the brokers of the cluster are needed; without it the refusal names the profile."""
    profiles = tmp_path / "mine.yaml"
    profiles.write_text(f"profiles: {{mine: {{snapshot: {Path(__file__).parent / 'snapshots' / 'lopsided.jsonl'}}}}}")
    words = ("telemetry", command, "--profile", f"{profiles}#mine")

    shown = run_cli(*words, "--listen", "0", "--for", "1ms", "-o", "json", "-q")
    assert (shown.code, found in shown.out) == (ExitCode.DONE, True), shown
    refused = run_cli(*words)
    assert (refused.code, "requires a live cluster, not a snapshot" in refused.err) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("command", ["latency", "errors"])
def test_an_unreachable_cluster_is_reported_before_collecting(run_cli: Callable[..., Any], command: str) -> None:
    """Posts are not collected for a minute only to be lost."""
    refused = run_cli("telemetry", command, "--listen", "0", "--for", "1ms", "-b", "127.0.0.1:1")
    assert (refused.code, "collecting" in refused.err) == (ExitCode.FAILED, False)


@pytest.mark.parametrize("words", [["list"], ["show"], ["latency"], ["errors"], ["subscribe"], ["remove", "x"]])
def test_brokers_that_hang_are_given_up(run_cli: Callable[..., Any], words: list[str]) -> None:
    """After the time that the user gives, as in other commands that ask a cluster."""
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts, and never responds
        address = f"127.0.0.1:{server.getsockname()[1]}"
        refused = run_cli("telemetry", *words, "-b", address, "--broker-timeout", "100ms")
    assert (refused.code, refused.out) == (ExitCode.FAILED, "")
    assert f"{address} did not respond within 0.1 s" in refused.err


def test_a_timeout_has_no_effect_without_brokers(run_cli: Callable[..., Any]) -> None:
    """Posted metrics are shown without any request to a cluster."""
    refused = run_cli("telemetry", "show", "--listen", "0", "--for", "1ms", "--broker-timeout", "5s")
    assert refused.code == ExitCode.USAGE
    assert "--listen and --broker-timeout cannot be combined" in refused.err


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("latency", "no broker measured (0 client pushes)"),
        ("errors", "no producer reported on a topic (0 client pushes)"),
        ("show", "no metrics (0 client pushes)"),
    ],
)
def test_missing_pushes_are_explained(run_cli: Callable[..., Any], tmp_path: Path, command: str, result: str) -> None:
    """Without a single push, the output says when clients push; the result and the exit code stay as they are."""
    profiles = tmp_path / "mine.yaml"
    profiles.write_text(f"profiles: {{mine: {{snapshot: {Path(__file__).parent / 'snapshots' / 'lopsided.jsonl'}}}}}")
    cluster = [] if command == "show" else ["--profile", f"{profiles}#mine"]
    shown = run_cli("telemetry", command, *cluster, "--listen", "0", "--for", "1ms")
    assert (shown.code, shown.out.splitlines()[0]) == (ExitCode.DONE, result)
    assert "hint: clients push at the interval of their subscription, and once at their end" in shown.err


@pytest.mark.parametrize(("first_pushes", "is_explained"), [(1, True), (0, False)])
def test_first_pushes_that_measure_nothing_are_explained(
    run_cli: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first_pushes: int,
    is_explained: bool,
) -> None:
    """Only if there were some: clients that push other metrics give no latency however long they run."""

    def intake(_: str, table: Any) -> Any:
        table.first_pushes = first_pushes
        return nullcontext(SimpleNamespace(payloads=3, malformed=0))

    monkeypatch.setattr("kafkabal.cli.commands.telemetry.open_http_intake", intake)
    profiles = tmp_path / "mine.yaml"
    profiles.write_text(f"profiles: {{mine: {{snapshot: {Path(__file__).parent / 'snapshots' / 'lopsided.jsonl'}}}}}")
    shown = run_cli("telemetry", "latency", "--profile", f"{profiles}#mine", "--listen", "0", "--for", "1ms")
    assert (shown.code, "run for two intervals" in shown.err) == (ExitCode.DONE, is_explained)
    assert "clients push at" not in shown.err
