"""Partitions with fewer replicas in sync than ``min.insync.replicas``: writes with ``acks=all`` fail."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kafkabal.clusters.cluster_protocol import Capability, Cluster
from kafkabal.clusters.config_items import ConfigResource, ResourceKind
from kafkabal.errors import KafkabalError
from kafkabal.model import I64, MIN_INSYNC_REPLICAS, Bools, ClusterState


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
    in_sync, replicas = _in_sync(state), np.diff(state.partitions.first)
    suspects = np.flatnonzero((state.partitions.leader >= 0) & (in_sync < replicas))
    names = [state.topics.name[t] for t in state.partitions.topic[suspects].tolist()]
    try:
        known = min_insync_replicas(cluster, set(names))
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
