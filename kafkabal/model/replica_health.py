"""Which replicas cannot be read, which partitions have a copy that others can be made from, and which are moving."""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import Bools, ClusterState, LogDirState


def offline_replicas(cluster: ClusterState) -> Bools:
    """bool, shape (n_replicas,): on a dead broker, in an offline dir, or missing from what its broker reported."""
    return np.asarray(~cluster.brokers.is_live[cluster.replicas.broker] | in_offline_dir(cluster))


def in_offline_dir(cluster: ClusterState) -> Bools:
    """bool, shape (n_replicas,): in an offline log dir, or unreported by a live broker that has such a dir."""
    r, dirs = cluster.replicas, cluster.log_dirs
    has_offline_dir = np.zeros(len(cluster.brokers), np.bool_)
    has_offline_dir[dirs.broker[dirs.state == LogDirState.OFFLINE]] = True
    placed = r.log_dir >= 0
    offline = np.zeros(len(r), np.bool_)
    offline[placed] = dirs.state[r.log_dir[placed]] == LogDirState.OFFLINE
    return np.asarray((offline | (~placed & has_offline_dir[r.broker])) & cluster.brokers.is_live[r.broker])


def has_source(cluster: ClusterState) -> Bools:
    """bool, shape (n_partitions,): something is there to copy from: a leader, or an in-sync replica that is online."""
    r = cluster.replicas
    found = cluster.partitions.leader >= 0
    found[r.partition[r.in_sync & ~offline_replicas(cluster)]] = True
    return found


def is_reassigned(cluster: ClusterState) -> Bools:
    """bool, shape (n_partitions,): a reassignment is moving the partition."""
    found = np.zeros(len(cluster.partitions), np.bool_)
    found[cluster.replicas.partition[cluster.replicas.adding | cluster.replicas.removing]] = True
    return found
