"""Where a watch reports to, if several watches follow each other in one process."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from io import StringIO
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from kafkabal.cli.commands.watch_command_options import WatchFormat, WatchOutput
from kafkabal.cli.commands.watch_reporter import WatchReporter
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.error_boundary import exit_code_of
from kafkabal.errors import ExitCode
from kafkabal.reporting.notifications import notifier
from kafkabal.watch import EventKind, WatchEvent, WatchSummary
from kafkabal.watch.state_findings import NOTHING_FOUND

SUMMARY = WatchSummary(health={}, findings=NOTHING_FOUND)


class FakeClient:
    """Keeps the alerts of each post."""

    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.posts: list[list[dict[str, Any]]] = []

    def post(self, _: str, json: list[dict[str, Any]]) -> FakeClient:
        """Keep the alerts."""
        self.posts.append(json)
        return self

    def raise_for_status(self) -> None:
        """It was received."""

    def __enter__(self) -> FakeClient:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class FakeLock:
    """The lock of a watch, as far as its reporter sees it."""

    def __init__(self) -> None:
        self.other = ""
        self.is_granted = True

    @property
    def why_on_standby(self) -> str:
        """As in a real one."""
        if self.other:
            return f"another watch heals this cluster: {self.other}"
        return "" if self.is_granted else "cannot take the lock of watch: cannot reach b2:9092"


def _event(kind: EventKind, broker: int) -> WatchEvent:
    return WatchEvent(at="2026-01-01T00:00:00Z", event=kind, message="", broker=broker)


def test_a_watch_on_standby_prints_events_and_repeats_no_alert(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The watch that acts owns alerts and textfile; one that takes over posts what still fires, once."""
    client, lock, metrics = FakeClient(), FakeLock(), tmp_path / "watch.prom"
    monkeypatch.setattr(notifier, "open_http_client", lambda _: client)
    output = WatchOutput(output=WatchFormat.JSONL, notify="http://am:9093/api/v2/alerts", textfile=metrics)
    stdout, stderr = StringIO(), StringIO()
    with ExitStack() as at_end:
        reporter = WatchReporter(output, CommandContext(stdout=stdout, stderr=stderr), at_end, heals=True)
        with ExitStack() as at_end_of_watch:
            listener = reporter.listener("prod", at_end_of_watch)
            for other in ("", "kafkabal on h (process 7)"):
                lock.other = other
                reporter.follow_lock(lock)
                reporter.after_observation(SUMMARY)
                listener.on_event(_event(EventKind.BROKER_DEAD, 3 + bool(other)))
            assert len(client.posts) == 1
            written = metrics.read_text()
            metrics.unlink()
            reporter.after_observation(SUMMARY)
            listener.on_event(_event(EventKind.BROKER_BACK, 3))
            lock.other = ""
            for _ in range(2):
                reporter.follow_lock(lock)
        assert (len(client.posts), metrics.exists()) == (2, False)

    assert "kafkabal_watch_offline_log_dirs" in written
    fires = [{a["labels"]["broker"] for a in alerts if "endsAt" not in a} for alerts in client.posts]
    assert fires == [{"3"}, {"4"}]
    first, *events = [json.loads(line) for line in stdout.getvalue().splitlines()]
    assert first["kafkabal"]["command"] == "watch"
    assert [(each["event"], each["broker"]) for each in events] == [
        ("broker-dead", 3),
        ("broker-dead", 4),
        ("broker-back", 3),
    ]
    assert stderr.getvalue().splitlines() == [
        "another watch heals this cluster: kafkabal on h (process 7); on standby until it ends",
        "took the lock of watch: no longer on standby",
    ]


def summary_of_offline(partitions: int) -> WatchSummary:
    """Some partitions have no leader."""
    return WatchSummary({}, replace(NOTHING_FOUND, offline_partitions=partitions))


@pytest.mark.parametrize(
    ("url", "latest"),
    [
        ("http://am:9093/api/v2/alerts", "3 partitions without a leader"),
        ("https://example.org/hook", "2 partitions without a leader"),
    ],
)
def test_an_alert_has_the_latest_number(monkeypatch: pytest.MonkeyPatch, url: str, latest: str) -> None:
    """Alertmanager gets each new number in the text of the firing alert; people get no message about it."""
    client, at = FakeClient(), "2026-01-01T00:00:00+00:00"
    monkeypatch.setattr(notifier, "open_http_client", lambda _: client)
    output = WatchOutput(output=WatchFormat.JSONL, notify=url)
    stdout = StringIO()
    with ExitStack() as at_end:
        reporter = WatchReporter(output, CommandContext(stdout=stdout, stderr=StringIO()), at_end, heals=False)
        listener = reporter.listener("prod", at_end)
        reporter.follow_lock(None)
        listener.on_event(WatchEvent(at=at, event=EventKind.PARTITION_OFFLINE, message="2 partitions without a leader"))
        for partitions in (2, 3, 3):
            reporter.after_observation(summary_of_offline(partitions))

    posted = [each for post in client.posts for each in (post if isinstance(post, list) else [post])]
    shown = [each["annotations"]["summary"] if "annotations" in each else each["message"] for each in posted]
    assert shown[-1] == latest
    assert all(each.get("startsAt", at) == at for each in posted)
    assert len(stdout.getvalue().splitlines()) == 2


def test_a_watch_that_takes_over_posts_the_latest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it reported on standby may be hours old."""
    client, lock = FakeClient(), FakeLock()
    lock.other = "kafkabal on h (process 7)"
    monkeypatch.setattr(notifier, "open_http_client", lambda _: client)
    output = WatchOutput(output=WatchFormat.JSONL, notify="https://example.org/hook")
    with ExitStack() as at_end:
        reporter = WatchReporter(output, CommandContext(stdout=StringIO(), stderr=StringIO()), at_end, heals=True)
        listener = reporter.listener("prod", at_end)
        reporter.follow_lock(lock)
        listener.on_event(WatchEvent(at="2026-01-01T00:00:00Z", event=EventKind.PARTITION_OFFLINE, message="2 of them"))
        reporter.after_observation(summary_of_offline(3))
        lock.other = ""
        reporter.follow_lock(lock)

    assert [each["message"] for each in client.posts] == ["3 partitions without a leader"]


def test_a_watch_whose_lock_cannot_be_granted_posts_alerts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no other watch is known to post them, and the broker that keeps the lock may be what fails."""
    client, lock, stderr = FakeClient(), FakeLock(), StringIO()
    lock.is_granted = False
    monkeypatch.setattr(notifier, "open_http_client", lambda _: client)
    output = WatchOutput(output=WatchFormat.JSONL, notify="http://am:9093/api/v2/alerts")
    with ExitStack() as at_end:
        reporter = WatchReporter(output, CommandContext(stdout=StringIO(), stderr=stderr), at_end, heals=True)
        with ExitStack() as at_end_of_watch:
            listener = reporter.listener("prod", at_end_of_watch)
            for _ in range(2):
                reporter.follow_lock(lock)
            listener.on_event(_event(EventKind.BROKER_DEAD, 2))

    assert len(client.posts) == 1
    assert stderr.getvalue().splitlines() == [
        "cannot take the lock of watch: cannot reach b2:9092; on standby until that succeeds"
    ]


class WithoutReader(StringIO):
    """The pipe to a ``head -1`` that has exited."""

    def write(self, text: str) -> int:
        """Fail."""
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_watch_that_heals_says_that_nobody_reads_its_events() -> None:
    """Healing goes on when ``| head -1`` has exited, and one warning says so."""
    stderr = StringIO()
    with ExitStack() as at_end:
        context = CommandContext(stdout=WithoutReader(), stderr=stderr)
        reporter = WatchReporter(WatchOutput(output=WatchFormat.JSONL), context, at_end, heals=True)
        listener = reporter.listener("prod", at_end)
        for broker in (3, 4):
            dead = WatchEvent(at="2026-01-01T00:00:00Z", event=EventKind.BROKER_DEAD, message="", broker=broker)
            listener.on_event(dead)
        reporter.after_observation(SUMMARY)
    assert stderr.getvalue() == "kafkabal: warning: events: no longer written, the watch continues: Broken pipe\n"


def test_a_watch_that_only_prints_ends_with_its_reader() -> None:
    """``watch | head -1`` ends at the next observation, not at the next event, which may be weeks away."""
    reader, writer = os.pipe()
    with ExitStack() as at_end:
        pipe = at_end.enter_context(open(writer, "w"))  # noqa: PTH123
        reporter = WatchReporter(WatchOutput(), CommandContext(stdout=pipe, stderr=StringIO()), at_end, heals=False)
        reporter.after_observation(SUMMARY)
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            reporter.after_observation(SUMMARY)


@pytest.mark.parametrize(
    ("target", "says"), [("/dev/full", "cannot write the output: No space left on device"), (None, "closed")]
)
def test_a_watch_that_only_prints_says_why_it_cannot(target: str | None, says: str) -> None:
    """On a full disk, and without a stdout, it ends at the next observation with one line, not silently or never."""
    stderr = StringIO()

    def run() -> int:
        with ExitStack() as at_end:
            stdout = at_end.enter_context(open(target or os.devnull, "w"))  # noqa: PTH123
            if target is None:
                stdout.close()
            context = CommandContext(stdout=stdout, stderr=stderr)
            reporter = WatchReporter(WatchOutput(output=WatchFormat.JSONL), context, at_end, heals=False)
            listener = reporter.listener("prod", at_end)
            listener.on_event(_event(EventKind.BROKER_DEAD, 3))
            end_s = monotonic() + 60.0
            while monotonic() < end_s:
                reporter.after_observation(SUMMARY)
                sleep(0.01)
        return 0

    assert exit_code_of(run, [], CommandContext(stdout=StringIO(), stderr=stderr)) == ExitCode.FAILED
    (line,) = stderr.getvalue().splitlines()
    assert line.startswith("kafkabal: error: cannot write the output: ")
    assert line.endswith(says)
