"""Computes weights of partitions under which every broker gets what it lacks to its fair share.

Let w be the part of the traffic that each partition gets. After ``horizon`` more bytes, the load of a holder is linear
in w (see :mod:`kafkabal.routing.marginal_load`), and so is its share of the mean. The weights minimise::

    sum over scores of weight x mean over holders of (share - 1)^2  +  0.001 x mean over partitions of (w / even - 1)^2

subject to sum w = 1 and lower and upper bounds for each w. Method: accelerated projected gradient (Beck and Teboulle
2009), started from the current weights.

The horizon decides how aggressively an imbalance is corrected: the shorter it is, the more traffic goes to the holders
that lack most. It must cover at least what is written before the next measurement, or the correction overshoots.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.routing.routing_view import RoutingView

if TYPE_CHECKING:  # listing policies must not import scoring
    from kafkabal.routing.marginal_load import MarginalLoad

_MAX_ITERATIONS = 200
"""Limit for cases that converge slowly: normally the loop stops once the weights are close enough."""
# weight of even w where the scores do not care, as with followers placed round-robin. 1e-4 changes ten of 144
# imbalanced workloads of benchmarks/routing_constants.py, as many for better as for worse; with 1e-2, 22 of them end up
# to 1% less balanced and four up to 0.6% more, and three of the 20 published ones up to 0.6% less (2026-11)
_REGULARISATION = 1e-3
_MAX_SHIFTS = 100
"""Bisecting a bracket of float64 ends after 53 steps, and the Newton steps in between only shorten it."""
_SUM_TOLERANCE = 1e-12
"""Relative to the sum of the weights, which is 1: a few times the rounding error of adding 1,000 of them."""


class FairWeights:
    """Computes the weights that balance the loads of a view, repeatedly as bytes are written.

    Parameters
    ----------
    view
        Whatever depends only on it is computed once.

    Raises
    ------
    OperationError
        If no partition has a leader.
    """

    def __init__(self, view: RoutingView) -> None:
        self.view = view
        n_available = len(view.available)
        self.available: F64 = (view.leader >= 0).astype(np.float64)
        """float64, shape (n_partitions,): 1 for every partition that has a live leader, 0 for the others."""
        self.even: F64 = self.available / n_available
        """float64, shape (n_partitions,): the same weight for every available partition."""
        self._score_replicas = [r for p in view.marginal_loads if (r := _ScoreReplicas.of(p, view)) is not None]

    def weights(
        self, written_bytes: F64, horizon_bytes: float, start: F64, low: F64, high: F64, close_enough: float
    ) -> F64:
        """Weights for what is written from now on.

        Parameters
        ----------
        written_bytes
            float64, shape (n_partitions,): bytes that were written and that the view does not show.
        horizon_bytes
            Bytes of one replica, > 0, after which the shares are to be equal.
        start
            float64, shape (n_partitions,): current weights, summing to 1; > 0 for available partitions, 0 for the
            others.
        low, high
            float64, shape (n_partitions,): bounds; ``low <= start <= high`` need not hold, but some weights within the
            bounds must sum to 1.
        close_enough
            > 0; the search stops when a step changes no weight by this fraction of an even share.
        """
        weights = _project_onto_simplex(start, low, high)
        if not self._score_replicas:
            return weights
        terms = [replicas.term(written_bytes, horizon_bytes, start) for replicas in self._score_replicas]
        tolerance = close_enough / len(weights)
        regularisation = _REGULARISATION * sum(term.gradient_and_curvature(weights)[1] for term in terms)
        extrapolated, momentum = weights, 1.0
        for _ in range(_MAX_ITERATIONS):
            gradient, curvature = regularisation * (extrapolated - self.even) * self.available, regularisation
            for term in terms:
                term_gradient, term_curvature = term.gradient_and_curvature(extrapolated)
                gradient, curvature = gradient + term_gradient, curvature + term_curvature
            next_weights = _project_onto_simplex(extrapolated - gradient / curvature, low, high)
            change = float(np.abs(next_weights - weights).max())
            if change < tolerance:
                return next_weights
            next_momentum = (1 + sqrt(1 + 4 * momentum**2)) / 2
            extrapolated = next_weights + (momentum - 1) / next_momentum * (next_weights - weights)
            weights, momentum = next_weights, next_momentum
        return weights


@dataclass(frozen=True, slots=True, eq=False)
class _ScoreReplicas:
    """The replicas through which the topic can load the holders of a score; the same for all weights."""

    marginal: MarginalLoad
    replica_partition: I32
    """By replica of the topic."""
    leads: tuple[I64, I64]
    """Holder and partition of each leader replica; none if no load follows the traffic."""
    does_lead: Bools
    """By replica that counts."""
    partition: I64
    """By replica that counts."""
    holder: I64
    """By replica that counts, numbered over the reached holders."""
    per_byte: F64
    per_fraction: F64
    reached: I64
    capacity: F64
    """By reached holder."""
    group: I64
    """By reached holder."""
    group_capacity: F64
    n_partitions: int

    @classmethod
    def of(cls, marginal: MarginalLoad, view: RoutingView) -> _ScoreReplicas | None:
        """None if no replica that may be written to loads a holder that counts."""
        leader = view.leader[view.replica_partition]
        leads = leader == view.replica_broker
        follows = leads & marginal.follows_traffic[marginal.holder]
        adds = marginal.per_byte + marginal.per_fraction + np.where(follows, marginal.load[marginal.holder], 0.0)
        rows = np.flatnonzero((marginal.holder >= 0) & (adds > 0) & (leader >= 0))
        rows = rows[marginal.counted[marginal.holder[rows]]]
        if not rows.size:
            return None
        leading = np.flatnonzero(leads & marginal.follows_traffic.any())
        reached, holder = np.unique(marginal.holder[rows], return_inverse=True)
        capacity = marginal.capacity[reached]
        group = np.unique(marginal.group[reached], return_inverse=True)[1]
        return cls(
            marginal=marginal,
            replica_partition=view.replica_partition,
            leads=(marginal.holder[leading].astype(np.int64), view.replica_partition[leading].astype(np.int64)),
            does_lead=leads[rows],
            partition=view.replica_partition[rows].astype(np.int64),
            holder=holder,
            per_byte=marginal.per_byte[rows],
            per_fraction=marginal.per_fraction[rows],
            reached=reached.astype(np.int64),
            capacity=capacity,
            group=group,
            group_capacity=np.bincount(group, capacity).astype(np.float64),
            n_partitions=view.n_partitions,
        )

    def term(self, written_bytes: F64, horizon_bytes: float, start: F64) -> _Term:
        """The score as a function of the weights from now on."""
        load = self.marginal.load_after(written_bytes, self.replica_partition)
        gain = self.per_byte * horizon_bytes + self.per_fraction
        if self.leads[0].size:
            per_traffic, load = self._split_traffic_load(load, start)
            gain = gain + np.where(self.does_lead, per_traffic[self.reached[self.holder]], 0.0)
        per_weight = gain / self.capacity[self.holder]
        on_holder = np.bincount(self.holder, per_weight)
        return _Term(
            replicas=self,
            gain=per_weight,
            fixed=load[self.reached] / self.capacity,
            coupling=float(np.bincount(self.partition, per_weight * on_holder[self.holder]).max()),
        )

    def _split_traffic_load(self, load: F64, start: F64) -> tuple[F64, F64]:
        """Per unit of traffic, the load that follows a holder's traffic; and the load that the holder has anyway.

        Holders with equal loads count as equally fast. Otherwise a broker that once got little by a wrong measurement
        would get little forever: little traffic and an ordinary latency would look like a slow broker's fair share.
        """
        holder, partition = self.leads
        traffic = np.bincount(holder, start[partition], len(load))
        follows = self.marginal.follows_traffic & (traffic > 0)
        alike = np.unique(load, return_inverse=True)[1]
        mean_traffic = np.bincount(alike, traffic * follows) / np.maximum(np.bincount(alike, follows), 1)
        return np.where(follows, load / np.where(follows, mean_traffic[alike], 1.0), 0.0), np.where(follows, 0.0, load)


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """One score as a function of the weights: utilisation of the holders that the topic can reach."""

    replicas: _ScoreReplicas
    gain: F64
    """Utilisation that each counted replica adds to its holder at weight 1."""
    fixed: F64
    """Utilisation of each holder without those."""
    coupling: float
    """Largest row sum of ``G^T G``, where G has the gain of each partition on each holder."""

    def gradient_and_curvature(self, weights: F64) -> tuple[F64, float]:
        """Gradient of the term, with the mean held constant, and an upper bound of its curvature."""
        replicas = self.replicas
        added = np.bincount(replicas.holder, self.gain * weights[replicas.partition], len(self.fixed))
        utilisation = self.fixed + added
        mean = self._mean(utilisation)
        scale = 2 * replicas.marginal.weight / len(self.fixed)
        by_holder = scale * (utilisation - mean) / mean**2
        gradient = np.bincount(replicas.partition, self.gain * by_holder[replicas.holder], replicas.n_partitions)
        return np.asarray(gradient, np.float64), scale * self.coupling / float(mean.min()) ** 2

    def _mean(self, utilisation: F64) -> F64:
        """Mean utilisation of each holder's group."""
        replicas = self.replicas
        mean = (np.bincount(replicas.group, utilisation * replicas.capacity) / replicas.group_capacity)[replicas.group]
        return np.asarray(np.where(mean > 0, mean, 1.0), np.float64)


def _project_onto_simplex(values: F64, low: F64, high: F64) -> F64:
    """Project onto the weights within their bounds that sum to 1: shift all by the same amount, then clip."""
    below, above = float((values - high).min()), float((values - low).max())
    shift = 0.0
    for _ in range(_MAX_SHIFTS):
        point = np.minimum(np.maximum(values - shift, low), high)  # np.clip takes far longer for so few
        excess = float(point.sum()) - 1
        if abs(excess) < _SUM_TOLERANCE:
            break
        below, above = (shift, above) if excess > 0 else (below, shift)
        # the parts that are not clipped share the excess; a step that leaves the bracket is replaced by bisection
        free = int(((point > low) & (point < high)).sum())
        shift += excess / free if free else np.inf
        if not below < shift < above:
            shift = (below + above) / 2
    return point
