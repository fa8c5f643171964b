"""Health of brokers: what is detected, and what is deliberately ignored."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.watch.broker_health import (
    BrokerHealth,
    BrokerSample,
    HealthChange,
    HealthMonitor,
    HealthRules,
    _Observation,
    _OrderedValues,
)

USUAL_S = dict.fromkeys(range(1, 5), 0.02)


class Looks:
    """Observations of brokers 1 to 4, five seconds apart."""

    def __init__(self) -> None:
        self.monitor = HealthMonitor(HealthRules())
        self.at_s = 0.0
        self.changes: list[HealthChange] = []

    def look(self, responses_s: dict[int, float | None], *, lateness_s: float = 0.0) -> None:
        """One observation; brokers that are missing are not registered."""
        samples = {
            b: BrokerSample(is_registered=True, response_s=r, lateness_s=lateness_s) for b, r in responses_s.items()
        }
        self.changes += self.monitor.update(samples, self.at_s)
        self.at_s += 5.0


@pytest.fixture
def looks() -> Looks:
    """Two minutes of steady responses."""
    looks = Looks()
    for _ in range(24):
        looks.look({**USUAL_S})
    return looks


def test_a_broker_that_slows_down_is_slow_after_three_observations(looks: Looks) -> None:
    """A broker counts as slow after three slow observations, and as healthy again after three normal ones."""
    for _ in range(2):
        looks.look({**USUAL_S, 1: 0.1})
    assert looks.changes == []
    looks.look({**USUAL_S, 1: 0.1})
    assert [(c.broker, c.after) for c in looks.changes] == [(1, BrokerHealth.SLOW)]
    for _ in range(3):
        looks.look({**USUAL_S})
    assert looks.changes[-1].after is BrokerHealth.WELL


def test_noise_is_not_slowness() -> None:
    """In each of twenty cases, an hour of response times that vary by 30% at random raises no alarm."""
    for seed in range(20):
        looks, source = Looks(), np.random.default_rng(seed)
        for _ in range(720):
            looks.look({b: 0.02 * float(source.uniform(0.7, 1.3)) for b in range(1, 5)})
        assert looks.changes == []


def test_a_host_short_of_time_makes_no_broker_slow(looks: Looks) -> None:
    """If all brokers respond late at once, the network or the host is slow; only a broker later still is slow."""
    for n in range(12):
        looks.look({b: 0.08 + 0.004 * ((b + n) % 4) for b in range(1, 5)})
    assert looks.changes == []
    for _ in range(3):
        looks.look({**dict.fromkeys(range(1, 5), 0.08), 1: 0.3})
    assert [(c.broker, c.after) for c in looks.changes] == [(1, BrokerHealth.SLOW)]


def late_responses_s(source: np.random.Generator) -> dict[int, float | None]:
    """What a host with ten times too much work measures of healthy brokers: means of ten, most of them delayed."""
    return {b: 0.002 + float(source.exponential(0.03, 10).mean() * source.uniform(0, 1)) for b in range(1, 5)}


def test_a_host_that_becomes_busy_demotes_nobody() -> None:
    """In none of 100 cases does a host that wakes us late make a healthy broker slow, from the first minute on."""
    for seed in range(100):
        looks, source = Looks(), np.random.default_rng(seed)
        for _ in range(60):
            looks.look({b: 0.002 * float(source.uniform(0.7, 1.3)) for b in range(1, 5)})
        for _ in range(60):
            looks.look(late_responses_s(source), lateness_s=0.03)
        assert looks.changes == []


def test_a_network_that_delays_all_brokers_makes_none_slow() -> None:
    """In 95 of 100 cases, five minutes of random delays that this host does not cause make no broker slow either."""
    alarms = 0
    for seed in range(100):
        looks, source = Looks(), np.random.default_rng(seed)
        for _ in range(60):
            looks.look({b: 0.002 * float(source.uniform(0.7, 1.3)) for b in range(1, 5)})
        for _ in range(60):
            looks.look(late_responses_s(source))
        alarms += bool(looks.changes)
    assert alarms <= 5


def test_one_observation_while_the_host_is_busy_does_not_start_the_count_again(looks: Looks) -> None:
    """A broker slow in three observations is found, although this host was late in the second."""
    looks.look({**USUAL_S, 1: 0.1})
    looks.look({**USUAL_S, 1: 0.1}, lateness_s=0.05)
    looks.look({**USUAL_S, 1: 0.1})

    assert [(c.broker, c.after) for c in looks.changes] == [(1, BrokerHealth.SLOW)]


def test_a_busy_minute_hides_no_slow_broker() -> None:
    """A broker is found although all brokers varied tenfold together, as after the start of their host."""
    looks = Looks()
    for n in range(24):
        looks.look({b: (0.005, 0.03, 0.06)[n % 3] + 0.001 * b for b in USUAL_S})
    for _ in range(3):
        looks.look({**dict.fromkeys(USUAL_S, 0.005), 1: 0.1})

    assert [(c.broker, c.after) for c in looks.changes] == [(1, BrokerHealth.SLOW)]


def test_a_thousand_late_brokers_are_judged_at_once() -> None:
    """What is compared with each late broker, the delays of all, is computed once, not once for each."""
    asked = 0

    def usual_s(_: int) -> float:
        nonlocal asked
        asked += 1
        return 0.02

    observation = _Observation({b: BrokerSample(is_registered=True, response_s=0.1) for b in range(1000)}, usual_s)

    assert {observation.peers_excess_s(b) for b in range(10)} == {0.08}
    assert asked == 1000


@given(st.lists(st.tuples(st.integers(0, 6), st.one_of(st.none(), st.sampled_from([0.0, 0.001, 0.002, 0.1])))))
def test_the_median_of_all_other_brokers(changes: list[tuple[int, float | None]]) -> None:
    """Whatever was set or dropped before, ties included, it is the median of the values of all others."""
    plain: dict[int, float] = {}
    ordered = _OrderedValues({})
    for broker, value in changes:
        if value is None:
            plain.pop(broker, None)
            ordered.drop(broker)
        else:
            plain[broker] = value
            ordered.set(broker, value)
    for broker in range(8):
        others = [value for b, value in plain.items() if b != broker]
        assert ordered.median_without(broker) == (statistics.median(others) if others else None)


class PlainMonitor(HealthMonitor):
    """Compares each broker with the medians of all others as they are defined: a quadratic effort."""

    compared = 0

    def _later_than_peers(self, broker: int, response_s: float) -> str:
        PlainMonitor.compared += 1
        known = {b: m for b, m in self._brokers.items() if len(m.responses_s) >= self._rules.least_observations}
        peers = [statistics.median(m.responses_s) for b, m in known.items() if b != broker]
        if not peers or response_s <= (1 + self._rules.slow_fraction) * (peers_s := statistics.median(peers)):
            return ""
        own_s = statistics.median(known[broker].responses_s)
        return (
            f"responds in {response_s * 1e3:.0f} ms; usual {own_s * 1e3:.0f} ms, other brokers {peers_s * 1e3:.0f} ms"
        )


def test_each_broker_is_compared_with_the_medians_of_all_others() -> None:
    """Medians that are kept in order give the same changes and words as medians computed for each comparison."""
    for seed in range(60):
        source = np.random.default_rng(seed)
        n, slow = int(source.integers(1, 12)), set[int]()
        fast, plain = HealthMonitor(), PlainMonitor()
        for at in range(60):
            if source.random() < 0.1:
                slow = set(np.flatnonzero(source.random(n) < 0.4).tolist())
            samples = {}
            for broker in np.flatnonzero(source.random(n) > 0.02).tolist():
                delay_s = float(source.exponential(0.001) + 0.05 * (broker in slow))
                response_s = None if source.random() < 0.03 else round(0.002 * (broker + 1) + delay_s, seed % 2 + 3)
                samples[broker] = BrokerSample(is_registered=True, response_s=response_s)
            assert fast.update(samples, at * 5.0) == plain.update(samples, at * 5.0)
            if at == 30:
                assert fast.forget_removed(range(n // 2)) == plain.forget_removed(range(n // 2))
    assert PlainMonitor.compared > 100


def test_a_slow_broker_is_found_on_a_busy_host(looks: Looks) -> None:
    """A broker that is later by more than twice our own lateness is slow, however busy the host is."""
    for n in range(12):
        looks.look({b: 0.04 + 0.004 * ((b + n) % 4) for b in range(1, 5)}, lateness_s=0.03)
    for _ in range(3):
        looks.look({**dict.fromkeys(range(1, 5), 0.04), 1: 0.3}, lateness_s=0.03)

    assert [(c.broker, c.after) for c in looks.changes] == [(1, BrokerHealth.SLOW)]


def test_a_broker_that_hangs_is_unreachable_then_dead(looks: Looks) -> None:
    """A hanging broker is unreachable as long as it is registered, and dead once it is not."""
    for _ in range(10):
        looks.look({**USUAL_S, 1: None})
    assert [c.after for c in looks.changes] == [BrokerHealth.UNREACHABLE]
    looks.look({2: 0.02, 3: 0.02, 4: 0.02})
    assert [c.after for c in looks.changes] == [BrokerHealth.UNREACHABLE, BrokerHealth.DEAD]


def test_a_restarted_broker_is_not_dead(looks: Looks) -> None:
    """Twenty seconds without registration are reported as unreachable, never as dead."""
    for _ in range(4):
        looks.look({2: 0.02, 3: 0.02, 4: 0.02})
    looks.look({**USUAL_S})

    assert [c.after for c in looks.changes] == [BrokerHealth.UNREACHABLE, BrokerHealth.WELL]


def test_a_restarted_broker_is_not_slow_while_it_warms_up(looks: Looks) -> None:
    """A rolling restart demotes no broker: in its first minute each is slower than usual; one that stays so is slow."""
    for _ in range(4):
        looks.look({2: 0.02, 3: 0.02, 4: 0.02})
    for _ in range(12):
        looks.look({**USUAL_S, 1: 0.1})
    assert [c.after for c in looks.changes] == [BrokerHealth.UNREACHABLE, BrokerHealth.WELL]
    for _ in range(3):
        looks.look({**USUAL_S, 1: 0.1})
    assert [c.after for c in looks.changes][2:] == [BrokerHealth.SLOW]


def test_a_broker_that_was_dead_before_is_found(looks: Looks) -> None:
    """A broker that holds replicas and was never seen is dead; one without replicas is forgotten."""
    assert [c.broker for c in looks.monitor.expect([1, 2, 3, 4, 9], looks.at_s)] == [9]
    assert looks.monitor.forget_removed([1, 2, 3, 4]) == [9]
    assert looks.monitor.in_health(BrokerHealth.DEAD) == frozenset()
