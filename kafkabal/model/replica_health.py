"""Which replicas are offline or out of sync, which partitions have a readable copy, and which are being reassigned."""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import Bools, ClusterState, LogDirState


def offline_replicas(state: ClusterState) -> Bools:
    """bool, shape (n_replicas,): on a dead broker, in an offline dir, or missing from its broker's report."""
    return np.asarray(~state.brokers.is_live[state.replicas.broker] | in_offline_dir(state))


def has_offline_dir(state: ClusterState) -> Bools:
    """bool, shape (n_brokers,): Kafka refuses to choose or change log dirs on such a broker (KAFKA_STORAGE_ERROR)."""
    dirs = state.log_dirs
    found = np.zeros(len(state.brokers), np.bool_)
    found[dirs.broker[dirs.state == LogDirState.OFFLINE]] = True
    return found


def in_offline_dir(state: ClusterState) -> Bools:
    """bool, shape (n_replicas,): in an offline log dir, or unreported by a live broker that has such a dir."""
    r, dirs = state.replicas, state.log_dirs
    placed = r.log_dir >= 0
    offline = np.zeros(len(r), np.bool_)
    offline[placed] = dirs.state[r.log_dir[placed]] == LogDirState.OFFLINE
    return np.asarray((offline | (~placed & has_offline_dir(state)[r.broker])) & state.brokers.is_live[r.broker])


def has_readable_copy(state: ClusterState) -> Bools:
    """bool, shape (n_partitions,): there is a copy to replicate from: a leader, or an in-sync replica that is
    online."""
    r = state.replicas
    found = state.partitions.leader >= 0
    found[r.partition[r.in_sync & ~offline_replicas(state)]] = True
    return found


def lagging_partitions(state: ClusterState) -> Bools:
    """bool, shape (n_partitions,): a replica is out of sync though its log dir is online and it is not being added."""
    r = state.replicas
    lags = ~r.in_sync & ~r.adding & ~offline_replicas(state)
    return np.asarray(np.bincount(r.partition[lags], minlength=len(state.partitions)) > 0)


def is_reassigned(state: ClusterState) -> Bools:
    """bool, shape (n_partitions,): a reassignment of the partition is in flight."""
    found = np.zeros(len(state.partitions), np.bool_)
    found[state.replicas.partition[state.replicas.adding | state.replicas.removing]] = True
    return found
