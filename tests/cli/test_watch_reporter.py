"""Where a watch reports to, if several watches follow each other in one process."""

from __future__ import annotations

import json
from contextlib import ExitStack
from io import StringIO
from typing import Any

import pytest

from kafkabal.cli.commands.watch_command_options import WatchFormat, WatchOutput
from kafkabal.cli.commands.watch_reporter import WatchReporter
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.reporting.notifications import notifier
from kafkabal.watch import EventKind, WatchEvent


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
