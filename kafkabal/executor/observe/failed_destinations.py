"""Destinations of copies in flight that have failed: dead brokers and offline log dirs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from kafkabal.clusters import ReplicaOn
from kafkabal.executor.observe.observation import Observation
from kafkabal.executor.reassign.partition_task import PartitionTask

_K = TypeVar("_K")


class FailedDestinations:
    """Tracks since when destinations have been missing.

    Parameters
    ----------
    grace_s
        A destination may be missing this long before it counts as gone.
    """

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._gone_since_s: dict[int, float] = {}
        self._lost_since_s: dict[ReplicaOn, float] = {}

    def gone_brokers(self, running: Sequence[PartitionTask], seen: Observation, now_s: float) -> frozenset[int]:
        """Brokers that are the destination of copies in flight and have been dead for longer than the grace."""
        gone = {b for t in running for b in t.arriving} - seen.brokers
        self._gone_since_s = _since(self._gone_since_s, gone, now_s)
        return frozenset(b for b, since in self._gone_since_s.items() if now_s - since >= self._grace_s)

    def lost_copies(
        self, running: Sequence[PartitionTask], seen: Observation, now_s: float
    ) -> dict[PartitionTask, int]:
        """Tasks whose destination is alive and responds, but has not held the new copy for the grace."""
        missing = {
            ReplicaOn(*t.name, b): t
            for t in running
            for b in t.arriving
            if b in seen.responding and ReplicaOn(*t.name, b) not in seen.logs
        }
        self._lost_since_s = _since(self._lost_since_s, missing, now_s)
        return {
            missing[replica]: replica.broker
            for replica, since in self._lost_since_s.items()
            if now_s - since >= self._grace_s
        }


def _since(before_s: dict[_K, float], missing: Iterable[_K], now_s: float) -> dict[_K, float]:
    return {key: before_s.get(key, now_s) for key in missing}
