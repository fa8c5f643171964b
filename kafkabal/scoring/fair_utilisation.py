"""The most even utilisation that the hard rules allow: the fair load of each holder.

Racks, replication factors, fixed loads and limited room can make equal utilisation impossible: with two racks and two
replicas, each rack holds half of the data, however many brokers it has. The *fair* utilisation of a holder is its own
in the leximin fractional placement: the largest utilisation is as small as possible, then the second largest, and so
on.

Method. A partition with ``r`` replicas is on ``r`` distinct holders in ``min(r, R)`` of the ``R`` racks. Of its
replicas at most ``min(k, r)`` (``r <= R``) or ``min(m, k + r - R)`` (``r > R``) are on ``m`` holders in ``k`` racks:
the rank function of a matroid. The loads that holders can have are therefore the bases of a polymatroid of rank

    F(m, k) = sum over partitions of  load of one replica x min(...)

and the leximin one of these, relative to capacities, is found by Fujishige's decomposition::

    h(u) = min over sets S of holders:  F(S) + fixed load on S - u x capacity of S
    the fair utilisation of a holder is the lowest u above which it is in the minimiser S

``h`` is the lower envelope of one line per set; its breakpoints are found by intersecting two known lines and looking
for one below the intersection (Eisner and Severance). For one ``u`` the minimiser is found rack by rack: each
replication factor charges either a constant plus an amount per rack, or an amount per holder. Two thresholds decide
which of them charges how, so that only a handful of combinations has to be tried.

Sources: S. Fujishige, Lexicographically optimal base of a polymatroid with respect to a weight vector, Math. Oper. Res.
5 (1980); M. J. Eisner and D. G. Severance, Mathematical techniques for efficient record segmentation in large shared
databases, J. ACM 23 (1976). Proof: ``docs/adr/0007-fair-means-attainable.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I32, I64, Bools

_ROUNDING = 1e-12
"""Fraction of the total load by which two sums of the same loads in different order may differ (2^-53 x 10,000
terms)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HolderColumns:
    """The holders on which a load may be placed; arrays of shape (n_holders,)."""

    rack: I32
    """Holders of one rack have equal numbers."""
    capacity: F64
    """> 0."""
    fixed: F64
    """Load that cannot move, 0 or more."""
    most: F64
    """Most load that may be placed here; infinite if unlimited."""
    asked: F64 | None = None
    """The same by the limits that a user sets, if any: raised as little as possible if the loads fit no other way."""

    @staticmethod
    def free(rack: I32, capacity: F64) -> HolderColumns:
        """Empty holders, limited only by their racks."""
        n = len(capacity)
        return HolderColumns(rack=rack, capacity=capacity, fixed=np.zeros(n), most=np.full(n, np.inf))

    def unlimited(self) -> HolderColumns:
        """The same holders without limits."""
        return replace(self, most=np.full(len(self.capacity), np.inf), asked=None)

    def limits(self) -> F64:
        """Float64, shape (n_holders,): most load that may be placed by all limits."""
        return self.most if self.asked is None else np.minimum(self.most, self.asked)


def fair_utilisation(holders: HolderColumns, each: Mapping[int, float]) -> F64 | None:
    """Utilisation of each holder in the leximin placement of all loads.

    Parameters
    ----------
    each
        By replication factor (1 or more): the load of one replica of each partition with that factor, summed. A
        partition with more replicas than there are holders has one on each.

    Returns
    -------
    float64, shape (n_holders,)
        None if all utilisations can be equal: each is then the total load over the total capacity. If limits and racks
        leave no room for all loads, a user's limits are raised as little as possible; if that does not suffice, limits
        are ignored, and racks at last.
    """
    if not len(holders.capacity):
        return None
    search = _Search(holders, each)
    if holders.asked is not None and not search.fits_everything():
        search = _Search(replace(holders, asked=_raised(holders, holders.asked, each)), each)
    if not search.fits_everything():
        search = _Search(holders.unlimited(), each)
    return search.levels()


def _raised(holders: HolderColumns, limits: F64, each: Mapping[int, float]) -> F64:
    """Raise the limits of a user, one after the other, by no more than lets further loads be placed.

    What can be placed under limits is the rank of a polymatroid, so this greedy order exceeds them by the least sum.
    """
    asked = limits.copy()
    placed = _Search(holders, each).most_placed()
    for holder in np.flatnonzero(limits < holders.most).tolist():
        asked[holder] = np.inf
        gained = _Search(replace(holders, asked=asked), each).most_placed() - placed
        asked[holder], placed = limits[holder] + gained, placed + gained
    return asked


class _Costs(NamedTuple):
    """The ways in which the classes may charge a set of holders, one entry each; a set costs the least of them."""

    constant: F64
    a_rack: F64
    a_holder: F64


def _costs(each: Mapping[int, float], n_racks: int, n_holders: int) -> _Costs:
    """All combinations of two thresholds: below its threshold a class is charged as a whole, or by racks."""
    classes: dict[int, float] = {}
    for factor, load in each.items():
        placed = min(factor, n_holders)
        classes[placed] = classes.get(placed, 0.0) + load
    in_racks = sorted((r, load) for r, load in classes.items() if r <= n_racks)
    beyond = sorted((r - n_racks, load) for r, load in classes.items() if r > n_racks)
    constant, a_rack, a_holder = [], [], []
    for i in range(len(in_racks) + 1):
        for j in range(len(beyond) + 1):
            constant.append(sum(r * load for r, load in in_racks[:i]) + sum(more * load for more, load in beyond[:j]))
            a_rack.append(sum(load for _, load in in_racks[i:]) + sum(load for _, load in beyond[:j]))
            a_holder.append(sum(load for _, load in beyond[j:]))
    return _Costs(np.array(constant), np.array(a_rack), np.array(a_holder))


class _Line(NamedTuple):
    """What a set of holders costs at any utilisation ``u``: ``load - u x capacity``."""

    inside: Bools
    load: float
    capacity: float

    def at(self, utilisation: float) -> float:
        return self.load - utilisation * self.capacity


class _Search:
    """Searches for the breakpoints of the lower envelope."""

    def __init__(self, holders: HolderColumns, each: Mapping[int, float]) -> None:
        _, rack = np.unique(holders.rack, return_inverse=True)
        self.order: I64 = np.argsort(rack, kind="stable")
        self.first: I64 = np.flatnonzero(np.diff(rack[self.order], prepend=-1))
        self.rack: I64 = rack[self.order]
        self.capacity, self.fixed = holders.capacity[self.order], holders.fixed[self.order]
        self.most = np.maximum(holders.limits()[self.order], 0.0)
        self.costs = _costs(each, len(self.first), len(rack))
        self.placed = sum(min(factor, len(rack)) * load for factor, load in each.items())
        self.rounding = _ROUNDING * (self.placed + float(self.fixed.sum()))

    def fits_everything(self) -> bool:
        """Whether all loads fit."""
        return self.most_placed() >= self.placed - self.rounding

    def most_placed(self) -> float:
        """Most load that fits."""
        return self.cost(np.ones(len(self.rack), np.bool_))

    def levels(self) -> F64 | None:
        """Utilisations in the given order of holders; None if all are equal."""
        n = len(self.rack)
        none, every = np.zeros(n, np.bool_), np.ones(n, np.bool_)
        lines = [(_Line(none, 0.0, 0.0), self.line(every))]
        found = np.zeros(n)
        while lines:
            below, above = lines.pop()
            at = (above.load - below.load) / (above.capacity - below.capacity)
            between = self.lowest(at, below, above)
            if between is None:
                if not below.inside.any() and above.inside.all():
                    return None
                found[above.inside & ~below.inside] = at
            else:
                lines += [(below, between), (between, above)]
        levels = np.empty(n)
        levels[self.order] = found
        return levels

    def lowest(self, at: float, below: _Line, above: _Line) -> _Line | None:
        """The lowest line at a utilisation, if it is below the intersection of the two given ones."""
        weight = at * self.capacity - self.fixed
        placed = np.minimum(weight, self.most)
        gain = np.maximum(placed - self.costs.a_holder[:, None], 0.0)
        of_rack = np.add.reduceat(gain, self.first, axis=1) - self.costs.a_rack[:, None]
        best = int((self.costs.constant - np.maximum(of_rack, 0.0).sum(1)).argmin())
        inside = ((of_rack[best] > 0)[self.rack] & (gain[best] > 0)) | (weight > self.most)
        # in exact arithmetic minimisers are nested; rounding at a tie must not break that
        line = self.line((inside & above.inside) | below.inside)
        is_new = below.capacity < line.capacity < above.capacity
        return line if is_new and line.at(at) < above.at(at) - self.rounding else None

    def line(self, inside: Bools) -> _Line:
        """The line of a set."""
        load = self.cost(inside) + float(self.fixed[inside].sum())
        return _Line(inside, load, float(self.capacity[inside].sum()))

    def cost(self, inside: Bools) -> float:
        """Most load that fits on a set: of each rack as much as its limits admit or its classes supply."""
        limits = np.add.reduceat(np.where(inside, self.most, 0.0), self.first)
        by_holder = np.where(inside, np.minimum(self.costs.a_holder[:, None], self.most), 0.0)
        by_rack = np.add.reduceat(by_holder, self.first, axis=1) + self.costs.a_rack[:, None]
        return float((self.costs.constant + np.minimum(by_rack, limits).sum(1)).min())
