"""The rules of replication throttles (KIP-73): what to set for a run, and how to restore exactly what was found.

A rate is set on a broker only if no lower one is in force already, unless that is to be overridden. The restored value
is the one set on the resource itself, or nothing if a default applied. Entries of partitions in flight are added to the
lists of throttled replicas and removed one by one, so that no entry of others is lost, whenever it appears. Any value
that we never wrote stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from msgspec.structs import replace

from kafkabal.clusters import ConfigSource, ConfigValue
from kafkabal.executor.state.run_record import Original, RunPartition
from kafkabal.model import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, LOG_DIR_RATE

RATE_KEYS = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)

LIST_KEYS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)

ALL_REPLICAS = "*"

TOPIC_IS_GONE = "UNKNOWN_TOPIC_OR_PARTITION"
"""Kafka's error for a topic that was deleted, together with its throttles."""


@dataclass(frozen=True, slots=True)
class RateRestore:
    """What to do with a config at the end: write a value, delete ours (None), or do nothing."""

    is_needed: bool
    value: str | None = None
    complaint: str = ""
    """Why we may not change the value that was found."""


NOTHING = RateRestore(is_needed=False)


def rate_to_set(original: Original, rate: int, *, override: bool) -> str | None:
    """The rate to set on a broker; None if the current rate is as low already and is to be kept."""
    in_force = _number(original.value)
    # an operator who has set a lower rate knows why: raising it could take the broker's bandwidth from its clients
    if in_force is not None and in_force <= rate and not override:
        return None
    return str(rate)


def kept_rates(originals: Iterable[Original], partitions: Iterable[RunPartition], rate: int) -> dict[int, list[int]]:
    """Brokers that send or receive copies and keep a lower rate from before the run, by rate in bytes per second."""
    moved = [p for p in partitions if p.to_add]
    roles = {
        LEADER_RATE: {b for p in moved for b in p.previous.replicas},
        FOLLOWER_RATE: {b for p in moved for b in p.to_add},
    }
    kept: dict[int, set[int]] = {}
    for original in originals:
        found = _number(original.value)
        if found is not None and found < rate and original.key in roles:
            kept.setdefault(found, set()).update({int(original.resource)} & roles[original.key])
    return {lower: sorted(kept[lower]) for lower in sorted(kept) if kept[lower]}


def restore_rate(original: Original, current: ConfigValue | None, ours: Collection[str]) -> RateRestore:
    """How to restore a rate that we may have set.

    Parameters
    ----------
    ours
        Every value that we may have set.
    """
    before = original.own_value
    if current is None or current.source is not ConfigSource.OWN:
        return (
            NOTHING
            if before is None
            else RateRestore(False, complaint=f"earlier value {before} deleted by another tool; not restored")
        )
    # already restored, for example by an attempt whose answer was lost
    if current.value == before:
        return NOTHING
    if current.value in ours:
        return RateRestore(True, before)
    return RateRestore(False, complaint=f"set to {current.value} by another tool; left unchanged")


def list_entries(planned: RunPartition) -> dict[str, frozenset[str]]:
    """Entries of one partition by key: all previous replicas as leaders, all new replicas as followers.

    A rollback moves the other way, so replicas at both ends count as possible sources and destinations.
    """
    previous, target = frozenset(planned.previous.replicas), frozenset(planned.replicas)
    return {
        LEADER_REPLICAS: _entries_of(planned.partition, previous | target),
        FOLLOWER_REPLICAS: _entries_of(planned.partition, previous ^ target),
    }


def active_entries(partition: int, holders: Collection[int], arriving: Collection[int]) -> dict[str, frozenset[str]]:
    """Entries of a partition while it moves: brokers that hold it as leaders, brokers that get a copy as followers."""
    return {
        LEADER_REPLICAS: _entries_of(partition, frozenset(holders) - frozenset(arriving)),
        FOLLOWER_REPLICAS: _entries_of(partition, arriving),
    }


@dataclass(frozen=True, slots=True)
class ListSteps:
    """Entries to add to and remove from a list of throttled replicas; entries that others add meanwhile stay."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """As often as they are in the list."""
    is_deleted: bool = False
    """Whether to delete the list: it would be empty, and the topic had none of its own before."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to change."""
        return bool(self.added or self.removed or self.is_deleted)


def list_steps(
    original: Original, current: ConfigValue | None, ours: Collection[str], active: Collection[str]
) -> ListSteps:
    """How to change a list so that it contains exactly the active ones of our entries, next to those of others.

    Entries that were there before are not ours, even if they name one of our replicas: if they are removed meanwhile,
    they stay removed.

    Parameters
    ----------
    ours
        Every entry that we may have added.
    active
        Entries that are needed now; none, to restore the list as it was.
    """
    own = current.value if current is not None and current.source is ConfigSource.OWN else None
    found, before = _split(own), _split(original.own_value)
    # every replica is throttled already; replacing the star with our entries would end what an operator asked for
    if ALL_REPLICAS in found:
        return ListSteps()
    added = tuple(sorted(set(active).difference(found, before)))
    removed = tuple(e for e in found if e in ours and e not in before and e not in active)
    is_empty = own is not None and not added and len(removed) == len(found)
    # another tool has deleted the entries of others meanwhile; like Kafka's own tool, leave no empty list behind
    is_gone = original.own_value is None or bool(before and removed)
    return ListSteps(added, removed, is_deleted=is_empty and is_gone)


def is_shown(current: ConfigValue | None, original: Original, ours: Collection[str]) -> bool:
    """Whether a config as read shows all that we have set in it, or a value that another user has set instead."""
    found = shown_entries(current)
    if original.key not in LIST_KEYS and found != {*_split(original.own_value)}:
        return True
    return ALL_REPLICAS in found or found.issuperset(ours)


def shown_entries(current: ConfigValue | None) -> frozenset[str]:
    """Entries of a list as read, or the value of another config, if it is set on the resource itself."""
    return frozenset(_split(current.value if current is not None and current.source is ConfigSource.OWN else None))


def with_entries_of_others(
    original: Original, current: ConfigValue | None, not_added: Collection[str]
) -> Original | None:
    """The list as found, plus entries that are there although we have not added them; None if there are none."""
    before = _split(original.own_value)
    listed = _split(current.value if current is not None and current.source is ConfigSource.OWN else None)
    others = [e for e in listed if e in not_added and e not in before]
    return replace(original, value=",".join([*before, *others]), source=ConfigSource.OWN) if others else None


def _entries_of(partition: int, brokers: Collection[int]) -> frozenset[str]:
    return frozenset(f"{partition}:{b}" for b in brokers)


def _split(value: str | None) -> list[str]:
    return [e.strip() for e in value.split(",") if e.strip()] if value else []


def _number(value: str | None) -> int | None:
    try:
        return int(value) if value is not None else None
    except ValueError:
        return None
