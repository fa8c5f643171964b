"""Says why brokers acknowledge no records, by the last reading of the cluster."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kafkabal.clusters import Reading, ReadRequest
from kafkabal.model import MIN_INSYNC_REPLICAS, ClusterState
from kafkabal.producer.routing_view_reader import StateReader
from kafkabal.wording import first_brokers, first_of, plural


class LastReading:
    """A cluster whose last state can be looked at by another thread than the one that reads it."""

    def __init__(self, cluster: StateReader) -> None:
        self._cluster = cluster
        self.state: ClusterState | None = None

    def read(self, request: ReadRequest) -> Reading:
        """The whole state."""
        reading = self._cluster.read(request)
        self.state = reading.state
        return reading


def why_records_wait(state: ClusterState, topic: str, partitions: Collection[int], min_in_sync: int) -> str:
    """What keeps records of these partitions from being acknowledged: partitions without a leader, or with too few
    replicas in sync, or else their leaders; empty if the state has none of the partitions, which were added since."""
    leaderless: list[int] = []
    too_few: list[int] = []
    behind: set[int] = set()
    leaders: set[int] = set()
    rows = state.partitions.rows_of(state.topics.index_of(topic))
    numbers = state.partitions.number[rows].tolist()
    for row, partition in zip(range(rows.start, rows.stop), numbers, strict=True):
        if partition not in partitions:
            continue
        replicas = slice(int(state.partitions.first[row]), int(state.partitions.first[row + 1]))
        in_sync, brokers = state.replicas.in_sync[replicas], state.brokers.id[state.replicas.broker[replicas]]
        leader = int(state.partitions.leader[row])
        if leader < 0 or not state.brokers.is_live[leader]:
            leaderless.append(partition)
        elif np.count_nonzero(in_sync) < min(min_in_sync, len(brokers)):
            too_few.append(partition)
            behind.update(brokers[~in_sync].tolist())
        else:
            leaders.add(int(state.brokers.id[leader]))
    reasons = []
    if leaderless:
        reasons.append(f"no leader: {_named(leaderless)}")
    if too_few:
        reasons.append(
            f"fewer replicas in sync than {MIN_INSYNC_REPLICAS}={min_in_sync}: {_named(too_few)} "
            f"(out of sync: {first_brokers(sorted(behind))})"
        )
    if leaders:
        reasons.append(f"no response yet from {first_brokers(sorted(leaders))}")
    return "; ".join(reasons)


def _named(partitions: Collection[int]) -> str:
    return f"{plural(len(partitions), 'partition')} {first_of(list(partitions))}"
