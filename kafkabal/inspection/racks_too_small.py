"""Racks with too few brokers for equal shares, and how many brokers to add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.inspection.inspection import Inspection
from kafkabal.model import F64, I64, ClusterState
from kafkabal.scoring import PlaceableLoads, loads_of, parts_of, rules_of
from kafkabal.wording import counted_noun

_MOST_ADDED = 200
"""Per rack; if more are needed, no advice is given."""
_EQUAL = 1e-9
"""Relative difference of two sums of the same capacities: some thousand roundings of 1e-16, with a margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRack:
    """A rack whose brokers must carry more than the mean."""

    rack: str
    brokers: int
    """Brokers of the rack that have a fair share."""
    all_brokers: int
    part: float
    """Fraction of the whole load on the rack in the most even placement, 0 to 1."""
    fair_over_mean: float
    """Load of its brokers in that placement, relative to the mean of all."""
    brokers_to_add: int | None
    """Brokers of mean size to add to this rack so that, with those added to the other small racks, no rack is too
    small; None if no number suffices, or brokers have no racks."""
    equal: bool
    """Whether shares are then exactly equal, not just within the tolerance: all brokers have the same size."""
    score: str
    """The score that these figures are of; others differ unless all brokers have the same size."""

    def __str__(self) -> str:
        each = "its broker carries" if self.brokers == 1 else f"its {self.brokers} brokers carry"
        return (
            f"rack {self.rack} has {self.brokers} of {counted_noun(self.all_brokers, 'broker')} "
            f"and must hold {self.part:.0%}: "
            f"{each} at least {self.fair_over_mean:.2f}x the mean{'' if self.equal else f' by {self.score}'}"
        )


def small_racks(inspection: Inspection) -> tuple[SmallRack, ...]:
    """Racks that must hold more than their part of the capacity, by the first broker score; most loaded first."""
    for scored in inspection.scored:
        parts = parts_of(scored.score, inspection.state)
        loads = loads_of(scored.score, inspection.state, parts, rules_of(inspection.state))
        if loads is not None:
            return tuple(_small_racks(inspection.state, scored.score.name, loads, inspection.tolerance))
    return ()


def advice(found: Sequence[SmallRack]) -> str:
    """What to add: ``1 more broker in rack c would make all shares equal``; empty if nothing helps."""
    lacking = [(r.rack, r.brokers_to_add) for r in found if r.brokers_to_add]
    if not lacking:
        return ""
    first, *others = lacking
    text = f"{counted_noun(first[1], 'more broker')} in rack {first[0]}"
    text += "".join(f" and {n} in rack {rack}" for rack, n in others)
    within = f"bring all shares by {found[0].score} within the tolerance"
    return f"{text} would {'make all shares equal' if found[0].equal else within}"


def brokers_to_add(loads: PlaceableLoads, tolerance: float) -> dict[int, int] | None:
    """By rack: the fewest brokers of mean capacity to add so that no rack prevents equal shares.

    If brokers differ in size, shares can hardly be exactly equal: within the tolerance is then enough.

    Brokers are added one at a time to the rack with the least capacity. Of all ways to add that many, this one
    minimises the total of the k largest racks for every k (majorisation), and equal shares are attainable exactly if,
    for every k, the k smallest racks need not hold more than their part of the capacity.

    Returns
    -------
    dict[int, int] | None
        None if even 200 do not suffice.
    """
    rows = np.flatnonzero(loads.counted)
    racks, rack = np.unique(loads.rack[rows], return_inverse=True)
    size = float(loads.capacity[rows].mean())
    capacity, total = loads.capacity[rows], np.bincount(rack, loads.capacity[rows])
    added: dict[int, int] = {}
    for _ in range(_MOST_ADDED):
        if _is_even(capacity, rack, loads, tolerance):
            return added
        smallest = int(total.argmin())
        total[smallest] += size
        capacity, rack = np.append(capacity, size), np.append(rack, smallest)
        added[int(racks[smallest])] = added.get(int(racks[smallest]), 0) + 1
    return None


def _is_even(capacity: F64, rack: I64, loads: PlaceableLoads, tolerance: float) -> bool:
    n = len(capacity)
    alone = PlaceableLoads(
        capacity=capacity,
        counted=np.ones(n, np.bool_),
        rack=rack.astype(np.int32),
        each=loads.each,
        fixed=np.zeros(n),
        most=np.full(n, np.inf),
        on_top=np.zeros(n),
    )
    allowed = _EQUAL if _are_equal(capacity) else tolerance
    return bool((np.abs(alone.due() / capacity - 1) <= allowed).all())


def _are_equal(capacity: F64) -> bool:
    return bool(capacity.max() <= capacity.min() * (1 + _EQUAL))


def _small_racks(state: ClusterState, score: str, loads: PlaceableLoads, tolerance: float) -> Iterator[SmallRack]:
    nothing = np.zeros_like(loads.fixed)
    free = replace(loads, fixed=nothing, most=np.full_like(loads.most, np.inf), on_top=nothing)
    due, rows = free.due(), loads.counted
    above = rows & (due > loads.capacity * (1 + max(tolerance / 2, _EQUAL)))
    if not above.any():
        return
    has_racks = bool((loads.rack[rows] < len(state.racks)).all())
    to_add = brokers_to_add(free, tolerance) if has_racks else None
    found = np.unique(loads.rack[above])
    levels = {int(z): float((due / loads.capacity)[above & (loads.rack == z)].max()) for z in found}
    for z in sorted(levels, key=lambda z: (-levels[z], z)):
        inside = rows & (loads.rack == z)
        yield SmallRack(
            rack=state.racks[z] if z < len(state.racks) else f"of broker {state.brokers.id[inside][0]}",
            brokers=int(inside.sum()),
            all_brokers=int(rows.sum()),
            part=float(due[inside].sum() / due[rows].sum()),
            fair_over_mean=levels[z],
            equal=_are_equal(loads.capacity[rows]),
            score=score,
            brokers_to_add=None if to_add is None else to_add.get(z, 0),
        )
