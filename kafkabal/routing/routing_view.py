"""A topic and its brokers as a routing policy sees them at one moment, with the registered scores."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.errors import OperationError, unknown_topic
from kafkabal.model import F64, I32, I64, Bools

if TYPE_CHECKING:
    # every policy imports views, and listing policies must import neither clusters nor scores
    from kafkabal.model import ClusterState
    from kafkabal.routing.marginal_load import LoadsByScore, MarginalLoad
    from kafkabal.scoring import Need, WeightedScore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoutingView:
    """Columns by row: the partitions and replicas of one topic, and all brokers of its cluster."""

    topic: str
    at_s: float
    """When it was measured, on the policies' clock."""
    took_s: float = 0.0
    """How long the reading took: of what arrived meanwhile, log dirs of some brokers may show more than others'."""
    broker_id: I32
    racks: tuple[str, ...]
    rack: I32
    """int32, shape (n_brokers,): index into :attr:`racks`, -1 if the broker has none."""
    live: Bools
    """bool, shape (n_brokers,)."""
    leader: I32
    """int32, shape (n_partitions,): row of the broker that leads it, -1 if no live broker does."""
    replica_partition: I32
    """int32, shape (n_replicas,): partition number of each replica of the topic."""
    replica_broker: I32
    used_bytes: F64
    """float64, shape (n_brokers,): bytes of all replicas on the broker, of any topic."""
    capacity_bytes: F64
    """float64, shape (n_brokers,), > 0: equal for all unless every live broker's capacity is known."""
    partition_bytes: F64
    """float64, shape (n_partitions,): bytes of one replica."""
    latency_s: F64
    """float64, shape (n_brokers,): mean time of a produce request, NaN if unknown."""
    marginal_loads: tuple[MarginalLoad, ...] = ()
    """The scores to route by, as the effect of a routed byte on them."""
    settled_bytes: F64 | None = None
    """float64, shape (n_partitions,): bytes of records that the asking policy picked and that were acknowledged or
    given up before the reading; None if the view shows all of them."""
    unseen_bytes: F64 | None = None
    """float64, shape (n_partitions,): bytes that other clients have probably sent and the log dirs do not show yet."""
    waiting_records: int = 0
    """Unacknowledged records of the asking producer, at the time of asking."""

    @property
    def n_partitions(self) -> int:
        """Number of partitions of the topic."""
        return len(self.leader)

    @property
    def n_brokers(self) -> int:
        """Number of brokers, including dead ones."""
        return len(self.broker_id)

    @property
    def available(self) -> I32:
        """int32, ascending: partitions that have a live leader.

        Raises
        ------
        OperationError
            If there is none.
        """
        found = np.flatnonzero(self.leader >= 0).astype(np.int32)
        if not found.size:
            raise OperationError(f"no partition of topic {self.topic} has a leader")
        return found

    @property
    def is_latency_scored(self) -> bool:
        """Whether records are routed by the score ``latency``."""
        return any(marginal.name == "latency" for marginal in self.marginal_loads)

    @property
    def used_ratio(self) -> F64:
        """float64, shape (n_brokers,): used bytes over capacity."""
        return self.used_bytes / self.capacity_bytes


def view_of(
    state: ClusterState,
    topic: str,
    scores: Iterable[WeightedScore] = (),
    *,
    supplied: Collection[Need] = (),
) -> RoutingView:
    """The view of a topic of a cluster, without latencies.

    Parameters
    ----------
    scores
        What the ``score`` policy balances; a score whose needs this cluster does not supply is refused.
    supplied
        Needs of scores that the caller will supply.

    Raises
    ------
    UsageError
        If the topic is unknown, or the cluster does not supply what a score needs.
    """
    return ClusterViews(state, scores, supplied=supplied).view(topic)


class ClusterViews:
    """Views of topics of one cluster; what they have in common is computed once, as it takes most of the time.

    Parameters
    ----------
    scores, supplied
        See :func:`view_of`.
    """

    def __init__(
        self, state: ClusterState, scores: Iterable[WeightedScore] = (), *, supplied: Collection[Need] = ()
    ) -> None:
        self._state = state
        self._scores = tuple(scores)
        self._supplied = supplied

    def view(self, topic: str, *, at_s: float = 0.0, took_s: float = 0.0, latency_s: F64 | None = None) -> RoutingView:
        """The view of a topic.

        Parameters
        ----------
        at_s
            When the cluster was measured, on the policies' clock.
        took_s
            How long that took, in seconds.
        latency_s
            float64, shape (n_brokers,): produce latency by broker row, NaN if unknown.

        Raises
        ------
        UsageError
            If the topic is unknown, or the cluster does not supply what a score needs.
        """
        state = self._state
        first, end = _partition_rows(state, topic)
        replicas = slice(int(state.partitions.first[first]), int(state.partitions.first[end]))
        partition = (state.replicas.partition[replicas] - first).astype(np.int32)
        return RoutingView(
            topic=topic,
            at_s=at_s,
            took_s=took_s,
            broker_id=state.brokers.id,
            racks=state.racks,
            rack=state.brokers.rack,
            live=state.brokers.is_live,
            leader=_live_leader(state.partitions.leader[first:end], state.brokers.is_live),
            replica_partition=partition,
            replica_broker=state.replicas.broker[replicas],
            used_bytes=self._used_bytes.copy(),
            capacity_bytes=self._capacity_bytes.copy(),
            partition_bytes=largest_copy(self._sizes[replicas], partition, end - first),
            latency_s=np.full(len(state.brokers), np.nan) if latency_s is None else latency_s,
            marginal_loads=tuple(load.of_topic(first, end) for load in self._loads),
        )

    @cached_property
    def _sizes(self) -> I64:
        from kafkabal.model import replica_bytes

        return replica_bytes(self._state)

    @cached_property
    def _used_bytes(self) -> F64:
        used = np.bincount(self._state.replicas.broker, self._sizes, len(self._state.brokers))
        return used.astype(np.float64)

    @cached_property
    def _capacity_bytes(self) -> F64:
        return _capacity(self._state)

    @cached_property
    def _loads(self) -> tuple[LoadsByScore, ...]:
        from kafkabal.routing.marginal_load import loads_by_score
        from kafkabal.scoring import require

        for weighted in self._scores:
            if not weighted.score.needs <= set(self._supplied):
                require(weighted.score, self._state)
        return tuple(loads_by_score(weighted, self._state) for weighted in self._scores)


def fitted_to(column: I64 | F64, n: int) -> F64:
    """float64, shape (n,): a column by partition, fitted to another number of partitions."""
    result = np.zeros(n)
    result[: len(column)] = column[:n]
    return result


def _partition_rows(state: ClusterState, topic: str) -> tuple[int, int]:
    row = state.topics.index_of(topic)
    if row < 0:
        raise unknown_topic(topic, state.topics.name)
    own = state.partitions.rows_of(row)
    return own.start, own.stop


def _live_leader(leader: I32, live: Bools) -> I32:
    return np.where((leader >= 0) & live[leader], leader, -1).astype(np.int32)


def _capacity(state: ClusterState) -> F64:
    """Bytes of each broker's volumes; all 1 if any live broker's are unknown."""
    from kafkabal.model import broker_capacity_bytes

    known = broker_capacity_bytes(state)
    if np.isnan(known[state.brokers.is_live]).any():
        return np.ones(len(known))
    return np.where(np.isnan(known), 1.0, known)


def largest_copy(sizes: I64, partition: I32, n: int) -> F64:
    """float64, shape (n,): bytes of the longest copy of each partition, from the size and partition of each replica."""
    largest = np.zeros(n)
    np.maximum.at(largest, partition, sizes)
    return largest
