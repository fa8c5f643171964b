"""What to heal next, if anything: a pure function of the findings, the policy and what was done before.

One thing is healed at a time, the worst first; one that has to wait does not hold back the next. Nothing is moved twice
within a day for balance, only repairs are made while replicas on live brokers are out of sync, and nothing is done
while more brokers are missing at once than die independently.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from kafkabal.units import format_duration, percent_as_option
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.healing_ledger import HealingLedger
from kafkabal.wording import WITH_LAGGING_REPLICAS, brokers_by_id, counted_noun


class HealKind(StrEnum):
    """What is healed."""

    REPAIR = "repair"
    """Copy replicas of dead brokers and offline log dirs elsewhere."""
    DEMOTE = "demote"
    """Take leadership away from a slow broker."""
    PROMOTE = "promote"
    """Give leadership back to a broker that is well again."""
    DRAIN = "drain"
    """Move replicas off a slow broker."""
    FILL = "fill"
    """Give its share to a broker that joined empty."""
    REBALANCE = "rebalance"
    """Bring imbalance beyond the outer band inside the inner one."""
    RESUME = "resume"
    """Finish a run that this watch began and did not end."""


MOVES_FOR_BALANCE = frozenset({HealKind.DRAIN, HealKind.FILL, HealKind.REBALANCE})
"""Healings that move replicas which lack no copy: they can wait, and be stopped."""


@dataclass(frozen=True, slots=True)
class Healing:
    """One thing to heal."""

    kind: HealKind
    brokers: frozenset[int] = frozenset()
    reason: str = ""
    avoid: frozenset[int] = frozenset()
    """Brokers that must get no leadership, and no replica either."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The cluster at one moment, as the input of a decision; durations in seconds."""

    dead: dict[int, float] = field(default_factory=dict)
    """Dead brokers, and for how long they have been dead."""
    absent: dict[int, float] = field(default_factory=dict)
    """For how long dead and unreachable brokers have been away, as far as an earlier watch knew."""
    dead_with_replicas: frozenset[int] = frozenset()
    flapping: frozenset[int] = frozenset()
    """Brokers that are, or were a short while ago, missing again and again; ``dead`` includes earlier absences."""
    slow: dict[int, float] = field(default_factory=dict)
    unreachable: frozenset[int] = frozenset()
    well: dict[int, float] = field(default_factory=dict)
    has_offline_dir: frozenset[int] = frozenset()
    """Brokers with an offline log dir whose replicas still lack copies elsewhere."""
    out_of_sync: int = 0
    """Partitions with replicas on live brokers that are out of sync."""
    empty: frozenset[int] = frozenset()
    """Live brokers without a replica of a topic that is not internal, if they may get some."""
    without_replicas: frozenset[int] = frozenset()
    """Live brokers without any replica."""
    imbalanced_readings: int = 0
    """Number of readings in a row in which a score was outside the outer band."""
    led: frozenset[int] = frozenset()
    """Brokers that lead partitions or are preferred to; demoted ones only if another broker could lead some of them."""
    continued: Healing | None = None
    """A healing that was stopped to be planned again."""

    def may_return(self, dead_after_s: float) -> frozenset[int]:
        """Missing brokers that may come back: until then it is unknown what is balanced.

        Replicas of brokers that have been dead for longer have been copied as far as possible.
        """
        waited_for = {b for b in self.dead_with_replicas if self.dead.get(b, 0.0) < dead_after_s}
        return self.unreachable | waited_for

    @property
    def missing_at_once(self) -> int:
        """Largest number of dead or unreachable brokers that went away within a day.

        One that died long ago and cannot be repaired says nothing about the network when another one dies.
        """
        away_s = sorted(self.absent.get(b, self.dead.get(b, 0.0)) for b in self.dead.keys() | self.unreachable)
        return max((bisect_right(away_s, first_s + _AT_ONCE_S) - i for i, first_s in enumerate(away_s)), default=0)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a healing cannot be done now."""

    name: str
    """Stays the same as long as the reason does, whatever numbers are in the text."""
    text: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What to heal, or why a healing is held back."""

    healing: Healing | None = None
    held_back: str = ""
    """The first healing that has to wait, in words."""
    obstacle: str = ""
    """Name of the healing and its obstacle; changes only with them."""

    @property
    def is_backing_off(self) -> bool:
        """Whether the healing only waits for a retry after a failure."""
        return self.obstacle.endswith(_BACK_OFF)


_AT_ONCE_S = 86_400.0
"""A switch takes its racks within seconds, but cooling or power may take brokers one after the other over hours."""
_BACK_OFF = "back-off"
_DEMOTE_AGAIN_AFTER_S = 3600.0
"""A slow broker may lead new partitions every minute, and each demotion is one of the 24 actions of a day."""
NOTHING = Decision()


def decide(
    situation: Situation, policy: HealPolicy, ledger: HealingLedger, *, at_s: float, local: datetime
) -> Decision:
    """Choose the next healing.

    Parameters
    ----------
    at_s
        Seconds since the epoch.
    local
        The same moment in local time, for the window.
    """
    held_back = obstacle_name = ""
    for healing in _proposals(situation, policy, ledger, at_s):
        obstacle = _obstacle(healing, situation, policy, ledger, at_s, local)
        if obstacle is None:
            return Decision(healing, held_back, obstacle_name)
        if not held_back:
            held_back, obstacle_name = f"{healing.kind} held back: {obstacle.text}", f"{healing.kind} {obstacle.name}"
    return Decision(None, held_back, obstacle_name)


def demotion_of(broker: int, slow: Collection[int], ledger: HealingLedger) -> Healing:
    """Take leadership away from a slow broker.

    It goes neither to another slow one, nor back to one that has not been well for long.
    """
    avoid = frozenset(slow) | frozenset(int(b) for b in ledger.demoted)
    return Healing(HealKind.DEMOTE, frozenset({broker}), f"broker {broker} is slow", avoid - {broker})


def _proposals(situation: Situation, policy: HealPolicy, ledger: HealingLedger, at_s: float) -> Iterator[Healing]:
    """What would be healed if there were no obstacles, the worst first."""
    if policy.level is HealLevel.NONE:
        return
    if policy.level is HealLevel.ALL:
        yield from _lost(situation, policy)
    for broker in sorted((situation.slow.keys() & situation.led) - _demoted_of_late(ledger, at_s)):
        yield demotion_of(broker, situation.slow, ledger)
    for broker in sorted(int(b) for b in ledger.demoted):
        if situation.well.get(broker, 0.0) >= policy.well_after_s:
            reason = f"broker {broker} has been well for {format_duration(policy.well_after_s)}"
            yield Healing(HealKind.PROMOTE, frozenset({broker}), reason)
    if policy.level is HealLevel.ALL:
        yield from _moves(situation, policy)


def _demoted_of_late(ledger: HealingLedger, at_s: float) -> frozenset[int]:
    """Demoted brokers whose new partitions can wait; one that could not be demoted completely only backs off."""
    if ledger.has_failed(HealKind.DEMOTE) or at_s - ledger.last_s(HealKind.DEMOTE) >= _DEMOTE_AGAIN_AFTER_S:
        return frozenset()
    return frozenset(int(b) for b in ledger.demoted)


def _lost(situation: Situation, policy: HealPolicy) -> Iterator[Healing]:
    """Missing copies, which come before anything else."""
    dead = (
        frozenset(b for b, for_s in situation.dead.items() if for_s >= policy.dead_after_s)
        & situation.dead_with_replicas
    )
    if dead:
        reason = f"{_brokers(dead)} dead for {format_duration(policy.dead_after_s)} or longer"
        if dead & situation.flapping:
            reason += ", earlier absences included"
        yield Healing(HealKind.REPAIR, dead, reason)
    if situation.has_offline_dir:
        yield Healing(HealKind.REPAIR, frozenset(), f"log dir offline on {_brokers(situation.has_offline_dir)}")


def _moves(situation: Situation, policy: HealPolicy) -> Iterator[Healing]:
    """Replicas that would be better placed elsewhere."""
    if policy.move_after_s is not None:
        # one that has been drained would otherwise be drained again without end
        holding = situation.slow.keys() - situation.without_replicas
        for broker in sorted(b for b in holding if situation.slow[b] >= policy.move_after_s):
            reason = f"broker {broker} slow for {format_duration(policy.move_after_s)} or longer"
            # otherwise its replicas would go to a slow broker that was drained before
            yield Healing(HealKind.DRAIN, frozenset({broker}), reason, frozenset(situation.slow) - {broker})
    if situation.empty:
        verb = "are" if len(situation.empty) > 1 else "is"
        yield Healing(HealKind.FILL, situation.empty, f"{_brokers(situation.empty)} {verb} empty")
    if situation.continued is not None:
        yield situation.continued
    if situation.imbalanced_readings >= policy.imbalance_readings:
        yield Healing(
            HealKind.REBALANCE, reason=f"outside {percent_as_option(policy.outer_tolerance)} of the fair share"
        )


def _obstacle(
    healing: Healing, situation: Situation, policy: HealPolicy, ledger: HealingLedger, at_s: float, local: datetime
) -> Obstacle | None:
    """Why the healing cannot be done now; None if it can."""
    if situation.missing_at_once > policy.max_dead:
        missing = counted_noun(situation.missing_at_once, "broker")
        return Obstacle("max-dead", f"{missing} missing at once (--max-dead {policy.max_dead}): check the network")
    until_s = ledger.backs_off_until_s(healing.kind, healing.reason, policy.back_off_s)
    if healing.kind in MOVES_FOR_BALANCE:
        until_s = max(until_s, ledger.cancelled_until_s(policy.back_off_s))
    if at_s < until_s:
        text = "the last attempt failed, was cancelled or found nothing to move; it is tried again later"
        return Obstacle(_BACK_OFF, text)
    is_continued = healing == situation.continued
    if ledger.actions_of_day(at_s) >= policy.max_actions_per_day and not is_continued:
        return Obstacle(
            "actions", f"{counted_noun(policy.max_actions_per_day, 'action')} within a day (--max-actions-per-day)"
        )
    if healing.kind is HealKind.REPAIR:
        return None
    if situation.out_of_sync:
        text = f"{counted_noun(situation.out_of_sync, 'partition')} {WITH_LAGGING_REPLICAS}"
        return Obstacle("out-of-sync", text)
    return (
        _obstacle_to_moves(healing, situation, policy, ledger, at_s, local)
        if healing.kind in MOVES_FOR_BALANCE
        else None
    )


def _obstacle_to_moves(
    healing: Healing, situation: Situation, policy: HealPolicy, ledger: HealingLedger, at_s: float, local: datetime
) -> Obstacle | None:
    # a plan without them would replace their copies too, long before --dead-after
    missing = situation.may_return(policy.dead_after_s)
    if missing:
        return Obstacle("missing", f"{_brokers(missing)} may come back")
    # it may be gone before a copy to it is complete
    flapping = situation.flapping - situation.dead.keys()
    if flapping:
        verb = "are" if len(flapping) > 1 else "is"
        return Obstacle("flapping", f"{_brokers(flapping)} {verb} flapping")
    # a plan would restore the leadership that was just moved away, but gives none to a broker that has died since
    demoted = frozenset(ledger.demoted) & (situation.slow.keys() | situation.well.keys())
    if demoted and healing.kind is not HealKind.DRAIN:
        return Obstacle("demoted", f"leadership of {_brokers(demoted)} has not been restored yet")
    if not policy.allows_moves_at(local):
        return Obstacle("window", f"outside the window {policy.window}")
    if policy.max_bytes_per_day is not None and ledger.bytes_of_day(at_s) >= policy.max_bytes_per_day:
        return Obstacle("bytes", "the bytes moved in the last 24 hours reach the limit (--max-bytes-per-day)")
    return None


def _brokers(ids: frozenset[int]) -> str:
    return brokers_by_id(sorted(ids))
