"""How many brokers suffice, which to drain or where to add some, and what that costs: a bound, and a plan as proof.

::

    bound  = fewest brokers that can hold everything within the target, wherever replicas are placed, with no more new
             ones than that takes; none is one that other programs alone fill beyond it
    choice = fewest that can within target / (1 + tolerance), which leaves the planner its band
    plan   = drain all others, or add the missing ones; if a broker ends above the target, one more broker
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import numpy as np

from kafkabal.errors import ConfigError, InfeasibleError
from kafkabal.inspection import BrokerSizing, filled_by_others, least_brokers, size_brokers
from kafkabal.model import Bools, ClusterState, broker_capacity_bytes, foreign_of_brokers, replica_bytes
from kafkabal.plan import Plan, apply_plan, plan_copy_s
from kafkabal.planner import NewBroker, PlanOptions, WhatIf, make_plan, suppose

_MOST_TRIES: Final = 6
"""Plans to try before giving up; with whole replicas a second one is seldom needed."""
_STEP: Final = 0.97
"""Factor that lowers the target for the second try, a little less than one broker of thirty. It is squared from try to
try, because with replicas nearly as large as a broker, half as many brokers again are needed."""
_ROUNDING: Final = 0.005
"""Half a percent of a disk: a whole replica is more than that, and operators state targets in percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAdvice:
    """How many brokers a cluster needs."""

    live: int
    bound: int | None = None
    """No fewer can hold everything within the target with as few new ones as the plan adds; None where capacities are
    unknown."""
    suffices: int | None = None
    """This many suffice, as a plan proves; None if no plan ends within the target."""
    drain: tuple[int, ...] = ()
    add: tuple[NewBroker, ...] = ()
    """Brokers to add, under unused ids, by which warnings name them."""
    dead: tuple[int, ...] = ()
    """Dead brokers whose replicas the plan places on others."""
    filled_by_others: tuple[int, ...] = ()
    """Live brokers that other programs alone fill beyond the target: with them no number of brokers is enough."""
    fullest_before: float = 0.0
    fullest_after: float | None = None
    moved_bytes: int = 0
    duration_s: float = 0.0
    bytes_per_s: float = 0.0
    """The rate that the duration is for."""
    warnings: tuple[str, ...] = ()


def advise_brokers(state: ClusterState, target: float, tolerance: float, bytes_per_s: float) -> BrokerAdvice:
    """Advise on the number of brokers.

    Parameters
    ----------
    target
        Maximum fraction used of the fullest broker, including other programs.
    tolerance
        Tolerance of the plan.
    bytes_per_s
        Bytes per second that every broker may send and receive for the plan.
    """
    live = state.brokers.is_live
    advice = BrokerAdvice(
        live=int(live.sum()),
        filled_by_others=tuple(state.brokers.id[live & filled_by_others(state, target)].tolist()),
        fullest_before=_fullest(state),
    )
    try:
        advice = replace(advice, bound=size_brokers(state, target).bound)
        return _shown_by_plan(state, advice, target, tolerance, bytes_per_s)
    except ConfigError as error:
        return replace(advice, warnings=(f"number of brokers: {error.message}",))


def _shown_by_plan(
    state: ClusterState, advice: BrokerAdvice, target: float, tolerance: float, bytes_per_s: float
) -> BrokerAdvice:
    aim, step = target / (1 + tolerance), _STEP
    tried: BrokerSizing | None = None
    for _ in range(_MOST_TRIES):
        sizing = size_brokers(state, aim)
        aim, step = aim * step, step**2
        if sizing == tried:
            continue
        tried = sizing
        try:
            new = _new_brokers(state, sizing)
            plan, after = _planned(state, sizing, new, tolerance)
        except InfeasibleError as error:
            advice = replace(advice, warnings=(error.message,))
            continue
        kept = ~np.isin(after.brokers.id, sizing.drain)
        fullest = _fullest(after, kept)
        if fullest <= target + _ROUNDING:
            return replace(
                advice,
                # the planner needs room for its band, and so perhaps more new ones than the fewest
                bound=least_brokers(state, target, len(sizing.add)),
                suffices=sizing.count,
                drain=sizing.drain,
                add=new,
                dead=_left_by_plan(state, plan),
                fullest_after=fullest,
                moved_bytes=plan.moved_bytes,
                duration_s=plan_copy_s(plan.partitions, bytes_per_s),
                bytes_per_s=bytes_per_s,
                warnings=plan.warnings,
            )
    return advice


def _new_brokers(state: ClusterState, sizing: BrokerSizing) -> tuple[NewBroker, ...]:
    taken = set(state.brokers.id.tolist())
    free = (broker for broker in count() if broker not in taken)
    return tuple(
        NewBroker(id=broker, rack=_rack(state, z), capacity_bytes=sizing.added_bytes)
        for z, broker in zip(sizing.add, free, strict=False)
    )


def _planned(
    state: ClusterState, sizing: BrokerSizing, new: tuple[NewBroker, ...], tolerance: float
) -> tuple[Plan, ClusterState]:
    grown, options = suppose(state, PlanOptions(tolerance=tolerance), WhatIf(add=new, remove=frozenset(sizing.drain)))
    plan = make_plan(grown, options)
    return plan, apply_plan(grown, plan)


def _left_by_plan(state: ClusterState, plan: Plan) -> tuple[int, ...]:
    """Dead brokers that lose replicas to others."""
    left = {broker for change in plan.partitions for broker in change.to_remove}
    return tuple(sorted(left.intersection(state.brokers.id[~state.brokers.is_live].tolist())))


def _rack(state: ClusterState, row: int) -> str | None:
    return state.racks[row] if 0 <= row < len(state.racks) else None


def _fullest(state: ClusterState, rows: Bools | None = None) -> float:
    """Fraction used of the fullest live broker, including other programs."""
    held = np.bincount(state.replicas.broker, replica_bytes(state), len(state.brokers))
    held = held + np.nan_to_num(foreign_of_brokers(state))
    capacity = broker_capacity_bytes(state)
    counted = state.brokers.is_live & (capacity > 0)
    counted = counted if rows is None else counted & rows
    return float((held[counted] / capacity[counted]).max(initial=0.0))
