"""Noise among healthy brokers is ignored; a slow broker is recognised at once."""

from __future__ import annotations

import random

import pytest

from kafkabal.producer.latency_noise import LatencyNoise


def test_healthy_brokers_are_alike() -> None:
    """Latencies of 1 to 3 ms that change each time leave brokers equal in nearly all views."""
    generator, noise = random.Random(1), LatencyNoise()
    views = [noise.remove_from({b: generator.uniform(0.001, 0.003) for b in (1, 2, 3)}) for _ in range(200)]
    assert sum(len(set(view.values())) == 1 for view in views) >= 195


@pytest.mark.parametrize("brokers", [2, 3, 6])
@pytest.mark.parametrize("slow_s", [0.008, 0.05, 1.0])
def test_a_slow_broker_is_reported_at_once_and_for_good(brokers: int, slow_s: float) -> None:
    """From its first slow measurement on a broker keeps its latency, however it varies; the others stay equal."""
    generator, noise = random.Random(2), LatencyNoise()
    for _ in range(20):
        noise.remove_from({b: generator.uniform(0.001, 0.002) for b in range(brokers)})
    for _ in range(100):
        measured = {b: generator.uniform(0.001, 0.002) for b in range(brokers)} | {0: slow_s * generator.uniform(1, 3)}
        seen = noise.remove_from(measured)
        assert seen[0] == measured[0]
        assert len({seen[b] for b in range(1, brokers)}) == 1


def test_before_there_is_a_spread_only_twice_the_median_is_slow() -> None:
    """The first measurements say nothing about noise, so only a broker at twice the median is slow."""
    noise = LatencyNoise()
    assert noise.remove_from({}) == {}
    assert noise.remove_from({1: 0.001, 2: 0.0015, 3: 0.003}) == {1: 0.0015, 2: 0.0015, 3: 0.0015}
    assert noise.remove_from({1: 0.001, 2: 0.0015, 3: 0.0031})[3] == 0.0031
