"""Finds the most even placement by trying every set of holders (up to a dozen), as a reference for tests."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from itertools import combinations
from typing import TypeVar

Holder = TypeVar("Holder", bound=Hashable)

_ROUNDING = 1e-12
"""Fraction of the total load, what cannot move included, by which sums may differ: what does not fit by less than this
may fit exactly, as on brokers that take nothing and keep what they have."""


def brute_force_fair(
    capacity: Mapping[Holder, float],
    rack: Mapping[Holder, Hashable],
    pieces: Iterable[tuple[float, int]],
    fixed: Mapping[Holder, float] | None = None,
    most: Mapping[Holder, float] | None = None,
) -> dict[Holder, float]:
    """Utilisation of each holder, highest first: the set that must carry most for its capacity carries exactly that.

    Parameters
    ----------
    capacity
        Capacity of each holder.
    pieces
        Loads of single replicas, with the number of replicas, which are on different holders in as many racks as
        possible.
    fixed
        Load that cannot move, by holder.
    most
        Most load that may be placed on a holder; ignored if not everything fits then.
    """
    fixed, most = fixed or {}, most or {}
    whole = frozenset(capacity)
    by_factor: dict[int, float] = {}
    for load, factor in pieces:
        placed = min(factor, len(whole))
        by_factor[placed] = by_factor.get(placed, 0.0) + load
    n_racks = len({rack[h] for h in whole})

    def most_on(inside: frozenset[Holder]) -> float:
        racks = len({rack[h] for h in inside})
        return sum(
            load * (min(racks, r) if r <= n_racks else min(len(inside), racks + r - n_racks if racks else 0))
            for r, load in by_factor.items()
        )

    sets = [frozenset(c) for i in range(len(whole) + 1) for c in combinations(whole, i)]
    room = {s: most_on(s) for s in sets}
    if most:
        limited = {s: min(room[a] + sum(most.get(h, math.inf) for h in s - a) for a in sets if a <= s) for s in sets}
        if limited[whole] >= room[whole] - _ROUNDING * (room[whole] + sum(fixed.values())):
            room = limited
    level: dict[Holder, float] = {}
    left = whole
    while left:
        forced = {
            s: (room[left] - room[left - s] + sum(fixed.get(h, 0.0) for h in s)) / sum(capacity[h] for h in s)
            for s in sets
            if s and s <= left
        }
        peak = max(forced.values())
        top = max((s for s, v in forced.items() if v >= peak * (1 - 1e-12)), key=len)
        level.update(dict.fromkeys(top, peak))
        left -= top
    return level
