"""How many brokers suffice: a bound that no placement can beat, and the brokers to keep or to add.

::

    what a rack can hold = min(sum of target x capacity - other programs, the copies that it may have of everything)
    bound                = fewest brokers, at least one a rack, of which the racks together hold all replicas

What a rack can hold grows ever more slowly with each broker, the largest first, so that adding the one with the largest
gain each time reaches the most that any choice of as many brokers can (a concave sum under one cardinality limit). So
fewer brokers than the bound cannot hold everything within the target, wherever replicas are placed.
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
"""More brokers than that are not added to a cluster; the search ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSizing:
    """A choice of brokers, the smallest that can be enough."""

    count: int
    """How many brokers it has."""
    keep: tuple[int, ...]
    """Ids of live brokers in it."""
    drain: tuple[int, ...]
    """Ids of live brokers that are not."""
    add: tuple[int, ...]
    """For each broker to add, the row of its rack in the state; -1 for none."""
    added_bytes: int
    """Capacity of each broker to add: that of the largest live one."""


def size_brokers(state: ClusterState, target: float) -> BrokerSizing:
    """The fewest brokers that can hold all replicas, none of them fuller than ``target``.

    Parameters
    ----------
    target
        Share of each broker's capacity, other programs included; 0 < target <= 1.

    Raises
    ------
    ConfigError
        If the capacity of a live broker is not known, or no number of brokers is enough.
    """
    live = np.flatnonzero(state.brokers.is_live)
    capacity = broker_capacity_bytes(state)
    if not live.size or np.isnan(capacity[live]).any():
        raise ConfigError("the capacity of some brokers is unknown", hint="set 'capacity' in the profile")
    rack, room = rack_numbers(state), target * capacity - np.nan_to_num(foreign_of_brokers(state))
    used = broker_figures(state).bytes
    has_racks = bool((state.brokers.rack[live] >= 0).all())
    # without racks every broker may hold a copy of anything, but only one
    racks = sorted({int(z) for z in rack[live]}) if has_racks else [-1]
    copies = _copies(state, len(racks) if has_racks else len(live))
    waiting = {z: _queue(live, room, used, rack == z if has_racks else np.ones(len(rack), np.bool_)) for z in racks}
    added_room = float(target * capacity[live].max())
    return _grow(state, waiting, copies if has_racks else np.inf, added_room, int(capacity[live].max()))


def _grow(
    state: ClusterState, waiting: dict[int, list[tuple[float, int]]], rack_limit: float, added_room: float, size: int
) -> BrokerSizing:
    """Take the broker with the largest gain until all replicas fit; new ones once the live ones are taken."""
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
    """Room and row of the live brokers of a rack: the largest first, of equal ones the fullest, which moves least."""
    rows = [int(row) for row in live if inside[row]]
    rows.sort(key=lambda row: (-room[row], -used[row], row))
    return [(float(room[row]), row) for row in rows]


def _copies(state: ClusterState, racks: int) -> float:
    """Bytes that one rack may hold: of each partition the most copies that the rack rule lets be in one."""
    most = most_in_a_rack(lasting_factor(state), racks)
    return float(np.maximum(move_bytes(state), 0) @ most)
