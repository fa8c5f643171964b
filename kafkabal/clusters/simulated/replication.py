"""How replication progresses over time: between brokers under KIP-73 throttles, and between log dirs of a broker.

The rate of a copy is the minimum of equal shares of what its leader can send, of what its follower can receive, and of
both brokers' throttles if the replica is listed as throttled.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kafkabal.clusters.simulated.cluster_parts import ClusterParts, SimulatedBroker, SimulatedLog, SimulatedPartition
from kafkabal.clusters.simulated.controller import settle_reassignments
from kafkabal.model import (
    F64,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    I64,
    LEADER_RATE,
    LEADER_REPLICAS,
    LOG_DIR_RATE,
    Bools,
    TopicPartition,
)

_NEARLY_NOTHING_BYTES = 1e-6
"""Rounding error left of a complete copy; at 0 it would never finish catching up."""


@dataclass(frozen=True, slots=True)
class _Flow:
    """A copy in flight; ``leader`` is the broker itself for a copy between its log dirs."""

    partition: SimulatedPartition
    follower: int
    leader: int
    log: SimulatedLog
    to_log_dir: bool

    @property
    def copied_bytes(self) -> float:
        return self.log.future_bytes if self.to_log_dir else self.log.copied_bytes

    def set_copied(self, n_bytes: float) -> None:
        if self.to_log_dir:
            self.log.future_bytes = n_bytes
        else:
            self.log.copied_bytes = n_bytes


def advance(parts: ClusterParts, seconds: float, bandwidth_bytes_per_s: float, disk_bytes_per_s: float) -> None:
    """Let replication run for some seconds."""
    left = seconds
    # a dry run takes a step for every copy that ends: nothing here may take a time for each partition or copy
    growing = [partition for partition in parts.partitions() if partition.growth_bytes_per_s]
    flows = _Flows(parts, bandwidth_bytes_per_s, disk_bytes_per_s)
    while left > 0:
        step = min(left, flows.seconds_to_next_end())
        _grow(growing, step)
        ended = flows.advance(step)
        for flow in ended:
            _arrive(parts, flow)
        flows.close(parts, {flow.partition.name for flow in ended})
        if any(flow.to_log_dir and flow.partition.is_moving for flow in ended):
            flows.write_back()
            flows = _Flows(parts, bandwidth_bytes_per_s, disk_bytes_per_s)  # it may be copied between brokers now
        left -= step
    flows.write_back()


class _Flows:
    """The copies in flight, by column: rates follow from how many share a broker, and change whenever one ends."""

    def __init__(self, parts: ClusterParts, bandwidth_bytes_per_s: float, disk_bytes_per_s: float) -> None:
        self.flows = flows = [*_log_dir_flows(parts), *_replica_flows(parts)]
        self._bandwidth_bytes_per_s = bandwidth_bytes_per_s
        row = {broker: at for at, broker in enumerate(parts.brokers)}
        self._n_brokers = len(row)
        self._of_partition: dict[TopicPartition, list[int]] = {}
        for at, flow in enumerate(flows):
            self._of_partition.setdefault(flow.partition.name, []).append(at)
        self._is_open = np.ones(len(flows), np.bool_)
        self._to_log_dir = np.array([f.to_log_dir for f in flows], np.bool_)
        self._leader = np.array([row[f.leader] for f in flows], np.int64)
        self._follower = np.array([row[f.follower] for f in flows], np.int64)
        self._log_dir_limit = np.array([_log_dir_limit(parts, f, disk_bytes_per_s) for f in flows])
        self._throttles = (
            (self._leader, np.array([_throttle(parts, f, f.leader, LEADER_RATE, LEADER_REPLICAS) for f in flows])),
            (
                self._follower,
                np.array([_throttle(parts, f, f.follower, FOLLOWER_RATE, FOLLOWER_REPLICAS) for f in flows]),
            ),
        )
        self._size = np.array([f.partition.size_bytes for f in flows])
        self._growth = np.array([f.partition.growth_bytes_per_s for f in flows])
        self._copied = np.array([f.copied_bytes for f in flows])
        self._bytes_per_s = self._rates()

    def seconds_to_next_end(self) -> float:
        """Time until a copy has caught up with a partition that may still grow; infinite if none will."""
        return float(self._seconds_left()[self._is_open & (self._bytes_per_s > 0)].min(initial=math.inf))

    def advance(self, seconds: float) -> list[_Flow]:
        """Copy for some seconds; returns the copies that end."""
        self._size += self._growth * seconds
        self._copied = np.minimum(self._copied + self._bytes_per_s * seconds, self._size)
        ended = self._is_open & (self._bytes_per_s > 0) & (self._seconds_left() <= 0)
        return [self.flows[at] for at in np.flatnonzero(ended).tolist()]

    def close(self, parts: ClusterParts, partitions: Collection[TopicPartition]) -> None:
        """Leave out those copies of some partitions that are no longer in flight."""
        for name in partitions:
            for at in self._of_partition[name]:
                self._is_open[at] &= _is_in_flight(parts, self.flows[at])
        if partitions:
            self._bytes_per_s = self._rates()

    def write_back(self) -> None:
        """Set how far the copies in flight are."""
        for at in np.flatnonzero(self._is_open).tolist():
            self.flows[at].set_copied(float(self._copied[at]))

    def _seconds_left(self) -> F64:
        left, gain = self._size - self._copied, self._bytes_per_s - self._growth
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(gain > 0, left / gain, math.inf)
        return np.where(left <= _NEARLY_NOTHING_BYTES, 0.0, found)

    def _rates(self) -> F64:
        between_dirs, between_brokers = self._is_open & self._to_log_dir, self._is_open & ~self._to_log_dir
        rates = np.zeros(len(self.flows))
        rates[between_dirs] = (self._log_dir_limit / self._sharing(self._follower, between_dirs))[between_dirs]
        busiest = np.maximum(
            self._sharing(self._leader, between_brokers), self._sharing(self._follower, between_brokers)
        )
        rates[between_brokers] = self._bandwidth_bytes_per_s / busiest[between_brokers]
        for broker, throttle in self._throttles:
            listed = between_brokers & ~np.isnan(throttle)
            rates[listed] = np.minimum(rates, throttle / self._sharing(broker, listed))[listed]
        return rates

    def _sharing(self, broker: I64, which: Bools) -> F64:
        """float64, shape (n_flows,): how many of these copies share a broker with each, at least 1."""
        count = np.bincount(broker[which], minlength=self._n_brokers)
        return np.maximum(count[broker], 1).astype(np.float64)


def _is_in_flight(parts: ClusterParts, flow: _Flow) -> bool:
    partition = flow.partition
    if flow.to_log_dir:
        return (partition.name, flow.follower) in parts.copying
    return flow.follower in partition.adding and flow.follower not in partition.isr


def _grow(growing: Iterable[SimulatedPartition], seconds: float) -> None:
    for partition in growing:
        partition.size_bytes += partition.growth_bytes_per_s * seconds
        for broker in partition.isr:
            partition.logs[broker].copied_bytes = partition.size_bytes


def _arrive(parts: ClusterParts, flow: _Flow) -> None:
    if flow.to_log_dir:
        assert flow.log.future_log_dir is not None
        flow.log.log_dir, flow.log.future_log_dir, flow.log.future_bytes = flow.log.future_log_dir, None, 0.0
        parts.copying.pop((flow.partition.name, flow.follower), None)
        return
    flow.log.copied_bytes = flow.partition.size_bytes
    if flow.follower not in flow.partition.isr:
        flow.partition.isr.append(flow.follower)
    settle_reassignments(parts, flow.partition)


def _log_dir_flows(parts: ClusterParts) -> Iterator[_Flow]:
    for (_, broker), partition in parts.copying.items():
        yield _Flow(partition, broker, broker, partition.logs[broker], to_log_dir=True)


def _log_dir_limit(parts: ClusterParts, flow: _Flow, disk_bytes_per_s: float) -> float:
    """What the broker copies between its log dirs; 0 if it cannot."""
    if not flow.to_log_dir:
        return 0.0
    broker = parts.brokers[flow.follower]
    assert flow.log.future_log_dir is not None
    runs = broker.responds and broker.log_dirs[flow.log.future_log_dir].online
    return min(disk_bytes_per_s, _rate(parts, broker, LOG_DIR_RATE)) if runs else 0.0


def _replica_flows(parts: ClusterParts) -> Iterator[_Flow]:
    for partition in parts.moving.values():
        yield from _open_flows(parts, partition)


def _open_flows(parts: ClusterParts, partition: SimulatedPartition) -> Iterator[_Flow]:
    leader = parts.brokers.get(partition.leader)
    if leader is None or not leader.responds:
        return
    for broker_id in partition.adding:
        broker, log = parts.brokers[broker_id], partition.logs[broker_id]
        if broker_id not in partition.isr and broker.responds and broker.log_dirs[log.log_dir].online:
            yield _Flow(partition, broker_id, leader.id, log, to_log_dir=False)


def _throttle(parts: ClusterParts, flow: _Flow, broker: int, rate: str, replicas: str) -> float:
    """The throttle of a broker of a copy; NaN if the replica is not listed as throttled there."""
    if flow.to_log_dir or not _is_listed(parts, flow, broker, replicas):
        return math.nan
    return _rate(parts, parts.brokers[broker], rate)


def _rate(parts: ClusterParts, broker: SimulatedBroker, key: str) -> float:
    value = parts.broker_config(broker, key)
    return math.inf if value is None else float(value)


def _is_listed(parts: ClusterParts, flow: _Flow, broker: int, key: str) -> bool:
    name: TopicPartition = flow.partition.name
    listed = parts.topics[name.topic].configs.get(key, "")
    return listed == "*" or f",{name.partition}:{broker}," in f",{listed},"
