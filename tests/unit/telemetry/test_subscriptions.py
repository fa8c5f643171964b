"""Subscriptions: reading and writing their configs, and values that brokers or clients could not use."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.errors import UsageError
from kafkabal.telemetry.subscriptions import Subscription, parse_matches, validate_subscription

PREFIX = "org.apache.kafka.producer."


def test_configs_there_and_back() -> None:
    """Configs are read as they were written."""
    subscription = Subscription(
        name="s", metrics=(PREFIX, "org.apache.kafka.consumer."), interval_s=2.5, match={"client_id": "a-.*"}
    )
    configs = subscription.as_configs()
    assert configs == {
        "metrics": "org.apache.kafka.producer.,org.apache.kafka.consumer.",
        "interval.ms": "2500",
        "match": "client_id=a-.*",
    }
    assert Subscription.from_configs("s", configs) == subscription


def test_the_default_subscription_covers_our_commands() -> None:
    """The default asks all clients for producer latencies and failed records every ten seconds."""
    assert validate_subscription(Subscription(name="s")).as_configs() == {
        "metrics": f"{PREFIX}node.request.latency.avg,{PREFIX}request.latency.avg,{PREFIX}topic.record.error.total",
        "interval.ms": "10000",
        "match": "",
    }


def test_brokers_defaults_are_read() -> None:
    """Empty configs, as of a half-created resource, mean no metrics and an interval of five minutes."""
    assert Subscription.from_configs("s", {}) == Subscription(name="s", metrics=(), interval_s=300.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": ()}, "without metrics"),
        ({"metrics": ("*",)}, "not a metric prefix"),
        ({"metrics": ("",)}, "not a metric prefix"),
        ({"metrics": ("a b",)}, "not a metric prefix"),
        ({"interval_s": 0.05}, "push interval must be 0.1 s to 3600 s, not 0.05 s"),
        ({"interval_s": 3601.0}, "not 3601 s"),
        ({"match": {"client": "a"}}, "unknown match key: 'client'"),
        ({"match": {"client_id": "("}}, "invalid regular expression"),
        ({"match": {"client_id": "a,b"}}, "comma"),
    ],
)
def test_invalid_subscriptions_are_refused(change: dict[str, Any], message: str) -> None:
    """Invalid values are refused before anything is written to the cluster."""
    with pytest.raises(UsageError, match=message):
        validate_subscription(Subscription(**{"name": "s", **change}))


@pytest.mark.parametrize(("interval_s", "longer"), [(300.0, False), (301.0, True)])
def test_an_interval_that_has_no_effect_is_known(interval_s: float, longer: bool) -> None:
    """An interval above five minutes has no effect, since brokers let clients push at least that often."""
    assert Subscription(name="s", interval_s=interval_s).is_longer_than_brokers_allow is longer


def test_matches_are_read() -> None:
    """Patterns may contain equal signs."""
    assert parse_matches(["client_id=a=b", "client_software_name=x|y"]) == {
        "client_id": "a=b",
        "client_software_name": "x|y",
    }


@pytest.mark.parametrize("texts", [["client_id"], ["client_id="], ["client_id=a", "client_id=b"]])
def test_matches_that_are_none(texts: list[str]) -> None:
    """A match without a pattern, or with the same key twice, is refused."""
    with pytest.raises(UsageError):
        parse_matches(texts)
