"""How many brokers suffice: a bound that no placement can beat, and which brokers to keep or add.

::

    may be chosen        = live brokers that other programs alone do not fill beyond the target; new ones, for which the
                           largest live capacity is assumed, and no other programs
    what a rack can hold = min(sum of target x capacity - other programs, the copies that it may have of everything)
    new                  = fewest that hold everything together with all live ones, at least one broker a rack
    bound                = new + fewest live ones of which the racks hold what the new ones cannot, or fewest were all
                           brokers as large as new ones

What a rack can hold grows ever more slowly with each broker, the largest first, so that adding the one with the largest
gain each time reaches the most that any choice of as many brokers can (a concave sum under one cardinality limit). So
with fewer new brokers, or with as many and fewer in all than the bound, nothing can hold everything within the target,
wherever replicas are placed. A broker that other programs alone fill beyond it is in no choice: it is above the target
without a single replica, however many others there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

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
    """How many brokers it has."""
    bound: int
    """No fewer hold everything within the target with as few new ones; with none to add, that is the count."""
    keep: tuple[int, ...]
    """Ids of live brokers in it."""
    drain: tuple[int, ...]
    """Ids of live brokers not in it."""
    add: tuple[int, ...]
    """For each broker to add, the row of its rack in the state; -1 for no rack."""
    added_bytes: int
    """Capacity of each broker to add: that of the largest live broker."""


def filled_by_others(state: ClusterState, target: float) -> Bools:
    """bool, shape (n_brokers,): other programs alone fill the broker beyond the target."""
    return np.nan_to_num(foreign_of_brokers(state)) > target * broker_capacity_bytes(state)


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
    rooms, demand = _rooms_and_demand(state, target)
    new = _fewest_new(rooms, demand)
    keep = _fewest_live(rooms, new, demand, broker_figures(state).bytes)
    added, kept = sum(new.values()), {int(state.brokers.id[row]) for row in keep}
    return BrokerSizing(
        count=len(keep) + added,
        bound=_bound(rooms, added, demand) if added else len(keep),
        keep=tuple(sorted(kept)),
        drain=tuple(i for i in state.brokers.id[state.brokers.is_live].tolist() if i not in kept),
        add=tuple(z for z, count in new.items() for _ in range(count)),
        added_bytes=int(demand.largest),
    )


def least_brokers(state: ClusterState, target: float, most_new: int) -> int:
    """How many brokers are needed at least, wherever replicas are placed, with at most so many new ones.

    Raises
    ------
    ConfigError
        As :func:`size_brokers`.
    """
    rooms, demand = _rooms_and_demand(state, target)
    fewest = size_brokers(state, target)
    more = (_bound(rooms, new, demand) for new in range(len(fewest.add) + 1, most_new + 1))
    return min([fewest.bound, *more])


def _rooms_and_demand(state: ClusterState, target: float) -> tuple[_Rooms, _Demand]:
    live = np.flatnonzero(state.brokers.is_live)
    capacity = broker_capacity_bytes(state)
    if not live.size or np.isnan(capacity[live]).any():
        raise ConfigError("the capacity of some brokers is unknown", hint="set 'capacity' in the profile")
    rack, room = rack_numbers(state), target * capacity - np.nan_to_num(foreign_of_brokers(state))
    used = broker_figures(state).bytes
    has_racks = bool((state.brokers.rack[live] >= 0).all())
    # without racks every broker may hold a copy of any partition, but only one
    racks = sorted({int(z) for z in rack[live]}) if has_racks else [-1]
    may_stay = live[~filled_by_others(state, target)[live]]
    rooms = {z: _rooms(may_stay, room, used, rack == z if has_racks else np.ones(len(rack), np.bool_)) for z in racks}
    largest = float(capacity[live].max())
    demand = _Demand(
        bytes=_least_bytes(state),
        brokers=int(lasting_factor(state).max(initial=1)),
        most_in_rack=_copies(state, len(racks)) if has_racks else np.inf,
        new_room=target * largest,
        largest=largest,
    )
    return rooms, demand


_Rooms: TypeAlias = Mapping[int, list[tuple[float, int]]]
"""By rack: room and row of each live broker that may stay, the largest room first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Demand:
    """What the brokers have to hold together."""

    bytes: float
    brokers: int
    """Replicas of one partition need so many."""
    most_in_rack: float
    """Bytes that one rack may have."""
    new_room: float
    """Bytes that a broker to add can hold."""
    largest: float
    """Capacity of a broker to add."""

    def is_met(self, held: Mapping[int, float], brokers: int) -> bool:
        return self.has_room(held) and brokers >= self.brokers

    def has_room(self, held: Mapping[int, float]) -> bool:
        return sum(held.values()) >= self.bytes * (1 - 1e-12)

    def with_room(self, held: float, room: float) -> float:
        """What a rack holds with one more broker."""
        return min(held + room, self.most_in_rack)


def _fewest_new(rooms: _Rooms, demand: _Demand) -> dict[int, int]:
    """By rack the brokers to add to all live ones, each where it holds most."""
    new = {z: 0 if rooms[z] else 1 for z in rooms}
    held = {z: demand.with_room(new[z] * demand.new_room, sum(room for room, _ in rooms[z])) for z in rooms}
    live = sum(map(len, rooms.values()))
    while not demand.is_met(held, live + sum(new.values())):
        gain = {z: demand.with_room(held[z], demand.new_room) - held[z] for z in held}
        best = max(gain, key=lambda z: (gain[z], -held[z], -z))
        if sum(new.values()) == _MOST_ADDED or (gain[best] <= 0 and not demand.has_room(held)):
            raise ConfigError("no number of brokers is enough", hint="raise --target")
        held[best] += gain[best]
        new[best] += 1
    return new


def _fewest_live(rooms: _Rooms, new: Mapping[int, int], demand: _Demand, used: I64) -> list[int]:
    """Rows of the live brokers to keep beside the new ones: one in each rack, then the one with the largest gain.

    Of equal gains, the fullest broker stays, as in each rack: what was drained before is drained again.
    """
    held = {z: demand.with_room(0.0, new[z] * demand.new_room) for z in rooms}
    kept = {z: 0 if new[z] else 1 for z in rooms}
    for z in rooms:
        if kept[z]:
            held[z] = demand.with_room(held[z], rooms[z][0][0])
    while not demand.is_met(held, sum(kept.values()) + sum(new.values())):
        left = [z for z in rooms if kept[z] < len(rooms[z])]
        gain = {z: demand.with_room(held[z], rooms[z][kept[z]][0]) - held[z] for z in left}
        best = max(left, key=lambda z: (gain[z], len(rooms[z]) - kept[z], used[rooms[z][kept[z]][1]], -z))
        held[best] += gain[best]
        kept[best] += 1
    return [row for z in rooms for _, row in rooms[z][: kept[z]]]


def _bound(rooms: _Rooms, new: int, demand: _Demand) -> int:
    """Fewest brokers with so many new ones: what either of two relaxations needs.

    The new ones hold all of their room beside the live ones, in whichever racks; or all brokers are like new ones.
    """
    all_there = sorted((gain for live in rooms.values() for gain in _gains(live, demand)), reverse=True)
    beside_new = new + _fewest(all_there, demand.bytes - new * demand.new_room)
    as_new = [(demand.new_room, -1)] * (new + len(all_there))
    all_new = sorted((gain for _ in rooms for gain in _gains(as_new, demand)), reverse=True)
    return max(beside_new, _fewest(all_new, demand.bytes), demand.brokers, len(rooms))


def _fewest(gains: list[float], bytes_: float) -> int:
    """How many of the largest are as much as so many bytes."""
    return int(np.searchsorted(np.cumsum(gains), bytes_ * (1 - 1e-12))) + 1 if bytes_ > 0 else 0


def _gains(live: list[tuple[float, int]], demand: _Demand) -> Iterator[float]:
    """What each broker of a rack adds to what those before it hold."""
    held = 0.0
    for room, _ in live:
        before, held = held, demand.with_room(held, room)
        yield held - before


def _rooms(live: I64, room: F64, used: I64, inside: Bools) -> list[tuple[float, int]]:
    """Room and row of the live brokers of a rack: the largest first, of equal ones the fullest, which moves least."""
    rows = [int(row) for row in live if inside[row]]
    rows.sort(key=lambda row: (-room[row], -used[row], row))
    return [(float(room[row]), row) for row in rows]


def _least_bytes(state: ClusterState) -> float:
    """Bytes that all replicas have at least, wherever they are placed: one that stays may be smaller than a copy of its
    leader, but not for long if it is out of sync."""
    r = state.replicas
    of_copy = np.maximum(move_bytes(state), 0)[r.partition]
    may_stay = r.in_sync & (r.size_bytes >= 0)
    least = np.where(may_stay, np.minimum(r.size_bytes, of_copy), of_copy)
    return float(least[~r.removing].sum())


def _copies(state: ClusterState, racks: int) -> float:
    """Bytes that one rack may hold: of each partition as many copies as the rack rule allows in one rack."""
    most = most_in_a_rack(lasting_factor(state), racks)
    return float(np.maximum(move_bytes(state), 0) @ most)
