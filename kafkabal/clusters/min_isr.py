"""Partitions with fewer replicas in sync than ``min.insync.replicas``: writes with ``acks=all`` fail."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from kafkabal.clusters.clock import Clock
from kafkabal.clusters.cluster_protocol import Capability, Cluster
from kafkabal.clusters.config_items import ConfigResource, ResourceKind
from kafkabal.errors import KafkabalError
from kafkabal.model import I64, MIN_INSYNC_REPLICAS, Bools, ClusterState

_KEPT_S = 300.0
"""How long a watch takes a topic's config as last read: an operator who changes it waits that long at most, and a tenth
of the requests of a watch that reads the state every 30 s are left."""


def min_insync_replicas(cluster: Cluster, topics: Collection[str]) -> dict[str, int]:
    """``min.insync.replicas`` in force, by topic; without topics for which the cluster does not report it."""
    if not topics or Capability.CONFIGS not in cluster.capabilities:
        return {}
    values, _ = cluster.configs({ConfigResource(ResourceKind.TOPIC, topic) for topic in topics}, [MIN_INSYNC_REPLICAS])
    known = {resource.name: found.get(MIN_INSYNC_REPLICAS) for resource, found in values.items()}
    return {topic: int(v.value) for topic, v in known.items() if v is not None and v.value is not None}


def count_under_min_isr(cluster: Cluster, state: ClusterState) -> int | None:
    """Number of partitions that have a leader, but fewer replicas in sync than ``min.insync.replicas``.

    Only topics with under-replicated partitions are asked for. A topic with fewer replicas than it requires needs all
    of them, as in Kafka 3.7 and later.

    Returns
    -------
    int or None
        None if it is unknown: the configs cannot be read.
    """
    return _count(state, lambda topics: min_insync_replicas(cluster, topics))


class UnderMinIsrCounter:
    """Counts them at every reading, with configs that are some minutes old.

    While a broker is dead, every topic with a replica on it is asked for: with 4,000 topics the brokers spent twice
    the processor time on their configs as on the state of the cluster.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster, self._clock = cluster, clock
        self._known: dict[str, int] = {}
        self._since_s = clock.monotonic()

    def count(self, state: ClusterState) -> int | None:
        """As :func:`count_under_min_isr`."""
        return _count(state, self._least)

    def _least(self, topics: Collection[str]) -> Mapping[str, int]:
        now_s = self._clock.monotonic()
        if now_s - self._since_s >= _KEPT_S:
            self._known, self._since_s = {}, now_s
        self._known |= min_insync_replicas(self._cluster, set(topics) - self._known.keys())
        return {topic: self._known[topic] for topic in topics if topic in self._known}


def _count(state: ClusterState, least_of: Callable[[Collection[str]], Mapping[str, int]]) -> int | None:
    in_sync, replicas = _in_sync(state), np.diff(state.partitions.first)
    suspects = np.flatnonzero((state.partitions.leader >= 0) & (in_sync < replicas))
    names = [state.topics.name[t] for t in state.partitions.topic[suspects].tolist()]
    try:
        known = least_of(set(names))
    except KafkabalError:
        known = {}
    if names and not known:
        return None
    # of a topic deleted meanwhile, or hidden from this principal, nothing is claimed
    least = np.array([known.get(name, 1) for name in names], np.int64)
    return int(np.count_nonzero(in_sync[suspects] < np.minimum(least, replicas[suspects])))


def _in_sync(state: ClusterState) -> I64:
    """int64, shape (n_partitions,): number of replicas in the ISR."""
    in_isr: Bools = state.replicas.in_sync
    return np.bincount(state.replicas.partition[in_isr], minlength=len(state.partitions)).astype(np.int64)
