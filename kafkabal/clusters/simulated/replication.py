"""How replication progresses over time: between brokers under KIP-73 throttles, and between log dirs of a broker.

The rate of a copy is the minimum of equal shares of what its leader can send, of what its follower can receive, and of
both brokers' throttles if the replica is listed as throttled.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafkabal.clusters.simulated.cluster_parts import ClusterParts, SimulatedBroker, SimulatedLog, SimulatedPartition
from kafkabal.clusters.simulated.controller import settle_reassignments
from kafkabal.model import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, LOG_DIR_RATE, TopicPartition

_NEARLY_NOTHING_BYTES = 1e-6
"""Rounding error left of a complete copy; at 0 it would never finish catching up."""


@dataclass(slots=True)
class _Flow:
    """A copy in flight; ``leader`` is the broker itself for a copy between its log dirs."""

    partition: SimulatedPartition
    follower: int
    leader: int
    log: SimulatedLog
    to_log_dir: bool
    bytes_per_s: float = 0.0

    @property
    def copied_bytes(self) -> float:
        return self.log.future_bytes if self.to_log_dir else self.log.copied_bytes

    def seconds_left(self) -> float:
        """Time until the copy has caught up with a partition that may still grow."""
        left = self.partition.size_bytes - self.copied_bytes
        gain = self.bytes_per_s - self.partition.growth_bytes_per_s
        return 0.0 if left <= _NEARLY_NOTHING_BYTES else left / gain if gain > 0 else math.inf

    def advance(self, seconds: float) -> None:
        copied = min(self.copied_bytes + self.bytes_per_s * seconds, self.partition.size_bytes)
        if self.to_log_dir:
            self.log.future_bytes = copied
        else:
            self.log.copied_bytes = copied


def advance(parts: ClusterParts, seconds: float, bandwidth_bytes_per_s: float, disk_bytes_per_s: float) -> None:
    """Let replication run for some seconds."""
    left = seconds
    # a dry run takes a step for every copy that ends, and nothing grows meanwhile
    growing = [partition for partition in parts.partitions() if partition.growth_bytes_per_s]
    while left > 0:
        flows = list(_log_dir_flows(parts, disk_bytes_per_s)) + _replica_flows(parts, bandwidth_bytes_per_s)
        step = min([left, *(max(f.seconds_left(), 0.0) for f in flows if f.bytes_per_s > 0)])
        _grow(growing, step)
        for flow in flows:
            flow.advance(step)
        for flow in flows:
            if flow.bytes_per_s > 0 and flow.seconds_left() <= 0:
                _arrive(parts, flow)
        left -= step


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


def _log_dir_flows(parts: ClusterParts, disk_bytes_per_s: float) -> Iterator[_Flow]:
    busy = Counter(broker for _, broker in parts.copying)
    for (_, broker_id), partition in parts.copying.items():
        broker, log = parts.brokers[broker_id], partition.logs[broker_id]
        assert log.future_log_dir is not None
        limit = min(disk_bytes_per_s, _rate(parts, broker, LOG_DIR_RATE))
        runs = broker.responds and broker.log_dirs[log.future_log_dir].online
        rate = limit / busy[broker_id] if runs else 0.0
        yield _Flow(partition, broker_id, broker_id, log, to_log_dir=True, bytes_per_s=rate)


def _replica_flows(parts: ClusterParts, bandwidth_bytes_per_s: float) -> list[_Flow]:
    flows = [f for p in parts.moving.values() for f in _open_flows(parts, p)]
    sends, receives = Counter(f.leader for f in flows), Counter(f.follower for f in flows)
    for flow in flows:
        flow.bytes_per_s = bandwidth_bytes_per_s / max(sends[flow.leader], receives[flow.follower])
    _throttle(parts, [f for f in flows if _is_listed(parts, f, f.leader, LEADER_REPLICAS)], LEADER_RATE)
    _throttle(parts, [f for f in flows if _is_listed(parts, f, f.follower, FOLLOWER_REPLICAS)], FOLLOWER_RATE)
    return flows


def _open_flows(parts: ClusterParts, partition: SimulatedPartition) -> Iterator[_Flow]:
    leader = parts.brokers.get(partition.leader)
    if leader is None or not leader.responds:
        return
    for broker_id in partition.adding:
        broker, log = parts.brokers[broker_id], partition.logs[broker_id]
        if broker_id not in partition.isr and broker.responds and broker.log_dirs[log.log_dir].online:
            yield _Flow(partition, broker_id, leader.id, log, to_log_dir=False)


def _throttle(parts: ClusterParts, flows: list[_Flow], key: str) -> None:
    side = "leader" if key == LEADER_RATE else "follower"
    busy = Counter(getattr(f, side) for f in flows)
    for flow in flows:
        broker_id = getattr(flow, side)
        quotient = _rate(parts, parts.brokers[broker_id], key) / busy[broker_id]
        flow.bytes_per_s = min(flow.bytes_per_s, quotient)


def _rate(parts: ClusterParts, broker: SimulatedBroker, key: str) -> float:
    value = parts.broker_config(broker, key)
    return math.inf if value is None else float(value)


def _is_listed(parts: ClusterParts, flow: _Flow, broker: int, key: str) -> bool:
    name: TopicPartition = flow.partition.name
    listed = parts.topics[name.topic].configs.get(key, "")
    return listed == "*" or f",{name.partition}:{broker}," in f",{listed},"
