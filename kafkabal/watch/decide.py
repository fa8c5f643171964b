"""What to heal next, if anything: a pure function of what is seen, what is allowed and what was done before.

One thing is healed at a time, the worst first. Nothing is done twice within a day, nothing while replicas on live
brokers are out of sync, and nothing at all while more brokers vanish at once than brokers do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.ledger import Ledger


class HealKind(StrEnum):
    """What is healed."""

    REPAIR = "repair"
    """Replicas of dead brokers and offline log dirs get copies elsewhere."""
    DEMOTE = "demote"
    """Leadership leaves a slow broker."""
    PROMOTE = "promote"
    """Leadership goes back to a broker that is well again."""
    DRAIN = "drain"
    """Replicas leave a slow broker."""
    FILL = "fill"
    """A broker that joined empty gets its share."""
    REBALANCE = "rebalance"
    """Imbalance beyond the outer band is brought inside the inner one."""


_MOVES_REPLICAS = frozenset({HealKind.REPAIR, HealKind.DRAIN, HealKind.FILL, HealKind.REBALANCE})


@dataclass(frozen=True, slots=True)
class Healing:
    """One thing to heal."""

    kind: HealKind
    brokers: frozenset[int] = frozenset()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is seen at one moment, durations in seconds."""

    dead: dict[int, float] = field(default_factory=dict)
    """Brokers that are dead, and for how long."""
    dead_with_replicas: frozenset[int] = frozenset()
    slow: dict[int, float] = field(default_factory=dict)
    unreachable: frozenset[int] = frozenset()
    well: dict[int, float] = field(default_factory=dict)
    has_offline_dir: frozenset[int] = frozenset()
    """Brokers with an offline log dir that still lacks copies elsewhere."""
    out_of_sync: int = 0
    """Partitions whose replicas on live brokers are out of sync."""
    empty: frozenset[int] = frozenset()
    """Live brokers without any replica."""
    imbalanced_looks: int = 0
    """Readings in a row in which a score left the outer band."""
    led: frozenset[int] = frozenset()
    """Brokers that lead partitions or are preferred to."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, or why what would be due is not done."""

    healing: Healing | None = None
    held_back: str = ""


NOTHING = Decision()


def decide(sight: Sight, policy: HealPolicy, ledger: Ledger, *, at_s: float, local: datetime) -> Decision:
    """The next healing.

    Parameters
    ----------
    at_s
        Seconds since the epoch.
    local
        The same moment in local time, for the window.
    """
    due = _due(sight, policy, ledger)
    if due is None:
        return NOTHING
    obstacle = _obstacle(due, sight, policy, ledger, at_s, local)
    return Decision(held_back=f"{due.kind} held back: {obstacle}") if obstacle else Decision(due)


def _due(sight: Sight, policy: HealPolicy, ledger: Ledger) -> Healing | None:
    """What would be healed first if nothing stood in its way."""
    if policy.level is HealLevel.NONE:
        return None
    if policy.level is HealLevel.ALL and (lost := _lost(sight, policy)):
        return lost
    slow = frozenset(b for b in sight.slow if b not in ledger.demoted and b in sight.led)
    if slow:
        return Healing(HealKind.DEMOTE, frozenset({min(slow)}), f"broker {min(slow)} is slow")
    well = [int(b) for b in ledger.demoted if sight.well.get(int(b), 0.0) >= policy.well_after_s]
    if well:
        return Healing(HealKind.PROMOTE, frozenset({min(well)}), f"broker {min(well)} is well again")
    return _moves(sight, policy) if policy.level is HealLevel.ALL else None


def _lost(sight: Sight, policy: HealPolicy) -> Healing | None:
    """Copies that are missing: they come before anything else."""
    dead = frozenset(b for b, for_s in sight.dead.items() if for_s >= policy.dead_after_s) & sight.dead_with_replicas
    if dead:
        return Healing(HealKind.REPAIR, dead, f"{_brokers(dead)} dead for {_duration(policy.dead_after_s)} or longer")
    if sight.has_offline_dir:
        return Healing(HealKind.REPAIR, frozenset(), f"log dir offline on {_brokers(sight.has_offline_dir)}")
    return None


def _moves(sight: Sight, policy: HealPolicy) -> Healing | None:
    """Replicas that would be better elsewhere."""
    if policy.move_after_s is not None:
        late = [b for b, for_s in sight.slow.items() if for_s >= policy.move_after_s]
        if late:
            return Healing(HealKind.DRAIN, frozenset({min(late)}), f"broker {min(late)} has been slow for too long")
    if sight.empty:
        return Healing(HealKind.FILL, sight.empty, f"{_brokers(sight.empty)} joined empty")
    if sight.imbalanced_looks >= policy.imbalance_looks:
        return Healing(HealKind.REBALANCE, reason=f"outside {policy.outer_tolerance:.0%} of the fair share")
    return None


def _obstacle(due: Healing, sight: Sight, policy: HealPolicy, ledger: Ledger, at_s: float, local: datetime) -> str:
    """Why it is not done now; empty if it is."""
    if len(sight.dead) + len(sight.unreachable) > policy.max_dead:
        gone = len(sight.dead) + len(sight.unreachable)
        return f"{gone} brokers vanished at once (--max-dead {policy.max_dead}): check the network"
    if at_s < ledger.backs_off_until_s(due.kind, policy.back_off_s):
        return "the last one failed or found nothing to do; backing off"
    if len(ledger.since(at_s)) >= policy.max_actions_per_day:
        return f"{policy.max_actions_per_day} actions within a day (--max-actions-per-day)"
    if due.kind is HealKind.REPAIR:
        return ""
    if sight.out_of_sync:
        return f"{sight.out_of_sync} partitions have replicas out of sync on live brokers"
    if due.kind in _MOVES_REPLICAS:
        return _obstacle_to_moves(sight, policy, ledger, at_s, local)
    return ""


def _obstacle_to_moves(sight: Sight, policy: HealPolicy, ledger: Ledger, at_s: float, local: datetime) -> str:
    missing = sight.unreachable | sight.dead_with_replicas
    if missing:
        # a plan for the rest would make up for its copies too, long before --dead-after
        return f"{_brokers(missing)} may come back"
    if not policy.allows_moves_at(local):
        return f"outside the window {policy.window}"
    if policy.max_bytes_per_day is not None and ledger.bytes_of_day(at_s) >= policy.max_bytes_per_day:
        return "the bytes of the day are spent (--max-bytes-per-day)"
    return ""


def _brokers(ids: frozenset[int]) -> str:
    return f"broker{'s' if len(ids) > 1 else ''} {', '.join(map(str, sorted(ids)))}"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
