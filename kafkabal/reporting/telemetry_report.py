"""The reports of ``telemetry``: subscriptions, and latencies of brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkabal.reporting.report import Column, Fact, Kind, Report, Table, Tone
from kafkabal.telemetry import Subscription


def subscriptions_report(subscriptions: Sequence[Subscription]) -> Report:
    """One row a subscription."""
    count = len(subscriptions)
    matches = [[f"{key}={pattern}" for key, pattern in s.match.items()] for s in subscriptions]
    return Report(
        command="telemetry list",
        headline=f"{count} subscription{'' if count == 1 else 's'}" if count else "no telemetry subscriptions",
        tables=(
            Table(
                key="subscriptions",
                columns=(
                    Column(key="name", title="name", values=[s.name for s in subscriptions], label=True),
                    Column(key="metrics", title="metrics", values=[list(s.metrics) for s in subscriptions]),
                    Column(
                        key="interval_s",
                        title="every",
                        kind=Kind.DURATION,
                        values=[s.interval_s for s in subscriptions],
                    ),
                    Column(key="match", title="", values=matches),
                    Column(key="clients", title="clients", for_people=True, values=[each or "all" for each in matches]),
                ),
            ),
        ),
    )


def latency_report(latencies_s: Mapping[int, float], brokers: Sequence[int], payloads: int) -> Report:
    """One row a broker, the slowest first, those without a measurement last."""
    ordered = sorted(brokers, key=lambda broker: -latencies_s.get(broker, -1.0))
    known = [broker for broker in ordered if broker in latencies_s]
    headline = f"{len(known)} of {len(ordered)} brokers measured, from {payloads} client pushes"
    return Report(
        command="telemetry latency",
        headline=headline if known else f"no broker measured ({payloads} client pushes)",
        tone=Tone.PLAIN if known else Tone.WARNING,
        facts=(Fact(key="pushes", value=payloads),),
        tables=(
            Table(
                key="brokers",
                columns=(
                    Column(key="broker", title="broker", values=ordered, label=True),
                    Column(
                        key="latency_s",
                        title="produce latency",
                        kind=Kind.DURATION,
                        values=[latencies_s.get(broker) for broker in ordered],
                    ),
                ),
            ),
        ),
    )
