"""``kafkabal route``: weights shown, and published until it is stopped."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.commands import route as command
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.errors import BusyError, ExitCode, OperationError, UnreachableError
from kafkabal.producer import WeighedTopic

SNAPSHOT = ("--snapshot", str(Path(__file__).parent / "snapshots" / "lopsided.jsonl"))
LIVE = ("-b", "127.0.0.1:1")


class Publisher:
    """Stores what is published; an error as a response is raised or returned instead."""

    def __init__(self) -> None:
        self.rounds: list[list[str]] = []
        self.others: list[dict[str, BusyError]] = []

    def publish(self, weighed: Sequence[WeighedTopic]) -> dict[str, BusyError]:
        """See WeightPublisher."""
        others = self.others.pop(0) if self.others else {}
        self.rounds.append([each.record.topic for each in weighed if each.record.topic not in others])
        return others


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """Values published for the snapshot, as if it were live."""
    found = Publisher()
    monkeypatch.setattr(command, "_publisher", lambda *_: found)
    monkeypatch.setattr(command, "_check_live", lambda _: None)
    return found


def stop_after(rounds: int) -> Callable[[float], None]:
    """A sleep that ends with Ctrl-C."""
    left = [rounds]

    def sleep(_: float) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    return sleep


def test_shows_weights_without_publishing_them(run_cli: Callable[..., Any]) -> None:
    """For a snapshot the shares of brokers and of partitions each add up to 1."""
    shown = run_cli("route", "images", *SNAPSHOT, "-o", "json")
    document = json.loads(shown.out)
    assert (shown.code, document["is_published"]) == (ExitCode.DONE, False)
    assert sum(row["weight"] for row in document["brokers"]) == pytest.approx(1)
    assert sum(row["weight"] for row in document["partitions"]) == pytest.approx(1)


def test_csv_is_a_row_a_broker(run_cli: Callable[..., Any]) -> None:
    """CSV has one row per broker with the columns of the schema."""
    shown = run_cli("route", "images", *SNAPSHOT, "-o", "csv")
    assert shown.out.splitlines()[0] == "topic,broker,partitions,used_bytes,weight,even"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--once",), "--once requires --publish"),
        (("--refresh", "5s"), "--refresh requires --publish"),
        (("--valid-for", "5s"), "--valid-for requires --publish"),
        (("--publish",), "--publish requires a live cluster"),
        (("-o", "jsonl"), "-o jsonl requires --publish without --once"),
        (("--policy", "sticky"), "policy 'sticky' does not route by weights, so there is nothing to publish"),
        (("--policy", "score:floor=2"), "score: floor"),
        (("--score", "latency"), "score 'latency' needs telemetry, and none is given"),
    ],
)
def test_incompatible_options_are_refused(run_cli: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    """Contradictory options are refused before anything is read."""
    refused = run_cli("route", "images", *SNAPSHOT, *words)
    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert message in refused.err.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "json"), "-o json requires --once"),
        (("--output-file", "w.json"), "--output-file requires --once"),
        (("--refresh", "40s", "--valid-for", "1m"), "--valid-for 1 min must be at least twice --refresh 40 s"),
        (("--refresh", "99ms"), "--refresh: interval too short: '99ms'"),
        (("--refresh", "25h"), "--refresh: interval too long: '25h'"),
    ],
)
def test_unpublishable_policies_are_refused(run_cli: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    """Unpublishable weights are refused before any broker is contacted."""
    refused = run_cli("route", "images", *LIVE, "--publish", *words)
    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert message in refused.err.splitlines()[0]


def test_an_unknown_topic_is_refused(run_cli: Callable[..., Any]) -> None:
    """The hint has the command that lists topics."""
    refused = run_cli("route", "imagse", *SNAPSHOT)
    assert refused.code == ExitCode.USAGE
    assert refused.err.splitlines()[0] == "kafkabal: error: unknown topic: 'imagse'"


def test_once_publishes_once(run_cli: Callable[..., Any], publisher: Publisher) -> None:
    """The command publishes once and reports what, in the requested format."""
    done = run_cli("route", "images", "images", *SNAPSHOT, "--publish", "--once", "-o", "json")
    assert (done.code, json.loads(done.out)["is_published"]) == (ExitCode.DONE, True)
    assert publisher.rounds == [["images"]]


def test_once_next_to_another_publisher_is_busy(run_cli: Callable[..., Any], publisher: Publisher) -> None:
    """Next to another publisher the exit code is 75, so that cron tries again later."""
    publisher.others = [{"images": BusyError("weights of topic images are published by kafkabal on other")}]
    done = run_cli("route", "images", *SNAPSHOT, "--publish", "--once")
    assert done.code == ExitCode.BUSY
    assert "published by kafkabal on other" in done.err


def test_weights_are_published_until_the_command_is_stopped(run_cli: Callable[..., Any], publisher: Publisher) -> None:
    """Every refresh prints a line per record; at the end a line says what producers will do."""
    done = run_cli("route", "images", *SNAPSHOT, "--publish", "-o", "jsonl", sleep=stop_after(2))
    assert done.code == ExitCode.INTERRUPTED
    assert publisher.rounds == [["images"]] * 3
    assert [json.loads(line)["topic"] for line in done.out.splitlines()] == ["images"] * 3
    assert done.err.splitlines() == [
        "publishing weights of topic images",
        "kafkabal: stopped: producers follow the last weights for 1 min",
    ]


class WithoutReader(StringIO):
    """The pipe to a ``head -1`` that has exited."""

    def write(self, text: str) -> int:
        """Fail."""
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_publishing_continues_without_a_reader(publisher: Publisher, tmp_path: Path) -> None:
    """Producers depend on the weights: ``| head -1`` does not end them, and one warning says so."""
    stop = stop_after(4)

    def sleep(seconds: float) -> None:
        time.sleep(0.05)  # until the thread has tried to write
        stop(seconds)

    stderr = StringIO()
    folders = {kind: tmp_path / kind for kind in ("config", "cache", "state")}
    context = CommandContext(stdout=WithoutReader(), stderr=stderr, environ={}, folders=folders, sleep=sleep)
    code = main(("route", "images", *SNAPSHOT, "--publish", "-o", "jsonl"), context)
    assert (code, publisher.rounds) == (ExitCode.INTERRUPTED, [["images"]] * 5)
    assert stderr.getvalue().splitlines() == [
        "publishing weights of topic images",
        "kafkabal: warning: weights: no longer written, publishing continues: Broken pipe",
        "kafkabal: stopped: producers follow the last weights for 1 min",
    ]


def test_a_second_publisher_is_on_standby(run_cli: Callable[..., Any], publisher: Publisher) -> None:
    """A second publisher reports once that it waits, and publishes when the first has ended."""
    other = {"images": BusyError("weights of topic images are published by kafkabal on other")}
    publisher.others = [other, other]
    done = run_cli("route", "images", *SNAPSHOT, "--publish", sleep=stop_after(2))
    assert publisher.rounds == [[], [], ["images"]]
    assert done.err.splitlines()[:2] == [
        "kafkabal: warning: weights of topic images are published by kafkabal on other; standing by",
        "publishing weights of topic images",
    ]


def test_a_standby_publisher_leaves_no_state_behind(run_cli: Callable[..., Any], publisher: Publisher) -> None:
    """A publisher that only waited published nothing, so stopping it changes nothing for producers."""
    publisher.others = [{"images": BusyError("weights of topic images are published by kafkabal on other")}] * 9
    done = run_cli("route", "images", *SNAPSHOT, "--publish", sleep=stop_after(2))
    assert done.err.splitlines()[-1] == "kafkabal: stopped"


def test_a_reading_that_fails_is_survived(
    run_cli: Callable[..., Any], publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure, with its hint, and the recovery are each reported once."""
    from kafkabal.producer import TopicWeights

    compute, answers = TopicWeights.compute, iter([True, False, False, True])

    def compute_or_fail(self: TopicWeights) -> Any:
        if not next(answers):
            raise UnreachableError("no response from broker1", hint="check its port")
        return compute(self)

    monkeypatch.setattr(TopicWeights, "compute", compute_or_fail)
    done = run_cli("route", "images", *SNAPSHOT, "--publish", sleep=stop_after(3))
    assert publisher.rounds == [["images"]] * 2
    assert done.err.splitlines()[1:3] == [
        "kafkabal: warning: cannot publish, trying again: no response from broker1 (check its port)",
        "publishing again",
    ]


def test_a_topic_without_a_leader_stops_no_other_topic(
    run_cli: Callable[..., Any], publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher that starts while a topic has no leader publishes the others, and says why not this one."""
    from kafkabal.producer import TopicWeights

    compute = TopicWeights.compute

    def compute_without_one(self: TopicWeights) -> Any:
        weighed, _ = compute(self)
        return weighed, {"offline": OperationError("no partition of topic offline has a leader")}

    monkeypatch.setattr(TopicWeights, "compute", compute_without_one)
    done = run_cli("route", "images", *SNAPSHOT, "--publish", sleep=stop_after(1))
    assert publisher.rounds == [["images"]] * 2
    assert done.err.splitlines()[0] == "kafkabal: warning: no partition of topic offline has a leader"


def test_an_unknown_topic_is_not_published_around(run_cli: Callable[..., Any], publisher: Publisher) -> None:
    """A publisher that starts with a misspelt name publishes nothing."""
    refused = run_cli("route", "images", "imagse", *SNAPSHOT, "--publish", sleep=stop_after(1))
    assert (refused.code, publisher.rounds) == (ExitCode.USAGE, [])


def test_quiet_prints_nothing_without_a_fault(run_cli: Callable[..., Any], publisher: Publisher) -> None:
    """Only the stop is reported."""
    done = run_cli("route", "images", *SNAPSHOT, "--publish", "-q", sleep=stop_after(1))
    assert (done.out, len(done.err.splitlines())) == ("", 1)


def test_scores_of_an_edited_profile_are_taken_up(
    run_cli: Callable[..., Any], publisher: Publisher, tmp_path: Path
) -> None:
    """Scores of an edited profile apply from the next reading on, and a line says so."""
    profile = tmp_path / "p.yaml"
    profile.write_text(f"snapshot: {SNAPSHOT[1]}\nscores: [disk]\n")
    stop = stop_after(1)

    def edit_then_stop(seconds: float) -> None:
        stop(seconds)
        profile.write_text(f"snapshot: {SNAPSHOT[1]}\nscores: [disk, leaders]\n")

    done = run_cli("route", "images", "--profile", str(profile), "--publish", "-o", "jsonl", sleep=edit_then_stop)
    assert [list(json.loads(line)["scores"]) for line in done.out.splitlines()] == [["disk"], ["disk", "leaders"]]
    assert "profile changed; scores: disk, leaders" in done.err
