"""The health of each broker, judged from its answers at each observation.

A broker is *slow* if several of its response times in a row exceed two values by a fraction: its own median and its
peers' medians. Medians alone would call noise slow, so each excess over its own median must also be larger than

* what any producer would notice,
* the spread of its measurements: four standard deviations, estimated by the median absolute deviation, which three
  observations in a row of pure noise hardly ever reach. If the distances from the other brokers at the same
  observations vary less, their spread: after a minute in which the host was busy, its own would hide any delay for ten,
* four and a half times the excess of its peers at the same observation: a network that delays all brokers is not the
  fault of one,

and all these excesses together larger than

* twice the time by which we ourselves woke too late: a host that is short of processor time notices responses late. It
  is so at random: if every single observation had to exceed this, one during which the host was busy would start the
  count again, and a slow broker would be found after thirty seconds instead of thirteen.

A broker is *unreachable* if it does not respond but may still be registered, and *dead* if it is not registered and has
not responded for :attr:`HealthRules.fenced_after_s`: the controller fences a broker that stops its heartbeats, so both
together rule out a network fault between the broker and us.
"""

from __future__ import annotations

import statistics
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from kafkabal.config import FENCED_AFTER_S


class BrokerHealth(StrEnum):
    """The health of a broker."""

    WELL = "well"
    SLOW = "slow"
    UNREACHABLE = "unreachable"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class BrokerSample:
    """The response of one broker at one observation."""

    is_registered: bool
    response_s: float | None
    """Response time in seconds; None if it did not respond."""
    lateness_s: float = 0.0
    """How late the host woke us from our pauses meanwhile."""


LEAST_GAP_S = 10.0
"""An observation takes a second, and three while a broker hangs, however short the interval between them is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRules:
    """Limits that determine the health of a broker."""

    slow_fraction: float = 0.20
    """Fraction by which a response time must exceed the broker's own median and its peers'."""
    slow_observations: int = 3
    """Observations in a row that it takes to enter the state, and to leave it."""
    unreachable_observations: int = 2
    """A single lost response is not a finding."""
    fenced_after_s: float = FENCED_AFTER_S
    """A broker that is not registered and has not responded for this long is dead."""
    least_excess_s: float = 0.010
    """Least excess: a response that takes less than this longer delays no producer; linger alone is 5 ms."""
    remembered_observations: int = 120
    """Observations in a median: ten minutes of them at intervals of five seconds."""
    least_observations: int = 12
    """With fewer observations, the normal response time of a broker is unknown."""
    warm_up_s: float = 60.0
    """For this long a broker that has come back is not slow: its code is compiled again, and it catches up. On a busy
    host one responded in 26 instead of 8 ms 20 s after a restart; a restart of all brokers would demote some."""
    longest_gap_s: float = LEAST_GAP_S
    """Two intervals: a longer time without observations, as on a suspended host, counts as no longer than this without
    a response."""
    jitter_s: float = 0.5
    """Observations are never exactly on time; without this allowance a death is found one observation later."""


@dataclass(frozen=True, slots=True)
class HealthChange:
    """A broker whose health has changed."""

    broker: int
    before: BrokerHealth
    after: BrokerHealth
    detail: str


_MISSING = frozenset({BrokerHealth.UNREACHABLE, BrokerHealth.DEAD})
# spread of a normal distribution in median absolute deviations, times four
_SPREADS = 4 * 1.4826
# false alarms in 400 times five minutes of random delays that no broker causes: 31 at 4, 17 at 4.5
_PEERS_EXCESSES = 4.5
# a broker that stalls for 0.3 s of each second, seen from a host whose pauses end 10 ms late in the mean and that adds
# 10 ms to responses, takes more than 30 s in 12 of 150 cases if each observation has to exceed this, in 2 if three
# together do; 40 hours of healthy brokers on hosts that add two and five times as much give no false alarm either way
_LATENESSES = 2.0


class _Excess(NamedTuple):
    """By how much one response was later than usual, and this host meanwhile."""

    own_s: float
    lateness_s: float


class _OrderedValues:
    """One value per broker, in order: the median of all others of a thousand brokers, for each of them, at once."""

    def __init__(self, values: Mapping[int, float]) -> None:
        self._values, self._ordered = dict(values), sorted(values.values())

    def __getitem__(self, broker: int) -> float:
        return self._values[broker]

    def set(self, broker: int, value: float) -> None:
        """Set the value of a broker."""
        self.drop(broker)
        self._values[broker] = value
        insort(self._ordered, value)

    def drop(self, broker: int) -> None:
        """Remove a broker, if it has a value."""
        value = self._values.pop(broker, None)
        if value is not None:
            del self._ordered[bisect_left(self._ordered, value)]

    def median_without(self, broker: int) -> float | None:
        """The median of all other brokers; None if there are none."""
        own = self._values.get(broker)
        without = len(self._ordered) if own is None else bisect_left(self._ordered, own)
        others = len(self._ordered) - (own is not None)
        if not others:
            return None
        low, high = (self._ordered[i + (i >= without)] for i in ((others - 1) // 2, others // 2))
        return (low + high) / 2


class _Observation:
    """The responses of all brokers at one observation; what is compared with each of them is computed once."""

    def __init__(self, samples: Mapping[int, BrokerSample], usual_s: Callable[[int], float | None]) -> None:
        self._samples, self._usual_s = samples, usual_s

    @cached_property
    def lateness_s(self) -> float:
        """How late the host woke us, on average over the brokers that responded."""
        return statistics.fmean(sample.lateness_s for sample in self._samples.values() if sample.response_s is not None)

    def peers_excess_s(self, broker: int) -> float:
        """By how much the other brokers were later than usual: the median of them, at least 0."""
        return max(self._excesses_s.median_without(broker) or 0.0, 0.0)

    def beside_others_s(self, broker: int) -> float | None:
        """By how much the response of a broker was later than the median of the others; None without others."""
        others_s = self._responses_s.median_without(broker)
        return None if others_s is None else self._responses_s[broker] - others_s

    @cached_property
    def _responses_s(self) -> _OrderedValues:
        return _OrderedValues({b: s.response_s for b, s in self._samples.items() if s.response_s is not None})

    @cached_property
    def _excesses_s(self) -> _OrderedValues:
        return _OrderedValues(
            {
                b: sample.response_s - usual_s
                for b, sample in self._samples.items()
                if sample.response_s is not None and (usual_s := self._usual_s(b)) is not None
            }
        )


@dataclass(slots=True)
class _Broker:
    """What is remembered of one broker."""

    health: BrokerHealth = BrokerHealth.WELL
    since_s: float = 0.0
    no_response_s: float = 0.0
    """Time without a response while responses were requested."""
    missed: int = 0
    excesses: list[_Excess] = field(default_factory=list)
    """Of the last responses, while each is later than usual."""
    calm: int = 0
    warm_at_s: float = float("-inf")
    """From when on it can be slow."""
    responses_s: deque[float] = field(default_factory=deque)
    beside_s: deque[float] = field(default_factory=deque)
    """By how much they were later than those of the other brokers at the same observations."""

    @property
    def median_s(self) -> float:
        return statistics.median(self.responses_s)

    @property
    def spread_s(self) -> float:
        """Of the responses, or of their distances from the other brokers if those vary less, as on a busy host."""
        return min(_deviation(values) for values in (self.responses_s, self.beside_s) if values)

    def remember(self, response_s: float, beside_s: float | None, most: int) -> None:
        """Add a usual response."""
        for values, value in ((self.responses_s, response_s), (self.beside_s, beside_s)):
            if value is not None:
                values.append(value)
            if len(values) > most:
                values.popleft()


class HealthMonitor:
    """Tracks all brokers of a cluster; bounded in memory."""

    def __init__(self, rules: HealthRules | None = None) -> None:
        self._rules = rules or HealthRules()
        self._brokers: dict[int, _Broker] = {}
        self._usual_s = _OrderedValues({})
        """Median response time of each broker with enough observations."""
        self._observed_at_s: float | None = None

    def update(self, samples: Mapping[int, BrokerSample], at_s: float) -> list[HealthChange]:
        """Process one observation; a broker without a sample is not registered and did not respond.

        Parameters
        ----------
        at_s
            When the observation began; monotonic.
        """
        for broker in samples:
            self._brokers.setdefault(broker, _Broker(since_s=at_s))
        gap_s = 0.0 if self._observed_at_s is None else min(at_s - self._observed_at_s, self._rules.longest_gap_s)
        self._observed_at_s = at_s
        gone = BrokerSample(is_registered=False, response_s=None)
        observation = _Observation(samples, self.median_s)
        changes = []
        for broker in sorted(self._brokers):
            sample = samples.get(broker, gone)
            known = self._brokers[broker]
            if known.health in _MISSING and sample.response_s is not None:
                known.warm_at_s = at_s + self._rules.warm_up_s
            health, detail = self._judge(broker, sample, observation, gap_s, is_warm=at_s >= known.warm_at_s)
            if health is not known.health:
                changes.append(HealthChange(broker, known.health, health, detail))
                known.health, known.since_s = health, at_s
        return changes

    def expect(self, brokers: Collection[int], at_s: float) -> list[HealthChange]:
        """Track brokers that hold replicas and were never seen: they died before the first observation."""
        changes = []
        for broker in sorted(set(brokers) - self._brokers.keys()):
            self._brokers[broker] = _Broker(health=BrokerHealth.DEAD, since_s=at_s)
            changes.append(
                HealthChange(broker, BrokerHealth.WELL, BrokerHealth.DEAD, "not registered, and holds replicas")
            )
        return changes

    def expect_slow(self, usual_s: Mapping[int, float], at_s: float) -> list[HealthChange]:
        """Let live brokers be slow that were slow before the first observation.

        Parameters
        ----------
        usual_s
            Their usual response times, in seconds: without them, what they take now would be usual.
        """
        changes = []
        for broker in sorted(usual_s.keys() & self.in_health(BrokerHealth.WELL)):
            known = _Broker(health=BrokerHealth.SLOW, since_s=at_s)
            known.responses_s.extend([usual_s[broker]] * self._rules.least_observations)
            self._brokers[broker] = known
            self._usual_s.set(broker, usual_s[broker])
            detail = "it was slow when an earlier watch moved its leadership away"
            changes.append(HealthChange(broker, BrokerHealth.WELL, BrokerHealth.SLOW, detail))
        return changes

    def forget_removed(self, brokers: Collection[int]) -> list[int]:
        """Drop dead brokers that are not among those of the cluster, and return them: they hold no replica any more."""
        removed = sorted(self.in_health(BrokerHealth.DEAD) - set(brokers))
        for broker in removed:
            del self._brokers[broker]
            self._usual_s.drop(broker)
        return removed

    def in_health(self, *kinds: BrokerHealth) -> frozenset[int]:
        """Brokers in one of these states."""
        return frozenset(b for b, known in self._brokers.items() if known.health in kinds)

    def since_s(self, broker: int) -> float:
        """Monotonic time at which a broker entered its state."""
        return self._brokers[broker].since_s

    def median_s(self, broker: int) -> float | None:
        """Usual response time of a broker; None while unknown."""
        known = self._brokers.get(broker)
        return known.median_s if known is not None and known.responses_s else None

    def _judge(
        self, broker: int, sample: BrokerSample, observation: _Observation, gap_s: float, *, is_warm: bool
    ) -> tuple[BrokerHealth, str]:
        known = self._brokers[broker]
        if sample.response_s is None:
            return self._judge_silence(known, sample, gap_s)
        known.missed, known.no_response_s = 0, 0.0
        if not is_warm:
            return BrokerHealth.WELL, "responds again"
        excess = self._excess(broker, sample.response_s, observation)
        known.excesses = [] if excess is None else [*known.excesses, excess][-self._rules.slow_observations :]
        if excess is not None and not _is_host_late([excess]):
            known.calm = 0
        else:
            known.calm += 1
            # slow responses are not remembered, or a broker that stays slow would become normal
            beside_s = observation.beside_others_s(broker)
            known.remember(sample.response_s, beside_s, self._rules.remembered_observations)
            if len(known.responses_s) >= self._rules.least_observations:
                self._usual_s.set(broker, known.median_s)
        if len(known.excesses) == self._rules.slow_observations and not _is_host_late(known.excesses):
            detail = self._later_than_peers(broker, sample.response_s)
            if detail:
                return BrokerHealth.SLOW, detail
        if known.health is BrokerHealth.SLOW and known.calm < self._rules.slow_observations:
            return BrokerHealth.SLOW, ""
        return BrokerHealth.WELL, "responds as usual"

    def _judge_silence(self, known: _Broker, sample: BrokerSample, gap_s: float) -> tuple[BrokerHealth, str]:
        known.missed += 1
        known.excesses, known.calm = [], 0
        known.no_response_s += gap_s
        if not sample.is_registered and known.no_response_s >= self._rules.fenced_after_s - self._rules.jitter_s:
            return BrokerHealth.DEAD, f"not registered, and no response for {known.no_response_s:.0f} s"
        if known.health is BrokerHealth.DEAD:
            return BrokerHealth.DEAD, ""
        if known.missed >= self._rules.unreachable_observations:
            return BrokerHealth.UNREACHABLE, f"no response for {known.no_response_s:.0f} s"
        return known.health, ""

    def _excess(self, broker: int, response_s: float, observation: _Observation) -> _Excess | None:
        """By how much a response is later than usual; None if it is not, if all are, or if that is not known yet."""
        rules, known = self._rules, self._brokers[broker]
        if len(known.responses_s) < rules.least_observations:
            return None
        own_s = self._usual_s[broker]
        excess_s = response_s - own_s
        if excess_s <= max(rules.slow_fraction * own_s, rules.least_excess_s) or excess_s <= _SPREADS * known.spread_s:
            return None
        if excess_s <= _PEERS_EXCESSES * observation.peers_excess_s(broker):
            return None
        return _Excess(excess_s, observation.lateness_s)

    def _later_than_peers(self, broker: int, response_s: float) -> str:
        """By how much a response is later than those of the other brokers, in words; empty if it is not."""
        own_s, peers_s = self._usual_s[broker], self._usual_s.median_without(broker)
        if peers_s is None or response_s <= (1 + self._rules.slow_fraction) * peers_s:
            return ""
        return (
            f"responds in {response_s * 1e3:.0f} ms; usual {own_s * 1e3:.0f} ms, other brokers {peers_s * 1e3:.0f} ms"
        )


def _is_host_late(excesses: Sequence[_Excess]) -> bool:
    """Whether this host may have delayed the responses."""
    return sum(e.own_s for e in excesses) <= _LATENESSES * sum(e.lateness_s for e in excesses)


def _deviation(values: Collection[float]) -> float:
    """The median absolute deviation."""
    median = statistics.median(values)
    return statistics.median(abs(value - median) for value in values)
