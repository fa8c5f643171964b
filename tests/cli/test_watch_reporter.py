"""Where a watch reports to, if several watches follow each other in one process."""

from __future__ import annotations

import errno
import json
import os
from contextlib import ExitStack
from io import StringIO
from typing import Any

import pytest

from kafkabal.cli.commands.watch_command_options import WatchFormat, WatchOutput
from kafkabal.cli.commands.watch_reporter import WatchReporter
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.reporting.notifications import notifier
from kafkabal.watch import EventKind, WatchEvent, WatchSummary
from kafkabal.watch.state_findings import NOTHING_FOUND

SUMMARY = WatchSummary(health={}, findings=NOTHING_FOUND)


class FakeClient:
    """Keeps the alerts of each post."""

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


def test_a_watch_that_another_one_replaced_repeats_no_alert(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that takes over owns the alerts that fire by then; later this watch posts only what it finds itself."""
    client = FakeClient()
    monkeypatch.setattr(notifier, "open_http_client", lambda _: client)
    output = WatchOutput(output=WatchFormat.JSONL, notify="http://am:9093/api/v2/alerts")
    stdout = StringIO()
    with ExitStack() as at_end:
        reporter = WatchReporter(output, CommandContext(stdout=stdout, stderr=StringIO()), at_end, heals=True)
        for broker in (3, 4):
            with ExitStack() as at_end_of_watch:
                listener = reporter.listener("prod", at_end_of_watch)
                dead = WatchEvent(at="2026-01-01T00:00:00Z", event=EventKind.BROKER_DEAD, message="", broker=broker)
                listener.on_event(dead)
            assert len(client.posts) == broker - 2

    fires = [{a["labels"]["broker"] for a in alerts if "endsAt" not in a} for alerts in client.posts]
    assert fires == [{"3"}, {"4"}]
    first, *events = [json.loads(line) for line in stdout.getvalue().splitlines()]
    assert first["kafkabal"]["command"] == "watch"
    assert [each["broker"] for each in events] == [3, 4]


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
