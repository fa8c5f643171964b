"""What happens to a cluster while a watch is simulated, and what that watch may do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from kafkabal.errors import UsageError
from kafkabal.units import DAY_S
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.wording import counted_noun, first_of

HOUR_S = 3600.0
_MOST_RANDOM_FAULTS: Final = 10_000
"""An hourly one for a year; with one a second, a simulation would take days."""


class FaultKind(StrEnum):
    """What happens to a broker."""

    DEAD = "dead"
    """Its process ends; it comes back with what it held, as far as that is still assigned to it."""
    SLOW = "slow"
    """It takes two and a half times as long to answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFault:
    """A broker that fails for a while."""

    broker: int
    at_s: float
    for_s: float
    """Infinite for a broker that never comes back."""
    kind: FaultKind = FaultKind.DEAD


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFaults:
    """Brokers that fail at random times, never two at once."""

    every_s: float
    """Mean time between two failures."""
    for_s: float
    """Mean duration; each is between a tenth and twice the mean."""
    kind: FaultKind = FaultKind.DEAD


@dataclass(frozen=True, slots=True, kw_only=True)
class JoiningBroker:
    """A broker that joins empty, with the same disks as an existing broker."""

    broker: int
    at_s: float
    like: int
    rack: str | None = None
    """The rack of the existing broker if None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthTrend:
    """How the size of partitions changes: towards a trend, by what is produced and what retention deletes."""

    per_day: float = 0.0
    """Fraction of the size in the snapshot; negative if topics shrink."""
    spread: float = 0.0
    """The growth of a partition is drawn from ``per_day`` x (1 - spread) to ``per_day`` x (1 + spread)."""
    noise: float = 0.0
    """Fraction of the rate at which a partition is produced to, drawn again for every step."""
    retention_s: float = 7 * DAY_S
    """How long records are kept; noise of the rates is averaged over this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationCase:
    """Everything that is simulated; equal cases on equal clusters give equal results."""

    seed: int = 0
    step_s: float = 2 * HOUR_S
    """Time between two changes of sizes; in between, a cluster that is well is observed once."""
    growth: GrowthTrend = field(default_factory=GrowthTrend)
    faults: tuple[BrokerFault, ...] = ()
    random_faults: RandomFaults | None = None
    new_brokers: tuple[JoiningBroker, ...] = ()
    policy: HealPolicy = field(default_factory=lambda: HealPolicy(level=HealLevel.ALL))
    throttle: int | Literal["auto"] | None = "auto"
    """Bytes per second for each broker."""

    def check_brokers(self, existing: Collection[int]) -> None:
        """Check that brokers that fail or serve as an example exist by then, and that new ones do not.

        Raises
        ------
        UsageError
            Naming one for which this is not so.
        """
        known = set(existing)
        for new in self.new_brokers:
            if new.broker in known:
                raise UsageError(f"new broker {new.broker}: already in the cluster", hint="choose another id")
            if new.like not in known:
                raise UsageError(f"new broker {new.broker}: unknown broker in 'like': {new.like}", hint=_choices(known))
            known.add(new.broker)
        for fault in self.faults:
            if fault.broker not in known:
                raise UsageError(f"unknown broker in a fault: {fault.broker}", hint=_choices(known))

    def check_random_faults(self, days: int) -> None:
        """Check that there are not too many within so many days to simulate them all.

        Raises
        ------
        UsageError
            If there are.
        """
        if self.random_faults is None:
            return
        expected = round(days * DAY_S / self.random_faults.every_s)
        if expected > _MOST_RANDOM_FAULTS:
            within = counted_noun(days, "day")
            raise UsageError(
                f"random_faults: {expected:,} in {within} exceed the limit of {_MOST_RANDOM_FAULTS:,}",
                hint="raise 'every', or simulate fewer --days",
            )

    def events_after(self, days: int) -> int:
        """How many faults and new brokers come only after so many days."""
        times_s = (*(fault.at_s for fault in self.faults), *(broker.at_s for broker in self.new_brokers))
        return sum(at_s >= days * DAY_S for at_s in times_s)


def _choices(brokers: Collection[int]) -> str:
    return f"choose from: {first_of(sorted(brokers))}"
