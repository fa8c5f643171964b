"""The rate of a producer's records, from bytes and a clock."""

from __future__ import annotations

import math

import pytest

from kafkabal.routing.record_rate import RecordRate


class Clock:
    """A clock that advances only on request."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def measured(*bytes_at_s: tuple[float, float]) -> RecordRate:
    """The rate after measurements of all bytes so far, each at its time."""
    clock = Clock()
    rate = RecordRate(clock)
    for sent_bytes, at_s in bytes_at_s:
        clock.now = at_s
        rate.measure(sent_bytes)
    return rate


def test_a_higher_rate_counts_at_once_and_a_lower_one_slowly() -> None:
    """After half a second of nothing, a third of the rate still counts."""
    assert measured((0, 0.0), (1000, 1.0)).bytes_per_s == 1000
    assert measured((0, 0.0), (1000, 1.0), (4000, 2.0)).bytes_per_s == 3000
    assert measured((0, 0.0), (1000, 1.0), (1000, 1.5)).bytes_per_s == pytest.approx(1000 * math.exp(-1))


def test_the_mean_follows_both_ways() -> None:
    """A burst of half a second does not count in full."""
    mean = measured((0, 0.0), (1000, 1.0), (2500, 1.5)).mean_bytes_per_s
    assert mean == pytest.approx(1000 * math.exp(-1) + 3000 * (1 - math.exp(-1)))


def test_an_idle_rate_is_none_and_not_a_tiny_number() -> None:
    """A batch would be filled in more linger times than a float can count."""
    rate = measured((0, 0.0), (1000, 1.0), (1000, 400.0))
    assert (rate.bytes_per_s, rate.mean_bytes_per_s) == (0, 0)


def test_it_is_due_after_a_while() -> None:
    """The first measurement is due at once, the next one a twentieth of a second later."""
    clock = Clock()
    rate = RecordRate(clock)
    assert rate.is_due
    rate.measure(0)
    clock.now = 0.049
    assert not rate.is_due
    clock.now = 0.051
    assert rate.is_due


def test_a_burst_counts_before_it_is_measured() -> None:
    """Its bytes came in a twentieth of a second at most."""
    rate = measured((0, 0.0), (1000, 1.0))
    assert rate.at_least_bytes_per_s(1010) == 1000
    assert rate.at_least_bytes_per_s(2000) == 20_000
