"""The rules of replication throttles (KIP-73): what to set for a run, and how to restore exactly what was found.

A rate is set on a broker only where nothing lower is in force already, unless that is to be overridden. What is put
back is the value that the resource itself had, or nothing where a default showed through. To lists of throttled
replicas what is in flight is added, and taken off again entry by entry, so that no entry of others is lost whenever
it comes. Whatever is found that we never wrote stays.
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


@dataclass(frozen=True, slots=True)
class RateRestore:
    """What to do with a config at the end: write a value, delete ours (None), or nothing."""

    is_needed: bool
    value: str | None = None
    complaint: str = ""
    """Why what was found is not ours to change."""


NOTHING = RateRestore(is_needed=False)


def rate_to_set(original: Original, rate: int, *, override: bool) -> str | None:
    """The rate to set on a broker, None where what is in force is as low already and is to be kept."""
    in_force = _number(original.value)
    # an operator who has set less knows why: raising it could take the bandwidth of the broker from its clients
    if in_force is not None and in_force <= rate and not override:
        return None
    return str(rate)


def kept_rates(originals: Iterable[Original], partitions: Iterable[RunPartition], rate: int) -> dict[int, list[int]]:
    """By lower rate in bytes a second, the brokers that send or receive copies and keep it from before the run."""
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
    """How to undo a rate of ours.

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
            else RateRestore(False, complaint=f"earlier value {before} deleted by another tool; kept so")
        )
    # done already, as by a try whose answer was lost
    if current.value == before:
        return NOTHING
    if current.value in ours:
        return RateRestore(True, before)
    return RateRestore(False, complaint=f"set to {current.value} by another tool; kept so")


def list_entries(planned: RunPartition) -> dict[str, frozenset[str]]:
    """Entries of one partition by key: all replicas it had before as leaders, those that are new as followers.

    A rollback moves the other way, so both ends of the way count as possible sources and destinations.
    """
    previous, target = frozenset(planned.previous.replicas), frozenset(planned.replicas)
    return {
        LEADER_REPLICAS: _entries_of(planned.partition, previous | target),
        FOLLOWER_REPLICAS: _entries_of(planned.partition, previous ^ target),
    }


def active_entries(partition: int, holders: Collection[int], arriving: Collection[int]) -> dict[str, frozenset[str]]:
    """Entries of a partition while it moves: those that hold it may lead, those that it comes to follow."""
    return {
        LEADER_REPLICAS: _entries_of(partition, frozenset(holders) - frozenset(arriving)),
        FOLLOWER_REPLICAS: _entries_of(partition, arriving),
    }


@dataclass(frozen=True, slots=True)
class ListSteps:
    """What a list of throttled replicas is to gain and to lose; what others put into it meanwhile is not touched."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """As often as they are in the list."""
    is_deleted: bool = False
    """Nothing would be left where the topic had no list of its own: no empty one may stay behind."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.added or self.removed or self.is_deleted)


def list_steps(
    original: Original, current: ConfigValue | None, ours: Collection[str], active: Collection[str]
) -> ListSteps:
    """How a list comes to hold exactly the active ones of our entries, beside those of others.

    Entries that were there before are not ours, even if they are about a replica of ours: removing them
    meanwhile wants them off.

    Parameters
    ----------
    ours
        Every entry that we may have added.
    active
        Those that are needed now; none of them, to restore the list as it was.
    """
    own = current.value if current is not None and current.source is ConfigSource.OWN else None
    found, before = _split(own), _split(original.own_value)
    # every replica is throttled already; to remove the star for our entries would end what an operator asked for
    if ALL_REPLICAS in found:
        return ListSteps()
    added = tuple(sorted(set(active).difference(found, before)))
    removed = tuple(e for e in found if e in ours and e not in before and e not in active)
    is_empty = own is not None and not added and len(removed) == len(found)
    # what others had there was deleted meanwhile, as by Kafka's own tool, which leaves no empty list either
    is_gone = original.own_value is None or bool(before and removed)
    return ListSteps(added, removed, is_deleted=is_empty and is_gone)


def with_entries_of_others(
    original: Original, current: ConfigValue | None, not_added: Collection[str]
) -> Original | None:
    """The list as it was found, joined by entries that are there although we have not added them; None if none are."""
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
