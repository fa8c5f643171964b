"""How many brokers suffice: a bound that no placement can beat, and which brokers to keep or add.

::

    what a rack can hold = min(sum of target x capacity - other programs, its maximum of copies of all partitions)
    bound                = fewest brokers, at least one per rack, so that the racks together can hold all replicas

What a rack can hold grows ever more slowly with each broker, largest first. Adding the broker with the largest gain
each time therefore reaches the maximum for that number of brokers (a concave sum under one cardinality limit). So fewer
brokers than the bound cannot hold everything within the target, wherever replicas are placed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.errors import ConfigError
from kafkabal.inspection.partition_and_holder_figures import broker_figures
from kafkabal.model import (
    F64,
    I64,
    Bools,
    ClusterState,
    broker_capacity_bytes,
    foreign_of_brokers,
    lasting_factor,
    most_in_a_rack,
    move_bytes,
    rack_numbers,
)

_MOST_ADDED = 1000
"""Most brokers that the search adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSizing:
    """The smallest set of brokers that can suffice."""

    count: int
    """Number of brokers in it."""
    keep: tuple[int, ...]
    """Ids of live brokers in it."""
    drain: tuple[int, ...]
    """Ids of live brokers not in it."""
    add: tuple[int, ...]
    """For each broker to add, the row of its rack in the state; -1 for no rack."""
    added_bytes: int
    """Capacity of each broker to add: that of the largest live broker."""


def size_brokers(state: ClusterState, target: float) -> BrokerSizing:
    """The smallest set of brokers that can hold all replicas without exceeding ``target``.

    Parameters
    ----------
    target
        Share of each broker's capacity, other programs included; 0 < target <= 1.

    Raises
    ------
    ConfigError
        If the capacity of a live broker is unknown, or no number of brokers suffices.
    """
    live = np.flatnonzero(state.brokers.is_live)
    capacity = broker_capacity_bytes(state)
    if not live.size or np.isnan(capacity[live]).any():
        raise ConfigError("the capacity of some brokers is unknown", hint="set 'capacity' in the profile")
    rack, room = rack_numbers(state), target * capacity - np.nan_to_num(foreign_of_brokers(state))
    used = broker_figures(state).bytes
    has_racks = bool((state.brokers.rack[live] >= 0).all())
    # without racks every broker may hold a copy of any partition, but only one
    racks = sorted({int(z) for z in rack[live]}) if has_racks else [-1]
    copies = _copies(state, len(racks) if has_racks else len(live))
    waiting = {z: _queue(live, room, used, rack == z if has_racks else np.ones(len(rack), np.bool_)) for z in racks}
    added_room = float(target * capacity[live].max())
    return _grow(state, waiting, copies if has_racks else np.inf, added_room, int(capacity[live].max()))


def _grow(
    state: ClusterState, waiting: dict[int, list[tuple[float, int]]], rack_limit: float, added_room: float, size: int
) -> BrokerSizing:
    """Take the broker with the largest gain until all replicas fit; add new ones when the live ones are used up."""
    total = float(np.maximum(move_bytes(state), 0) @ lasting_factor(state))
    least = int(lasting_factor(state).max(initial=1))
    held, keep, add = dict.fromkeys(waiting, 0.0), list[int](), list[int]()

    def gain(z: int) -> float:
        room = waiting[z][0][0] if waiting[z] else 0.0
        return min(held[z] + room, rack_limit) - held[z]

    def take(z: int) -> None:
        room, row = waiting[z].pop(0)
        held[z] = min(held[z] + max(room, 0.0), rack_limit)
        keep.append(row)

    for z in waiting:
        if waiting[z]:
            take(z)
    while sum(held.values()) < total * (1 - 1e-12) or len(keep) + len(add) < least:
        best = max(waiting, key=lambda z: (gain(z), len(waiting[z]), -z))
        if waiting[best] and (gain(best) > 0 or len(keep) + len(add) < least):
            take(best)
            continue
        best = max(waiting, key=lambda z: (min(held[z] + added_room, rack_limit) - held[z], -z))
        if len(add) == _MOST_ADDED or min(held[best] + added_room, rack_limit) <= held[best]:
            raise ConfigError("no number of brokers is enough", hint="raise --target")
        held[best] = min(held[best] + added_room, rack_limit)
        add.append(best)
    ids = state.brokers.id
    kept = {int(ids[row]) for row in keep}
    return BrokerSizing(
        count=len(keep) + len(add),
        keep=tuple(sorted(kept)),
        drain=tuple(i for i in ids[state.brokers.is_live].tolist() if i not in kept),
        add=tuple(add),
        added_bytes=size,
    )


def _queue(live: I64, room: F64, used: I64, inside: Bools) -> list[tuple[float, int]]:
    """Room and row of a rack's live brokers: largest room first, then the fullest, so that least is moved."""
    rows = [int(row) for row in live if inside[row]]
    rows.sort(key=lambda row: (-room[row], -used[row], row))
    return [(float(room[row]), row) for row in rows]


def _copies(state: ClusterState, racks: int) -> float:
    """Bytes that one rack may hold: of each partition as many copies as the rack rule allows in one rack."""
    most = most_in_a_rack(lasting_factor(state), racks)
    return float(np.maximum(move_bytes(state), 0) @ most)
