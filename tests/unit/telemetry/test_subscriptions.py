"""Subscriptions: configs there and back, and those that brokers or clients would make nothing of."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.errors import UsageError
from kafkabal.telemetry.subscriptions import Subscription, parse_matches, validate_subscription

PREFIX = "org.apache.kafka.producer."


def test_configs_there_and_back() -> None:
    """What is written is what is read again."""
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


def test_the_default_asks_for_what_our_commands_need() -> None:
    """Latencies of producers and records that they could not write, every ten seconds, of all clients."""
    assert validate_subscription(Subscription(name="s")).as_configs() == {
        "metrics": f"{PREFIX}node.request.latency.avg,{PREFIX}request.latency.avg,{PREFIX}topic.record.error.total",
        "interval.ms": "10000",
        "match": "",
    }


def test_brokers_defaults_are_read() -> None:
    """Empty configs, as of a resource that was half made, mean no metrics every five minutes."""
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
def test_what_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    """Each refusal comes before anything is written to the cluster."""
    with pytest.raises(UsageError, match=message):
        validate_subscription(Subscription(**{"name": "s", **change}))


@pytest.mark.parametrize(("interval_s", "longer"), [(300.0, False), (301.0, True)])
def test_an_interval_that_has_no_effect_is_known(interval_s: float, longer: bool) -> None:
    """Brokers push every five minutes at the longest, whatever is asked for."""
    assert Subscription(name="s", interval_s=interval_s).is_longer_than_brokers_allow is longer


def test_matches_are_read() -> None:
    """Patterns may hold equal signs."""
    assert parse_matches(["client_id=a=b", "client_software_name=x|y"]) == {
        "client_id": "a=b",
        "client_software_name": "x|y",
    }


@pytest.mark.parametrize("texts", [["client_id"], ["client_id="], ["client_id=a", "client_id=b"]])
def test_matches_that_are_none(texts: list[str]) -> None:
    """Without a pattern, or twice the same key."""
    with pytest.raises(UsageError):
        parse_matches(texts)
