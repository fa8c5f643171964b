"""A cluster while it is written to: its growing logs, brokers that are added or die, and the views that policies
get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kafkabal.model import F64, I32, Bools
from kafkabal.routing import MarginalLoad, RoutingView
from kafkabal.simulator.workload import BrokerEvent, BrokerEventKind, Workload

_LATENCY = "latency"


class SimulatedBrokers:
    """The cluster of a view under a workload.

    Parameters
    ----------
    start
        The cluster before the first record.

    Raises
    ------
    UsageError
        If the workload names a broker that the cluster does not have.
    """

    def __init__(self, start: RoutingView, workload: Workload) -> None:
        self._start = start
        transport = workload.transport
        workload.check_brokers(start.broker_id)
        self.bytes_per_s = np.full(start.n_brokers, transport.broker_bytes_per_s)
        for broker, bytes_per_s in transport.own_bytes_per_s.items():
            self.bytes_per_s[self._row(broker)] = bytes_per_s
        self._healthy_bytes_per_s = self.bytes_per_s.copy()
        self.live = self._live_before(workload.events)
        # an offline partition stays so: none of its live replicas was in sync
        self._may_lead = (start.leader >= 0)[start.replica_partition] | ~start.live[start.replica_broker]
        self._missed_bytes = np.zeros(len(start.replica_broker))
        self.partition_bytes = np.zeros(start.n_partitions)
        """Bytes written, counting one replica."""
        self.added_bytes = np.zeros(start.n_brokers)
        self.marginal_loads = start.marginal_loads
        self.leader = self._leaders()

    @property
    def used_bytes(self) -> F64:
        """float64, shape (n_brokers,): bytes of all replicas now."""
        return self._start.used_bytes + self.added_bytes

    @property
    def is_replica_live(self) -> Bools:
        """bool, shape (n_replicas,): whether the replica's broker is live."""
        return self.live[self._start.replica_broker]

    def apply(self, event: BrokerEvent) -> None:
        """Apply an event."""
        row = self._row(event.broker)
        if event.becomes is BrokerEventKind.SLOW:
            self.bytes_per_s[row] = self._healthy_bytes_per_s[row] / event.factor
        else:
            self.live[row] = event.becomes is BrokerEventKind.ADDED
            self.leader = self._leaders()
            if self.live[row]:
                self._catch_up(row)

    def write(self, partition_bytes: F64) -> None:
        """Add bytes to the logs of partitions, on every live replica: float64, shape (n_partitions,)."""
        start = self._start
        added = partition_bytes[start.replica_partition]
        is_live = self.is_replica_live
        self.added_bytes += np.bincount(start.replica_broker, added * is_live, start.n_brokers)
        self._missed_bytes += added * ~is_live
        self.partition_bytes += partition_bytes
        self.marginal_loads = tuple(p.after(partition_bytes, start.replica_partition) for p in self.marginal_loads)

    def view(self, at_s: float, latency_s: F64) -> RoutingView:
        """What policies see now."""
        return replace(
            self._start,
            at_s=at_s,
            live=self.live.copy(),
            leader=self.leader,
            used_bytes=self.used_bytes,
            partition_bytes=self._start.partition_bytes + self.partition_bytes,
            latency_s=latency_s,
            marginal_loads=tuple(self._at_latency(p, latency_s) for p in self.marginal_loads),
        )

    @property
    def needs_latency(self) -> bool:
        """Whether a score to route by depends on latency."""
        return any(marginal.name == _LATENCY for marginal in self.marginal_loads)

    def with_latency(self, view: RoutingView, latency_s: F64) -> RoutingView:
        """The same view with the current latencies."""
        marginal_loads = tuple(self._at_latency(marginal, latency_s) for marginal in view.marginal_loads)
        return replace(view, latency_s=latency_s, marginal_loads=marginal_loads)

    def _live_before(self, events: Sequence[BrokerEvent]) -> Bools:
        """Which brokers are live before the first event: one that is added later is not, unless it dies first."""
        live = self._start.live.copy()
        for event in sorted(events, key=lambda event: event.at_s)[::-1]:
            if event.becomes is not BrokerEventKind.SLOW:
                row = self._row(event.broker)
                live[row] = self._start.live[row] and event.becomes is BrokerEventKind.DEAD
        return live

    def _catch_up(self, row: int) -> None:
        """Followers fetch what was written while their broker was not there."""
        own = self._start.replica_broker == row
        self.added_bytes[row] += self._missed_bytes[own].sum()
        self._missed_bytes[own] = 0.0

    def _at_latency(self, marginal: MarginalLoad, latency_s: F64) -> MarginalLoad:
        # brokers or log dirs; those without a replica of the topic do not matter
        counted = marginal.counted.copy()
        counted[marginal.holder[~self.is_replica_live & (marginal.holder >= 0)]] = False
        if marginal.name != _LATENCY:
            return replace(marginal, counted=counted)
        known = self.live & ~np.isnan(latency_s)
        return replace(marginal, load=latency_s, counted=known, follows_traffic=known)

    def _leaders(self) -> I32:
        """The initial leader if it is live, else the first live replica, else -1."""
        start = self._start
        leader = np.full(start.n_partitions, -1, np.int32)
        rows = np.flatnonzero(self.is_replica_live & self._may_lead)[::-1]
        leader[start.replica_partition[rows]] = start.replica_broker[rows]
        kept = (start.leader >= 0) & self.live[start.leader]
        leader[kept] = start.leader[kept]
        return leader

    def _row(self, broker_id: int) -> int:
        return int(np.searchsorted(self._start.broker_id, broker_id))
