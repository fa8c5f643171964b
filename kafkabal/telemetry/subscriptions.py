"""Subscriptions to metrics of clients (KIP-714): what they ask for, and whether that makes sense."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafkabal.errors import UsageError

METRICS_KEY: Final = "metrics"
INTERVAL_KEY: Final = "interval.ms"
MATCH_KEY: Final = "match"
KEYS: Final = (METRICS_KEY, INTERVAL_KEY, MATCH_KEY)

MATCHES: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""What clients can be chosen by."""

PREFIX: Final = "org.apache.kafka."
NODE_LATENCY: Final = f"{PREFIX}producer.node.request.latency.avg"
REQUEST_LATENCY: Final = f"{PREFIX}producer.request.latency.avg"
LATENCY_METRICS: Final = (NODE_LATENCY, REQUEST_LATENCY)
"""What must be subscribed to for produce latencies."""
TOPIC_ERRORS: Final = f"{PREFIX}producer.topic.record.error.total"
"""Records that were given up on after they were taken; Java clients push it, librdkafka does not."""
DEFAULT_METRICS: Final = (*LATENCY_METRICS, TOPIC_ERRORS)

DEFAULT_NAME: Final = "kafkabal"
DEFAULT_INTERVAL_S: Final = 10.0
"""A latency is known after 10 s; of 1,000 clients a cluster then gets 100 pushes of some kB a second."""

_LEAST_S: Final = 0.1
"""Kafka's own limits for interval.ms: 100 ms to an hour."""
_MOST_S: Final = 3600.0
_BROKERS_OWN_S: Final = 300.0
"""What brokers use where a subscription names no interval (5 minutes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """Which clients push which metrics, and how often."""

    name: str
    metrics: tuple[str, ...] = DEFAULT_METRICS
    """Prefixes of names; none means that nothing is pushed."""
    interval_s: float = DEFAULT_INTERVAL_S
    """The shortest interval of all subscriptions that match a client counts, and none is longer than five minutes."""
    match: Mapping[str, str] = field(default_factory=dict)
    """Regular expressions, all of which a client must match; empty matches all clients."""

    @property
    def is_longer_than_brokers_allow(self) -> bool:
        """Whether clients push more often than it asks for."""
        return self.interval_s > _BROKERS_OWN_S

    def as_configs(self) -> Mapping[str, str]:
        """Configs of the resource; the match is always written, so that an older one does not stay."""
        return {
            METRICS_KEY: ",".join(self.metrics),
            INTERVAL_KEY: str(round(self.interval_s * 1000)),
            MATCH_KEY: ",".join(f"{key}={pattern}" for key, pattern in self.match.items()),
        }

    @classmethod
    def from_configs(cls, name: str, configs: Mapping[str, str]) -> Subscription:
        """Read what a broker says of one."""
        pairs = (text.partition("=") for text in _split(configs.get(MATCH_KEY, "")))
        return cls(
            name=name,
            metrics=_split(configs.get(METRICS_KEY, "")),
            interval_s=int(configs.get(INTERVAL_KEY) or _BROKERS_OWN_S * 1000) / 1000,
            match={key: pattern for key, _, pattern in pairs},
        )


def validate_subscription(subscription: Subscription) -> Subscription:
    """The subscription, if brokers will take it and clients will push something.

    Raises
    ------
    UsageError
        If it has no name, a metric is no explicit prefix, the interval is out of range, or a match is none.
    """
    if not subscription.name:
        raise UsageError("subscription without a name")
    if not subscription.metrics:
        raise UsageError("subscription without metrics", hint="add --metric PREFIX")
    for metric in subscription.metrics:
        if not metric.strip("*") or "," in metric or any(sign.isspace() for sign in metric):
            raise UsageError(
                f"not a metric prefix: {metric!r} (brokers differ in how they write 'all metrics')",
                hint="use prefixes such as org.apache.kafka.producer.",
            )
    if not _LEAST_S <= subscription.interval_s <= _MOST_S:
        raise UsageError(f"push interval must be {_LEAST_S:g} s to {_MOST_S:g} s, not {subscription.interval_s:g} s")
    for key, pattern in subscription.match.items():
        _check_match(key, pattern)
    return subscription


def parse_matches(texts: Iterable[str]) -> Mapping[str, str]:
    """Read matches written as ``KEY=PATTERN``.

    Raises
    ------
    UsageError
        If one is not, or a key is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        key, equals, pattern = text.partition("=")
        if not equals or not pattern:
            raise UsageError(f"invalid match: {text!r}", hint="write it like client_id=trainer-.*")
        if key in found:
            raise UsageError(f"duplicate match key: {key}", hint="join the patterns with |")
        found[key] = pattern
    return found


def _check_match(key: str, pattern: str) -> None:
    if key not in MATCHES:
        raise UsageError(f"unknown match key: {key!r}", hint=f"choose from: {', '.join(MATCHES)}")
    if "," in pattern:
        raise UsageError(f"{key}={pattern}: comma not allowed in a pattern")
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(f"invalid regular expression: {key}={pattern}: {error}") from error


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
