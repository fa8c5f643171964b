"""A score as routing sees it: what one more byte, or a fraction of the traffic, adds to the load of each holder.

Scores are defined as loads of a whole cluster; a router needs their slope. So each score is evaluated once as it is,
and once with every log of the topic one probe longer and every rate one probe higher; the differences are the slopes. A
score whose load comes from no replica (latency, a broker metric) is assumed to be proportional to the traffic that the
broker leads.

A follower that lags counts as long as the longest copy: it fetches the rest by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kafkabal.model import F64, I32, Bools, ClusterState, replica_bytes
from kafkabal.routing.routing_view import largest_copy
from kafkabal.scoring import (
    Grain,
    Rules,
    Score,
    WeightedScore,
    counted_holders,
    due_of,
    holder_load,
    parts_of,
    rules_of,
)

# a power of two, so that differences of sums of bytes are exact
_PROBE = float(2**20)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginalLoad:
    """A weighted score, linear in the bytes and the traffic of one topic.

    The load of a holder is ``load`` plus the sum over its replicas of ``bytes x per_byte + fraction x per_fraction``,
    for the bytes written to their partitions and the fractions of traffic that these get.
    """

    name: str
    weight: float
    holder: I32
    """int32, shape (n_replicas,): holder of each replica of the topic, -1 if unknown."""
    load: F64
    """float64, shape (n_holders,): load once followers have caught up, without the topic's present traffic."""
    capacity: F64
    """float64, shape (n_holders,): a holder's fair load is proportional to it."""
    counted: Bools
    """bool, shape (n_holders,): whether the holder has a fair share."""
    group: I32
    """int32, shape (n_holders,): shares are computed within a group."""
    per_byte: F64
    """float64, shape (n_replicas,): load that one byte written to the partition adds."""
    per_fraction: F64
    """float64, shape (n_replicas,): load if all of the topic's traffic went to the partition."""
    follows_traffic: Bools
    """bool, shape (n_holders,): the whole load is proportional to the traffic that the holder leads."""

    @property
    def is_moved_by_routing(self) -> bool:
        """False for a score that routing cannot change, such as a count of replicas."""
        return bool(self.per_byte.any() or self.per_fraction.any() or self.follows_traffic.any())

    def after(self, partition_bytes: F64, replica_partition: I32) -> MarginalLoad:
        """The same after ``partition_bytes`` (float64, shape (n_partitions,)) more are written."""
        return replace(self, load=self.load_after(partition_bytes, replica_partition))

    def load_after(self, partition_bytes: F64, replica_partition: I32) -> F64:
        """float64, shape (n_holders,): load after that many more bytes, without the topic's present traffic."""
        placed = self.holder >= 0
        added = self.per_byte[placed] * partition_bytes[replica_partition[placed]]
        return np.asarray(self.load + np.bincount(self.holder[placed], added, len(self.load)), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadsByScore:
    """What a weighted score says of a whole cluster, whichever topic is routed; created by :func:`loads_by_score`."""

    weighted: WeightedScore
    state: ClusterState
    """With a size for every replica."""
    replica_load: F64
    leader_load: F64
    load: F64
    """float64, shape (n_holders,)."""
    capacity: F64
    counted: Bools
    group: I32
    has_base: Bools
    """bool, shape (n_holders,): whether some of its load comes from no replica."""

    def of_topic(self, first: int, end: int) -> MarginalLoad:
        """The slope of the score for the topic whose partitions are rows ``first:end`` of the cluster."""
        state, score = self.state, self.weighted.score
        rows = slice(int(state.partitions.first[first]), int(state.partitions.first[end]))
        now = _loads(self.replica_load, self.leader_load, state, rows)
        per_byte = (_loads_by(score, _grown(state, rows), rows) - now) / _PROBE
        per_rate = (_loads_by(score, _faster(state, first, end), rows) - now) / _PROBE
        rate = np.nan_to_num(state.partitions.in_bytes_per_s[first:end])
        of_replica = state.replicas.partition[rows] - first
        holder = (state.replicas.broker if score.grain is Grain.BROKER else state.replicas.log_dir)[rows]
        placed = holder >= 0
        size = state.replicas.size_bytes[rows]
        missing_bytes = largest_copy(size, of_replica, end - first)[of_replica] - size
        # what followers will fetch, less the topic's present traffic
        change = per_byte * missing_bytes - per_rate * rate[of_replica]
        inert = not (per_byte.any() or per_rate.any())
        return MarginalLoad(
            name=score.name,
            weight=self.weighted.weight,
            holder=holder,
            load=self.load + np.bincount(holder[placed], change[placed], len(self.load)),
            capacity=self.capacity,
            counted=self.counted,
            group=self.group,
            per_byte=per_byte,
            per_fraction=per_rate * float(rate.sum()),
            follows_traffic=np.asarray(self.has_base & inert & (score.grain is Grain.BROKER)),
        )


def loads_by_score(weighted: WeightedScore, state: ClusterState) -> LoadsByScore:
    """Evaluate a score for the whole cluster."""
    score = weighted.score
    known = _with_known_sizes(state)
    parts = parts_of(score, known)
    load = holder_load(score, known, parts)
    return LoadsByScore(
        weighted=weighted,
        state=known,
        replica_load=parts.replica_load,
        leader_load=parts.leader_load,
        load=load,
        capacity=due_of(score, known, parts, _rules_of_what_is_written(known)),
        counted=counted_holders(score, known, parts),
        group=np.zeros(len(load), np.int32) if parts.holder_group is None else parts.holder_group,
        has_base=np.asarray(parts.base_load != 0),
    )


def _rules_of_what_is_written(state: ClusterState) -> Rules:
    """The rules of placement, with internal topics counted like others.

    They stay where they are, but that binds only until more is written than they hold: on a nearly empty cluster their
    few bytes would decide how much every broker gets until the next view.
    """
    everything = np.ones(len(state.partitions), np.bool_)
    return replace(rules_of(state), movable=everything, ignored=~everything)


def _loads_by(score: Score, state: ClusterState, rows: slice) -> F64:
    return _loads(np.asarray(score.replica_load(state)), np.asarray(score.leader_load(state)), state, rows)


def _loads(replica_load: F64, leader_load: F64, state: ClusterState, rows: slice) -> F64:
    """Load that each replica of the topic puts on its holder, including what leadership adds."""
    load = np.array(replica_load[rows], np.float64)
    broker, partition = state.replicas.broker[rows], state.replicas.partition[rows]
    leads = broker == state.partitions.leader[partition]
    load[leads] += leader_load[partition[leads]]
    return load


def _with_known_sizes(state: ClusterState) -> ClusterState:
    return state.replace(replicas=replace(state.replicas, size_bytes=replica_bytes(state)))


def _grown(state: ClusterState, rows: slice) -> ClusterState:
    sizes = state.replicas.size_bytes.copy()
    sizes[rows] += int(_PROBE)
    return state.replace(replicas=replace(state.replicas, size_bytes=sizes))


def _faster(state: ClusterState, first: int, end: int) -> ClusterState:
    rates = state.partitions.in_bytes_per_s.copy()
    rates[first:end] = np.nan_to_num(rates[first:end]) + _PROBE
    return state.replace(partitions=replace(state.partitions, in_bytes_per_s=rates))
