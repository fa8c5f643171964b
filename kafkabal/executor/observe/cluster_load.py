"""Current load of the brokers, from two samples of the whole cluster some seconds apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.clusters import Capability, Clock, Cluster, InFlight, ReadRequest
from kafkabal.errors import NotAuthorizedError
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal
from kafkabal.model import ClusterState, TopicPartition
from kafkabal.plan import PartitionChange, partition_rows
from kafkabal.telemetry import groups_behind, with_rates

Moves = Mapping[TopicPartition, Collection[int]]

SAMPLE_S = 6.0
"""Time between the two samples before a run: longer than consumers usually wait between two commits."""


@dataclass(frozen=True, slots=True)
class LoadSample:
    """The cluster at one moment, with offsets."""

    state: ClusterState
    has_groups: bool
    """Whether committed offsets of consumer groups were read too."""
    at_s: float
    """Monotonic time."""


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """The load from producers and consumers between two samples."""

    state: ClusterState
    """The state at the later sample, with the known rates of all partitions."""
    behind: frozenset[str]
    """Consumer groups that did not keep up."""

    def incoming_bytes_per_s(self, moves: Moves) -> dict[int, float]:
        """Bytes per second that producers write to the moving partitions, by broker that will send or receive them."""
        return incoming_bytes_per_s(self.state, moves)

    def brokers_of(self, moves: Moves) -> frozenset[int]:
        """Brokers that send or receive the moving partitions."""
        leaders, ids = self.state.partitions.leader, self.state.brokers.id
        rows = [leaders[row] for _, row in partition_rows(self.state, list(moves)) if leaders[row] >= 0]
        return frozenset(ids[rows].tolist()).union(*moves.values())

    def carried_bytes_per_s(self, brokers: Collection[int]) -> float:
        """The highest traffic of any of these brokers now, in and out, replication included."""
        p, r = self.state.partitions, self.state.replicas
        copies = np.bincount(r.partition[r.in_sync], minlength=len(p)) - 1
        into = np.nan_to_num(p.in_bytes_per_s)
        out = into * np.maximum(copies, 0) + np.nan_to_num(p.out_bytes_per_s)
        taken = np.bincount(r.broker, into[r.partition], len(self.state.brokers)).astype(np.float64)
        given = np.bincount(p.leader[p.leader >= 0], out[p.leader >= 0], len(self.state.brokers)).astype(np.float64)
        involved = np.isin(self.state.brokers.id, list(brokers))
        return float((taken + given)[involved].max(initial=0.0))


def take_sample(
    cluster: Cluster, clock: Clock, broker_timeout_s: float = 10.0, in_flight: InFlight = InFlight.REQUIRED
) -> LoadSample:
    """Read the whole cluster with its offsets, and committed offsets of groups if possible and permitted."""
    request = ReadRequest(offsets=True, deadline_s=broker_timeout_s, in_flight=in_flight)
    if Capability.GROUP_OFFSETS in cluster.capabilities:
        try:
            state = cluster.read(replace(request, group_offsets=True)).state
            return LoadSample(state, has_groups=True, at_s=clock.monotonic())
        except NotAuthorizedError:
            pass  # everything else can be read without groups
    state = cluster.read(request).state
    return LoadSample(state, has_groups=False, at_s=clock.monotonic())


def load_between(before: LoadSample, after: LoadSample, leaders: Collection[int]) -> ClusterLoad:
    """The load of brokers between two samples; groups are judged by partitions with these leaders."""
    has_groups = before.has_groups and after.has_groups
    state = with_rates(before.state, after.state, after.at_s - before.at_s, group_offsets=has_groups)
    behind = groups_behind(before.state, after.state, leaders) if has_groups else frozenset[str]()
    return ClusterLoad(state, behind)


def measure_load(
    cluster: Cluster,
    clock: Clock,
    leaders: Collection[int],
    broker_timeout_s: float = 10.0,
    in_flight: InFlight = InFlight.REQUIRED,
) -> ClusterLoad:
    """Read the cluster twice, a few seconds apart."""
    before = take_sample(cluster, clock, broker_timeout_s, in_flight)
    clock.sleep(SAMPLE_S)
    if not before.state.reassignments_known:
        in_flight = InFlight.OMITTED  # the controller would be waited for once more
    return load_between(before, take_sample(cluster, clock, broker_timeout_s, in_flight), leaders)


def incoming_bytes_per_s(state: ClusterState, moves: Moves) -> dict[int, float]:
    """Known bytes per second that producers write to moving partitions, by broker that sends or receives them."""
    rates, leaders = state.partitions.in_bytes_per_s, state.partitions.leader
    incoming: defaultdict[int, float] = defaultdict(float)
    for name, row in partition_rows(state, list(moves)):
        rate, arriving = float(rates[row]), moves[name]
        if rate > 0 and arriving:
            for broker in arriving:
                incoming[broker] += rate
            if leaders[row] >= 0:
                incoming[int(state.brokers.id[leaders[row]])] += rate * len(arriving)
    return dict(incoming)


def moves_of_plan(changes: Iterable[PartitionChange]) -> dict[TopicPartition, Collection[int]]:
    """The brokers that get a copy of each planned partition."""
    return {c.name: c.to_add for c in changes if c.previous}


def moves_of_run(partitions: Iterable[RunPartition], goal: Goal = Goal.APPLY) -> dict[TopicPartition, Collection[int]]:
    """The brokers that get a copy of each partition of a run, applied or rolled back."""
    if goal is Goal.APPLY:
        return {p.name: list(p.to_add) for p in partitions}
    return {p.name: list(p.to_remove) for p in partitions}
