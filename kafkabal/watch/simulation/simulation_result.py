"""The result of a simulated watch, and whether it kept the promises of a watch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafkabal.model import TopicPartition
from kafkabal.plan import Plan
from kafkabal.units import DAY_S
from kafkabal.watch.decide_healing import HealKind
from kafkabal.watch.watch_events import WatchEvent

LEAST_IN_BAND = 0.99
"""Fraction of the time: in 90 days less than a day outside the outer band, which is what healing a failure takes."""
MOST_BYTES_OF_HINDSIGHT = 1.10
"""A watch, which does not know the future, may copy this many times the bytes of plans made in hindsight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedHealing:
    """One healing."""

    at_s: float
    """Seconds since the beginning."""
    ended_at_s: float
    kind: HealKind
    reason: str
    moved_bytes: int
    plan: Plan | None
    dead: frozenset[int]
    """Brokers that were dead when it began."""
    widened: frozenset[TopicPartition] = frozenset()
    """Partitions that it spread over more racks, since a repair had to leave them in fewer."""
    outcome: str
    """``done``, ``stopped`` or what went wrong."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise of the watch, and whether it was kept."""

    name: str
    found: str
    limit: str
    is_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """The result of a watch over some days."""

    days: float
    observations: int
    events: tuple[WatchEvent, ...]
    healings: tuple[SimulatedHealing, ...]
    in_band_fraction: float
    """Fraction of the time in which no broker was dead, slow or demoted, or outside because replicas have to rest."""
    steady_state_actions: int
    """Healings of a balanced cluster although nothing but noise had happened for two days."""
    hindsight_bytes: int = 0

    @property
    def moved_bytes(self) -> int:
        """Bytes that were copied between brokers."""
        return sum(h.moved_bytes for h in self.healings)

    @property
    def moved_twice(self) -> int:
        """Replicas that left a broker within a day after the run that brought them there had ended.

        Does not count replicas on brokers that were dead, nor partitions that the same healing spread over more racks.
        """
        return moved_twice(self.healings)

    @property
    def of_hindsight(self) -> float:
        """Bytes as a fraction of what plans made in hindsight would have moved."""
        return self.moved_bytes / self.hindsight_bytes if self.hindsight_bytes else 1.0 if not self.moved_bytes else 2.0

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The promises to be kept."""
        return (
            Promise("replicas moved twice within a day", str(self.moved_twice), "none", self.moved_twice == 0),
            Promise("actions at steady state", str(self.steady_state_actions), "none", self.steady_state_actions == 0),
            Promise(
                "time inside the outer band",
                f"{self.in_band_fraction:.2%}",
                f"at least {LEAST_IN_BAND:.0%}",
                self.in_band_fraction >= LEAST_IN_BAND,
            ),
            Promise(
                "bytes over plans in hindsight",
                f"{self.of_hindsight:.2f}",
                f"at most {MOST_BYTES_OF_HINDSIGHT:.2f}",
                self.of_hindsight <= MOST_BYTES_OF_HINDSIGHT,
            ),
        )


def moved_twice(healings: Sequence[SimulatedHealing]) -> int:
    """See :attr:`SimulationResult.moved_twice`."""
    arrived: dict[tuple[TopicPartition, int], float] = {}
    count = 0
    for healing in healings:
        for change in healing.plan.partitions if healing.plan is not None else ():
            count += sum(
                healing.at_s - arrived.get((change.name, broker), -DAY_S) < DAY_S
                for broker in change.to_remove
                if broker not in healing.dead and change.name not in healing.widened
            )
            for broker in change.to_add:
                arrived[change.name, broker] = healing.ended_at_s
    return count
