"""Client metrics subscriptions (KIP-714): what they request, and whether they are valid."""

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
"""The attributes by which clients can be selected."""

PREFIX: Final = "org.apache.kafka."
NODE_LATENCY: Final = f"{PREFIX}producer.node.request.latency.avg"
REQUEST_LATENCY: Final = f"{PREFIX}producer.request.latency.avg"
LATENCY_METRICS: Final = (NODE_LATENCY, REQUEST_LATENCY)
"""Metrics that must be subscribed for produce latencies."""
TOPIC_ERRORS: Final = f"{PREFIX}producer.topic.record.error.total"
"""Records that failed after the producer took them; Java clients push it, librdkafka does not."""
DEFAULT_METRICS: Final = (*LATENCY_METRICS, TOPIC_ERRORS)

DEFAULT_NAME: Final = "kafkabal"
DEFAULT_INTERVAL_S: Final = 10.0
"""Latencies are known after 10 s; with 1,000 clients a cluster gets 100 pushes of some kB per second."""

_LEAST_S: Final = 0.1
"""Kafka's own limits for interval.ms: 100 ms to one hour."""
_MOST_S: Final = 3600.0
_BROKERS_OWN_S: Final = 300.0
"""The brokers' default if a subscription sets no interval (5 minutes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """Which clients push which metrics, and how often."""

    name: str
    metrics: tuple[str, ...] = DEFAULT_METRICS
    """Name prefixes; without any, nothing is pushed."""
    interval_s: float = DEFAULT_INTERVAL_S
    """A client uses the shortest interval of all subscriptions that match it, at most five minutes."""
    match: Mapping[str, str] = field(default_factory=dict)
    """Regular expressions that a client must all match; without any, all clients match."""

    @property
    def is_longer_than_brokers_allow(self) -> bool:
        """Whether clients push more often than it requests."""
        return self.interval_s > _BROKERS_OWN_S

    def as_configs(self) -> Mapping[str, str]:
        """Configs of the resource; the match is always written, so that an older one is overwritten."""
        return {
            METRICS_KEY: ",".join(self.metrics),
            INTERVAL_KEY: str(round(self.interval_s * 1000)),
            MATCH_KEY: ",".join(f"{key}={pattern}" for key, pattern in self.match.items()),
        }

    @classmethod
    def from_configs(cls, name: str, configs: Mapping[str, str]) -> Subscription:
        """Parse the configs that a broker returns for one."""
        pairs = (text.partition("=") for text in _split(configs.get(MATCH_KEY, "")))
        return cls(
            name=name,
            metrics=_split(configs.get(METRICS_KEY, "")),
            interval_s=int(configs.get(INTERVAL_KEY) or _BROKERS_OWN_S * 1000) / 1000,
            match={key: pattern for key, _, pattern in pairs},
        )


def validate_subscription(subscription: Subscription) -> Subscription:
    """The subscription, if brokers accept it and clients would push something.

    Raises
    ------
    UsageError
        If it has no name, a metric is not an explicit prefix, the interval is out of range, or a match is invalid.
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
    """Parse matches written as ``KEY=REGEX``.

    Raises
    ------
    UsageError
        If one is invalid, or a key is given twice.
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
