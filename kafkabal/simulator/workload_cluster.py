"""The cluster that a workload describes, with one topic, for simulations without a real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import (
    SNAPSHOT_VERSION,
    BrokerRow,
    ClusterState,
    HeaderRow,
    LogDirRow,
    PartitionRow,
    TopicRow,
    build_cluster,
)
from kafkabal.wording import counted_noun

TOPIC = "simulated"


class Leaders(StrEnum):
    """How the leaders of the topic are distributed."""

    EVEN = "even"
    BROKERS_PLUS_2 = "brokers+2"
    """One on each broker, and two more on random brokers: deliberately unbalanced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadCluster:
    """Brokers 1 to n, assigned to racks in turn, with followers on the next brokers."""

    brokers: int = 6
    racks: int = 1
    capacity_bytes: int = 10**12
    partitions: int | None = None
    """None for as many as there are brokers, or two more."""
    replication_factor: int = 1
    leaders: Leaders = Leaders.EVEN
    existing_bytes: int = 0
    """Bytes that each broker's partitions hold at the start, as leader."""
    own_existing_bytes: Mapping[int, int] = field(default_factory=dict)
    """The same of single brokers, by id."""
    seed: int = 0


def build_workload_cluster(spec: WorkloadCluster) -> ClusterState:
    """Create the cluster.

    Raises
    ------
    UsageError
        If it has fewer brokers than replicas, or its leaders imply another number of partitions.
    """
    if spec.replication_factor > spec.brokers:
        raise UsageError(
            f"replication factor {spec.replication_factor} exceeds the {counted_noun(spec.brokers, 'broker')}"
        )
    if spec.leaders is Leaders.BROKERS_PLUS_2 and spec.partitions not in (None, spec.brokers + 2):
        made = (
            f"leaders: {spec.leaders} creates {spec.brokers + 2} partitions on {counted_noun(spec.brokers, 'broker')}"
        )
        raise UsageError(f"{made}, but 'partitions' is {spec.partitions}")
    leaders = _leaders(spec)
    led = np.bincount(leaders, minlength=spec.brokers)
    partitions = [
        PartitionRow(
            partition=number,
            leader=leader + 1,
            replicas=[(leader + i) % spec.brokers + 1 for i in range(spec.replication_factor)],
            sizes=[_existing(spec, leader) // int(led[leader])] * spec.replication_factor,
            log_dirs=[0] * spec.replication_factor,
        )
        for number, leader in enumerate(leaders)
    ]
    header = HeaderRow(
        kafkabal_snapshot=SNAPSHOT_VERSION, cluster_id="simulated", taken_at="1970-01-01T00:00:00Z", source="synthetic"
    )
    return build_cluster(
        header, [_broker(spec, b) for b in range(spec.brokers)], [TopicRow(topic=TOPIC, partitions=partitions)]
    )


def _leaders(spec: WorkloadCluster) -> list[int]:
    if spec.leaders is Leaders.EVEN:
        return [p % spec.brokers for p in range(spec.partitions or spec.brokers)]
    drawn = np.random.Generator(np.random.PCG64(spec.seed)).integers(spec.brokers, size=2)
    return [*range(spec.brokers), *drawn.tolist()]


def _existing(spec: WorkloadCluster, broker: int) -> int:
    return spec.own_existing_bytes.get(broker + 1, spec.existing_bytes)


def _broker(spec: WorkloadCluster, broker: int) -> BrokerRow:
    capacity = spec.capacity_bytes
    log_dir = LogDirRow(path="/data", total_bytes=capacity, usable_bytes=capacity)
    return BrokerRow(broker=broker + 1, rack=f"rack-{broker % spec.racks}", log_dirs=[log_dir])
