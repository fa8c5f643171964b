"""What balance is attainable in a cluster: the load that each broker is due under the placement rules.

A broker is *due* load in proportion to its capacity times its fair utilisation over the mean. If no rule binds, that is
exactly the capacity. Everything that compares loads divides by what is due, so that one place decides what is fair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.model import (
    F64,
    I32,
    I64,
    Bools,
    ClusterState,
    lasting_factor,
    rack_numbers,
    room_for_replicas,
    takes_replicas,
    volume_limit_bytes,
)
from kafkabal.scoring.fair_utilisation import HolderColumns, fair_utilisation
from kafkabal.scoring.score_parts import Parts

_DIGITS = 12
"""Digits of a share: loads summed in another order then give the same bands, whose edges are whole numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedLimits:
    """The most that a user allows on each broker, arrays of shape (n_brokers,), infinite where nothing is limited."""

    bytes: F64
    """Bytes of all replicas."""
    replicas: F64
    """Replicas of movable partitions, as many as fit beside the others, by both their number and their bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rules:
    """The rules that constrain placement in a cluster."""

    movable: Bools
    """shape (n_partitions,): replicas and leadership of the partition may move to other brokers."""
    ignored: Bools
    """shape (n_partitions,): internal and not to be balanced: counts are balanced as if the topic did not exist."""
    factor: I32
    """shape (n_partitions,): target number of replicas of each partition."""
    takes: Bools
    """shape (n_brokers,): may receive replicas; a broker that may not keeps at most what it has."""
    may_lead_more: Bools
    """shape (n_brokers,): may take over leadership; a broker that may not leads at most what it leads."""
    leaves: Bools
    """shape (n_brokers,): dead or drained: its replicas go to other brokers."""
    rack: I32
    """shape (n_brokers,): brokers of one rack have equal numbers."""
    room_bytes: F64
    """shape (n_brokers,): most replica bytes that the broker's log dirs may hold; infinite if unknown."""
    volume_limit_bytes: F64
    """shape (n_dirs,): most replica bytes that the volume of each log dir may hold; infinite if unknown."""
    asked: AskedLimits | None = None
    """What the user allows, if that is limited."""


def rules_of(state: ClusterState, drained: Bools | None = None) -> Rules:
    """The rules that hold by default: internal topics stay where they are.

    Replicas in flight count as movable: they are there only temporarily.

    Parameters
    ----------
    drained
        bool, shape (n_brokers,): brokers to be emptied.
    """
    leaves = ~state.brokers.is_live if drained is None else ~state.brokers.is_live | drained
    internal = state.topics.internal[state.partitions.topic]
    return Rules(
        movable=~internal,
        ignored=internal,
        factor=lasting_factor(state),
        takes=takes_replicas(state, leaves),
        may_lead_more=np.ones(len(state.brokers), np.bool_),
        leaves=leaves,
        rack=rack_numbers(state),
        room_bytes=room_for_replicas(state, DEFAULT_LOG_DIR_LIMIT),
        volume_limit_bytes=volume_limit_bytes(state, DEFAULT_LOG_DIR_LIMIT),
    )


def largest_sums(loads: F64, number: F64) -> F64:
    """The most that so many of some loads add up to; infinite for an infinite number."""
    sums = np.concatenate(([0.0], np.cumsum(np.sort(loads)[::-1])))
    return np.where(np.isinf(number), np.inf, sums[np.clip(number, 0, len(loads)).astype(np.int64)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlaceableLoads:
    """The load of one score, summed up to what the fair loads depend on."""

    capacity: F64
    """shape (n_brokers,)."""
    counted: Bools
    """shape (n_brokers,): whether the broker has a fair share."""
    rack: I32
    """shape (n_brokers,)."""
    each: Mapping[int, float]
    """By replication factor: the load of one replica of each movable partition, summed."""
    fixed: F64
    """shape (n_brokers,): load that cannot move."""
    most: F64
    """shape (n_brokers,): most load that may be placed on a broker on top of its fixed load."""
    on_top: F64
    """shape (n_brokers,): load that other brokers do not compensate for; it is added to the fair load computed without
    it."""
    asked: F64 | None = None
    """shape (n_brokers,): :attr:`most` by the limits of a user, which are exceeded where nothing else is possible."""

    def due(self) -> F64:
        """What brokers are due, in proportion.

        Returns
        -------
        float64, shape (n_brokers,)
            Sums to the same as the capacity over all counted brokers; 0 for a broker on which no load may be placed.
            The capacity array itself if no rule binds.
        """
        rows = np.flatnonzero(self.counted)
        if not rows.size:
            return self.capacity
        holders = HolderColumns(
            rack=self.rack[rows],
            capacity=self.capacity[rows],
            fixed=self.fixed[rows],
            most=self.most[rows],
            asked=None if self.asked is None else self.asked[rows],
        )
        fair = fair_utilisation(holders, self.each)
        on_top = self.on_top[rows] / self.capacity[rows]
        if on_top.any():
            fair = (self._mean(rows) if fair is None else fair) + on_top
        return _due(self.capacity, rows, fair)

    def _mean(self, rows: I64) -> float:
        placed = sum(min(factor, len(rows)) * load for factor, load in self.each.items())
        return (placed + float(self.fixed[rows].sum())) / float(self.capacity[rows].sum())


def placeable_loads(
    parts: Parts,
    load: F64,
    state: ClusterState,
    counted: Bools,
    rules: Rules,
    *,
    of_bytes: bool = False,
    is_number: bool = False,
) -> PlaceableLoads:
    """Sum up the load of a score without groups.

    Parameters
    ----------
    load
        float64, shape (n_brokers,): load of each broker.
    counted
        bool, shape (n_brokers,): whether the broker has a fair share.
    of_bytes
        The load is in bytes on disk, so that the log dirs limit it.
    is_number
        The load is a number of replicas or leaders. Kafka creates internal topics on first use, and a run creates the
        topic of its record: if other brokers compensated for those, a balanced cluster would not stay balanced.
    """
    on_top = np.zeros(len(load))
    if is_number and rules.ignored.any():
        on_top = np.where(counted, _carried_by(rules.ignored, parts, state), 0.0)
        parts, load = without(rules.ignored, parts, state), load - on_top
    found = _Loads(parts, load, state, counted, rules)
    fixed = found.fixed()
    most, asked = found.most(), None
    if rules.asked is not None:
        asked = found.asked(rules.asked.replicas)
        if of_bytes:
            asked = np.minimum(asked, np.maximum(rules.asked.bytes - fixed, 0.0))
    if of_bytes:
        most = np.minimum(most, np.maximum(rules.room_bytes - fixed, 0.0))
    return PlaceableLoads(
        capacity=parts.capacity,
        counted=counted,
        rack=rules.rack,
        each=found.each(fixed),
        fixed=fixed,
        most=most,
        on_top=on_top,
        asked=asked,
    )


def _carried_by(partitions: Bools, parts: Parts, state: ClusterState) -> F64:
    """float64, shape (n_brokers,): load of each broker from the replicas and leaders of some partitions."""
    n, leader = len(parts.base_load), state.partitions.leader
    rows = np.flatnonzero(partitions[state.replicas.partition])
    led = np.flatnonzero(partitions & (leader >= 0))
    carried = np.bincount(state.replicas.broker[rows], parts.replica_load[rows], n)
    return np.asarray(carried + np.bincount(leader[led], parts.leader_load[led], n))


def without(partitions: Bools, parts: Parts, state: ClusterState) -> Parts:
    """The same parts, with the load of some partitions set to 0."""
    return replace(
        parts,
        replica_load=np.where(partitions[state.replicas.partition], 0.0, parts.replica_load),
        leader_load=np.where(partitions, 0.0, parts.leader_load),
    )


def due_within_groups(capacity: F64, counted: Bools, group: I32, load: F64, fixed: F64, most: F64) -> F64:
    """What holders are due of the load of their own group, in proportion, such as the log dirs of each broker.

    Parameters
    ----------
    load
        float64, shape (n_holders,): load of each holder.
    fixed
        float64, shape (n_holders,): the part of it that cannot move; the rest may go to any holder of the group.
    most
        float64, shape (n_holders,): most load that each holder may have.

    Returns
    -------
    float64, shape (n_holders,)
        The capacity itself, except for groups in which a holder's fixed load exceeds the mean, or the mean exceeds what
        it may have.
    """
    in_group, of_capacity = (np.bincount(group[counted], column[counted]) for column in (load, capacity))
    is_bound = np.zeros(len(capacity), np.bool_)
    own = group[counted]
    mean = in_group[own] * capacity[counted]
    keeps_more = fixed[counted] * of_capacity[own] > mean
    is_bound[counted] = keeps_more | (most[counted] * of_capacity[own] < mean)
    due = capacity
    for g in np.unique(group[is_bound]).tolist():
        rows = np.flatnonzero(counted & (group == g))
        alone, placeable = np.arange(len(rows), dtype=np.int32), np.maximum(most - fixed, 0.0)[rows]
        holders = HolderColumns(rack=alone, capacity=capacity[rows], fixed=fixed[rows], most=placeable)
        may_move = max(0.0, float((load[rows] - fixed[rows]).sum()))
        due = _due(due, rows, fair_utilisation(holders, {1: may_move}))
    return due


def due_of_factors(capacity: F64, counted: Bools, rules: Rules) -> dict[int, F64]:
    """By replication factor: what brokers are due of the replicas of partitions with that factor, in proportion.

    For scores taken within topics. A topic's partitions share one factor, and that alone decides what is fair for the
    topic. Float64, shape (n_brokers,) each, as :meth:`PlaceableLoads.due` says.
    """
    rows = np.flatnonzero(counted)
    found: dict[int, F64] = {}
    if not rows.size:
        return found
    takes = rules.takes[rows] | ~rules.takes[rows].any()
    free = HolderColumns.free(rules.rack[rows], capacity[rows])
    limited = replace(free, most=np.where(takes, np.inf, 0.0), asked=_asked_of_each(rules, rows))
    is_bound = limited.asked is not None or not takes.all()
    for factor in _factors(rules.factor[rules.movable]).tolist():
        everywhere, *within_limits = (
            _due(capacity, rows, fair_utilisation(holders, {factor: 1.0}))
            for holders in ((free, limited) if is_bound else (free,))
        )
        # data on brokers that may not receive any is not in excess there
        found[factor] = np.maximum(everywhere, within_limits[0]) if within_limits else everywhere
    return found


def _asked_of_each(rules: Rules, rows: I64) -> F64 | None:
    """What a user allows of every movable partition, if replicas of all are allowed alike, as a fraction of one."""
    return None if rules.asked is None else rules.asked.replicas[rows] / max(1, int(rules.movable.sum()))


def _factors(factor: I32) -> I64:
    """The replication factors above 0 in use, ascending; sorting a million of them would take ten times as long."""
    found = np.bincount(factor)
    found[:1] = 0
    return np.flatnonzero(found)


def _due(capacity: F64, rows: I64, utilisation: F64 | None) -> F64:
    if utilisation is None:
        return capacity
    mean = float((utilisation * capacity[rows]).sum()) / float(capacity[rows].sum())
    due = capacity.copy()
    due[rows] = np.round(utilisation / (mean or 1.0), _DIGITS) * capacity[rows]
    return due


class _Loads:
    """The load of a score, divided into fixed and movable load."""

    def __init__(self, parts: Parts, load: F64, state: ClusterState, counted: Bools, rules: Rules) -> None:
        self.parts, self.load, self.cluster, self.counted, self.rules = parts, load, state, counted, rules
        leader = state.partitions.leader
        self.leads: Bools = rules.movable & (leader >= 0) & counted[leader]

    def fixed(self) -> F64:
        """float64, shape (n_brokers,): base load plus the replicas and leaders of partitions that cannot move."""
        fixed = np.where(self.counted, self.parts.base_load, 0.0)
        if self.rules.movable.all():
            return fixed
        return np.where(self.counted, fixed + _carried_by(~self.rules.movable, self.parts, self.cluster), 0.0)

    def most(self) -> F64:
        """float64, shape (n_brokers,): most that may be placed; a closed broker may keep what it has, and lead all of
        it unless it is excluded from leadership."""
        closed = self.counted & ~self.rules.takes
        most = np.full(len(closed), np.inf)
        if closed.any():
            r = self.cluster.replicas
            rows = np.flatnonzero(closed[r.broker] & self.rules.movable[r.partition])
            led = np.where(self.leads, np.maximum(self.parts.leader_load, 0.0), 0.0)
            p, b = r.partition[rows], r.broker[rows]
            may_lead = self.rules.may_lead_more[b] | (self.cluster.partitions.leader[p] == b)
            could = self.parts.replica_load[rows] + np.where(may_lead, led[p], 0.0)
            most[closed] = np.bincount(r.broker[rows], could, len(closed))[closed]
        return most

    def asked(self, replicas: F64) -> F64:
        """float64, shape (n_brokers,): most that so many replicas can carry, leadership included."""
        r, each = self.cluster.replicas, np.zeros(len(self.leads))
        np.maximum.at(each, r.partition, self.parts.replica_load)
        each += np.where(self.leads, np.maximum(self.parts.leader_load, 0.0), 0.0)
        return largest_sums(each[self.rules.movable], replicas)

    def each(self, fixed: F64) -> dict[int, float]:
        """By replication factor: the load of one replica of each movable partition, summed."""
        free = max(0.0, float(self.load[self.counted].sum() - fixed[self.counted].sum()))
        led = float(self.parts.leader_load[self.leads].sum())
        if led <= 0:
            led = 0.0
        n = max(1, int(self.counted.sum()))
        found = {factor: load / min(factor, n) for factor, load in self._by_factor(free - led).items()}
        if led:
            found[1] = found.get(1, 0.0) + led
        return found

    def _by_factor(self, free: float) -> dict[int, float]:
        """Replica loads by the number of replicas that a partition has on counted brokers."""
        factor = self._factor()
        present = _factors(factor[self.rules.movable])
        if len(present) <= 1:
            return dict.fromkeys(present.tolist(), max(0.0, free))
        r = self.cluster.replicas
        here = self.counted[r.broker] & self.rules.movable[r.partition]
        sums = np.bincount(factor[r.partition], np.where(here, self.parts.replica_load, 0.0), int(present[-1]) + 1)
        total = float(sums[present].sum())
        # if leaders carry less than followers, the difference is spread over all replicas
        scale = max(0.0, free) / total if total > 0 else 0.0
        return {int(f): float(sums[f]) * scale for f in present}

    def _factor(self) -> I32:
        """int32, shape (n_partitions,): number of replicas to place on counted brokers."""
        elsewhere = ~self.counted & ~self.rules.leaves
        r = self.cluster.replicas
        if not elsewhere.any():
            return self.rules.factor
        stays = elsewhere[r.broker] & ~r.removing
        stuck = np.bincount(r.partition[stays], minlength=len(self.rules.factor))
        left: I32 = np.maximum(self.rules.factor - stuck, 0).astype(np.int32)
        return left
