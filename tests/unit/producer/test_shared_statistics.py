"""Statistics of a client that both routing and the caller want."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.producer.shared_statistics import with_statistics


class _Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("given_ms", "interval_ms", "theirs"),
    [(None, 50, 120), (1000, 50, 6), ("1000", 50, 6), (20, 20, 120), (0, 50, 0)],
    ids=["none", "long", "text", "short", "disabled"],
)
def test_the_caller_gets_texts_at_its_own_interval(given_ms: Any, interval_ms: int, theirs: int) -> None:
    """Routing gets every one: with the interval of a monitoring system it would not notice a slow broker."""
    clock, read, got = _Clock(), list[str](), list[str]()
    client = {"stats_cb": got.append, **({} if given_ms is None else {"statistics.interval.ms": given_ms})}
    config = with_statistics(client, read.append, 0.05, clock)
    assert config["statistics.interval.ms"] == interval_ms
    for number in range(120):
        clock.now_s += 0.05
        config["stats_cb"](str(number))
    assert read == [str(number) for number in range(120)]
    assert abs(len(got) - theirs) <= 1


def test_a_pause_brings_no_burst() -> None:
    """A program that serves no callbacks for a minute gets one text for it, not sixty."""
    clock, got = _Clock(), list[str]()
    config = with_statistics({"stats_cb": got.append, "statistics.interval.ms": 1000}, lambda _: None, 0.05, clock)
    clock.now_s += 60
    for number in range(19):
        config["stats_cb"](str(number))
        clock.now_s += 0.05
    assert got == ["0"]


def test_without_a_callback_routing_has_its_own() -> None:
    """Other settings stay as they are."""
    read = list[str]()
    config = with_statistics({"linger.ms": 3}, read.append, 0.05)
    config["stats_cb"]("{}")
    assert (read, config["linger.ms"]) == (["{}"], 3)
