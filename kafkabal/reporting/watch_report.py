"""Output of a watch: events as lines, JSON Lines and metrics, and the verdict of a single check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from kafkabal.printable import printable
from kafkabal.reporting.json_text import json_text
from kafkabal.reporting.report import Column, Fact, Report, Table, Tone
from kafkabal.reporting.textfile_writer import TextfileWriter
from kafkabal.watch import BrokerHealth, EventKind, WatchEvent, WatchSummary
from kafkabal.wording import counted_noun

EVENTS_VERSION: Final = 1
"""Incremented when a key of an event is renamed or removed, or changes its type."""


class EventTable:
    """Listener that writes one line per event.

    Parameters
    ----------
    write
        Receives a line with its line end.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def on_event(self, event: WatchEvent) -> None:
        """Write the event."""
        self._write(f"{event.at}  {event.event:<18}  {printable(event.message)}\n")


class WatchEventLines:
    """Listener that writes every event as a line of JSON; the first line is the envelope.

    Parameters
    ----------
    write
        Receives a line with its line end.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._write_json({"kafkabal": {"command": "watch", "version": EVENTS_VERSION}})

    def on_event(self, event: WatchEvent) -> None:
        """Write the event."""
        self._write_json(msgspec.to_builtins(event))

    def _write_json(self, line: object) -> None:
        self._write(json_text(line) + "\n")


def summary_report(summary: WatchSummary) -> Report:
    """The report of a single check: every broker, and one line per problem."""
    problems = list(summary.problems)
    brokers = sorted(summary.health)
    is_broken = any(health is not BrokerHealth.WELL for health in summary.health.values())
    return Report(
        command="watch",
        headline="; ".join(problems) if problems else f"{counted_noun(len(brokers), 'broker')}, no problems",
        tone=(Tone.BAD if is_broken else Tone.WARNING) if problems else Tone.GOOD,
        facts=(Fact(key="problems", value=problems),),
        tables=(
            Table(
                key="brokers",
                columns=(
                    Column(key="broker", title="broker", values=brokers, label=True),
                    Column(key="health", title="health", values=[str(summary.health[b]) for b in brokers]),
                ),
            ),
        ),
    )


class WatchTextfile:
    """A Prometheus textfile of a watch's findings and actions, rewritten after every observation; listens to both."""

    def __init__(self, file: TextfileWriter) -> None:
        self._file = file
        self._events: Counter[str] = Counter()
        self._latest_s: dict[str, float] = {}
        """By kind of event, when the latest one was reported."""

    def on_event(self, event: WatchEvent | WatchSummary) -> None:
        """Count an event, or write the findings."""
        if isinstance(event, WatchEvent):
            self._events[event.event] += 1
            self._latest_s[event.event] = datetime.fromisoformat(event.at).timestamp()
        else:
            self._write(event)

    def _write(self, summary: WatchSummary) -> None:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        cluster = self._file.labels["cluster"]
        health = GaugeMetricFamily(
            "kafkabal_watch_broker_health", "1 for the health of a broker.", labels=["cluster", "broker", "health"]
        )
        for broker, found in summary.health.items():
            for kind in BrokerHealth:
                health.add_metric([cluster, str(broker), str(kind)], float(found is kind))
        responses = GaugeMetricFamily(
            "kafkabal_watch_broker_response_seconds", "Latest response time.", labels=["cluster", "broker"]
        )
        for broker, response_s in summary.responses_s.items():
            responses.add_metric([cluster, str(broker)], response_s)
        events = CounterMetricFamily(
            "kafkabal_watch_events", "Events since the watch started.", labels=["cluster", "event"]
        )
        for event in EventKind:
            events.add_metric([cluster, str(event)], self._events[event])
        # a counter that starts at 1, or does so again after a restart, shows no increase
        latest = GaugeMetricFamily(
            "kafkabal_watch_last_event_timestamp_seconds",
            "When the latest event of a kind was reported.",
            labels=["cluster", "event"],
        )
        for name, at_s in self._latest_s.items():
            latest.add_metric([cluster, name], at_s)
        findings = summary.findings
        gauges: list[tuple[str, str, float]] = [
            ("offline_log_dirs", "Log dirs that are offline.", len(findings.offline_dirs)),
            ("nearly_full_disks", "Disks that are nearly full.", len(findings.full_dirs)),
            ("offline_partitions", "Partitions without a leader.", findings.offline_partitions),
            ("out_of_sync_partitions", "Partitions with live replicas out of sync.", findings.out_of_sync),
            ("imbalanced_scores", "Scores outside the outer band.", len(findings.imbalanced)),
        ]
        if findings.under_min_isr is not None:
            gauges.append(("under_min_isr_partitions", "Partitions under min ISR.", findings.under_min_isr))
        self._file.write(
            (*((f"kafkabal_watch_{name}", text, value) for name, text, value in gauges), _last_read(summary.read_at_s)),
            (health, responses, events, latest),
        )


def write_never_read(file: TextfileWriter) -> None:
    """Write a textfile of a watch that has not read its cluster yet."""
    file.write([_last_read(None)])


def _last_read(at_s: float | None) -> tuple[str, str, float]:
    """0 for never: no alert could fire for a time that is missing."""
    return "kafkabal_watch_last_success_timestamp_seconds", "When the cluster was last read; 0 for never.", at_s or 0.0
