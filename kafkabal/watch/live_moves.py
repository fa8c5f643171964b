"""Reassignments in flight: how much of each copy is done, at what rate, and how long it may take."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from kafkabal.clusters import Capability, Cluster, Reassignment, ReplicaOn
from kafkabal.model import TopicPartition

_WINDOW_S = 30.0
"""The same as for the progress of a run: a shorter window shows batches of the copy, a longer one lags a throttle."""
_MOST_MEASURED = 200
"""Partitions whose bytes are read each time: more than a screen shows, but still a small request per broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveInFlight:
    """One copy to one broker."""

    replica: ReplicaOn
    """The replica being copied."""
    copied_bytes: int
    total_bytes: int
    """Bytes of the largest other copy; 0 if no broker reports one."""
    bytes_per_s: float | None = None
    """Mean of the last half minute; None at the first observation."""

    @property
    def copied_fraction(self) -> float | None:
        """Fraction that has arrived, 0 to 1; None if its size is unknown."""
        return min(self.copied_bytes / self.total_bytes, 1.0) if self.total_bytes else None

    @property
    def left_s(self) -> float | None:
        """Seconds until it has arrived at this rate; None if the rate is unknown."""
        return max(self.total_bytes - self.copied_bytes, 0) / self.bytes_per_s if self.bytes_per_s else None


@dataclass(frozen=True, slots=True)
class MovesInFlight:
    """All reassignments in flight."""

    partitions: frozenset[TopicPartition] = frozenset()
    moves: tuple[MoveInFlight, ...] = ()
    """The slowest to finish first; of very many reassignments only some are measured."""

    @property
    def unmeasured(self) -> int:
        """Number of reassignments whose bytes were not read, or that copy nothing."""
        return len(self.partitions - {TopicPartition(*move.replica[:2]) for move in self.moves})


class MoveMeter:
    """Measures reassignments from observation to observation."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._samples: dict[ReplicaOn, deque[tuple[float, int]]] = {}

    def measure(self, now_s: float) -> MovesInFlight:
        """What is in flight now, measured at a monotonic time.

        Raises
        ------
        KafkabalError
            If the controller does not respond.
        """
        if Capability.REASSIGN not in self._cluster.capabilities:
            return MovesInFlight()
        running = self._cluster.reassignments()
        asked = {name: running[name] for name in sorted(running)[:_MOST_MEASURED]}
        moves = [self._with_rate(move, now_s) for move in self._sizes(asked)] if asked else []
        in_flight = {move.replica for move in moves}
        self._samples = {replica: s for replica, s in self._samples.items() if replica in in_flight}
        moves.sort(key=lambda m: (-(m.total_bytes - m.copied_bytes), m.replica))
        return MovesInFlight(frozenset(running), tuple(moves))

    def _sizes(self, asked: Mapping[TopicPartition, Reassignment]) -> list[MoveInFlight]:
        brokers = {broker for each in asked.values() for broker in each.replicas} & self._cluster.broker_ids()
        logs, _ = self._cluster.replica_logs(brokers, asked.keys())
        found = []
        for name, reassignment in asked.items():
            held = {b: logs[on].size_bytes for b in reassignment.replicas if (on := ReplicaOn(*name, b)) in logs}
            total = max((size for b, size in held.items() if b not in reassignment.adding), default=0)
            found += [
                MoveInFlight(replica=ReplicaOn(*name, b), copied_bytes=held.get(b, 0), total_bytes=total)
                for b in reassignment.adding
            ]
        return found

    def _with_rate(self, move: MoveInFlight, now_s: float) -> MoveInFlight:
        samples = self._samples.setdefault(move.replica, deque())
        samples.append((now_s, move.copied_bytes))
        while samples[0][0] < now_s - _WINDOW_S:
            samples.popleft()
        first_s, first = samples[0]
        rate = max(move.copied_bytes - first, 0) / (now_s - first_s) if now_s > first_s else None
        return MoveInFlight(
            replica=move.replica, copied_bytes=move.copied_bytes, total_bytes=move.total_bytes, bytes_per_s=rate
        )
