"""Weights of partitions under which every broker gets what it still lacks to its fair share.

Let w be the part of the traffic that each partition gets. After ``horizon`` more bytes the load of a holder is
linear in w (see :mod:`kafkabal.routing.pressure`), and so is its share of the mean. The weights minimise::

    sum over scores of weight x mean over holders of (share - 1)^2  +  0.001 x mean over partitions of (w / even - 1)^2

subject to sum w = 1 and a floor and a ceiling for each w: accelerated projected gradient (Beck and Teboulle 2009),
started from the weights that are in use.

The horizon decides how hard an imbalance is fought: the shorter, the more of the traffic goes to those that lack
most. It must not be shorter than what is written before the next measurement, or the correction overshoots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkabal.model.state import F64, I32
    from kafkabal.routing.pressure import Pressure
    from kafkabal.routing.view import RoutingView

_ITERATIONS = 200
# importance of even weights where the scores do not care, as with followers in a circle
_EVENNESS = 1e-3
_SHIFTS = 100
_EXACT = 1e-12


def fair_weights(view: RoutingView, horizon_bytes: float, start: F64, low: F64, high: F64, close_enough: float) -> F64:
    """Weights that even out the view's pressures.

    Parameters
    ----------
    horizon_bytes
        Bytes of one copy, > 0, over which the shares are to become equal.
    start
        float64, shape (n_partitions,): weights in use, summing to 1; 0 for partitions that are not available.
    low, high
        float64, shape (n_partitions,): bounds; ``low <= start <= high`` need not hold, but some weights within the
        bounds must sum to 1.
    close_enough
        Weights of which a step changes none by so much of an even share are left, > 0.
    """
    terms = [t for p in view.pressures if (t := _Term.of(p, view, horizon_bytes, start)) is not None]
    weights = _onto_simplex(start, low, high)
    if not terms:
        return weights
    available = view.leader >= 0
    even = available / available.sum()
    evenness = 2 * _EVENNESS / available.sum() / even.max() ** 2
    tolerance = close_enough / len(weights)
    ahead, momentum = weights, 1.0
    for _ in range(_ITERATIONS):
        gradient, steepness = evenness * (ahead - even) * available, evenness
        for term in terms:
            pull, steep = term.slope(ahead)
            gradient, steepness = gradient + pull, steepness + steep
        following = _onto_simplex(ahead - gradient / steepness, low, high)
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = following + (momentum - 1) / next_momentum * (following - weights)
        change = float(np.abs(following - weights).max())
        weights, momentum = following, next_momentum
        if change < tolerance:
            break
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """One score as a function of the weights: utilisation of the holders that the topic can reach."""

    importance: float
    partition: I32
    """Of each replica that counts."""
    holder: I32
    """Of each replica, numbered over the holders that are reached."""
    gain: F64
    """Utilisation that each replica adds to its holder at weight 1."""
    fixed: F64
    capacity: F64
    group: I32
    n_partitions: int
    coupling: float
    """Largest row sum of ``G^T G``, where G is the gain of each partition on each holder."""

    @classmethod
    def of(cls, pressure: Pressure, view: RoutingView, horizon_bytes: float, start: F64) -> _Term | None:
        gain, load = _gain_and_load(pressure, view, horizon_bytes, start)
        rows = np.flatnonzero((pressure.holder >= 0) & (gain > 0) & (view.leader[view.replica_partition] >= 0))
        rows = rows[pressure.counted[pressure.holder[rows]]]
        if not rows.size:
            return None
        reached, holder = np.unique(pressure.holder[rows], return_inverse=True)
        capacity = pressure.capacity[reached]
        partition, per_weight = view.replica_partition[rows], gain[rows] / capacity[holder]
        on_holder = np.bincount(holder, per_weight)
        return cls(
            importance=pressure.weight,
            partition=partition,
            holder=holder.astype(np.int32),
            gain=per_weight,
            fixed=load[reached] / capacity,
            capacity=capacity,
            group=np.unique(pressure.group[reached], return_inverse=True)[1].astype(np.int32),
            n_partitions=view.n_partitions,
            coupling=float(np.bincount(partition, per_weight * on_holder[holder]).max()),
        )

    def utilisation(self, weights: F64) -> F64:
        added = np.bincount(self.holder, self.gain * weights[self.partition], len(self.fixed))
        return np.asarray(self.fixed + added, np.float64)

    def mean(self, utilisation: F64) -> F64:
        """Mean utilisation of each holder's group."""
        load = np.bincount(self.group, utilisation * self.capacity)
        mean = (load / np.bincount(self.group, self.capacity))[self.group]
        return np.asarray(np.where(mean > 0, mean, 1.0), np.float64)

    def slope(self, weights: F64) -> tuple[F64, float]:
        """Gradient of the term, the mean taken as given, and an upper bound of its curvature."""
        utilisation = self.utilisation(weights)
        mean = self.mean(utilisation)
        scale = 2 * self.importance / len(self.fixed)
        pull = scale * (utilisation - mean) / mean**2
        gradient = np.bincount(self.partition, self.gain * pull[self.holder], self.n_partitions)
        return np.asarray(gradient, np.float64), scale * self.coupling / float(mean.min()) ** 2


def _gain_and_load(pressure: Pressure, view: RoutingView, horizon_bytes: float, start: F64) -> tuple[F64, F64]:
    """What each replica adds to its holder at weight 1, and the load of each holder without that."""
    gain = pressure.per_byte * horizon_bytes + pressure.per_share
    if not pressure.follows_traffic.any():
        return gain, pressure.load
    leads = view.leader[view.replica_partition] == view.replica_broker
    traffic = np.bincount(pressure.holder[leads], start[view.replica_partition[leads]], len(pressure.load))
    follows = pressure.follows_traffic & (traffic > 0)
    per_traffic = np.where(follows, pressure.load / np.where(traffic > 0, traffic, 1.0), 0.0)
    gain = gain + np.where(leads, per_traffic[pressure.holder], 0.0)
    return gain, np.where(follows, 0.0, pressure.load)


def _onto_simplex(values: F64, low: F64, high: F64) -> F64:
    """The nearest point whose parts lie within their bounds and sum to 1: all moved by one shift, then clipped."""
    below, above = float((values - high).min()), float((values - low).max())
    shift = 0.0
    for _ in range(_SHIFTS):
        point = np.minimum(np.maximum(values - shift, low), high)  # np.clip takes far longer for so few
        excess = float(point.sum()) - 1
        if abs(excess) < _EXACT:
            break
        below, above = (shift, above) if excess > 0 else (below, shift)
        # the parts that are not clipped share the excess; a step that leaves the bracket is halved into it
        free = int(((point > low) & (point < high)).sum())
        shift += excess / free if free else np.inf
        if not below < shift < above:
            shift = (below + above) / 2
    return point


def even_weights(available: Iterable[int], n_partitions: int) -> F64:
    """The same weight for every available partition, 0 for the others."""
    weights = np.zeros(n_partitions)
    rows = np.fromiter(available, np.int64)
    weights[rows] = 1 / len(rows)
    return weights
