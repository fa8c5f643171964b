"""Bytes of replicas and of moves; unknown sizes are estimated from the other copies.

A move copies the bytes of the current leader's replica, or else of the largest known one. A replica of unknown size (on
a dead broker or in an offline dir) counts as many bytes as a move of it; 0 if no copy's size is known.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import I64, Bools, ClusterState


def move_bytes(state: ClusterState) -> I64:
    """Bytes that each partition's next copy costs.

    Returns
    -------
    int64, shape (n_partitions,)
        -1 if no copy's size is known.
    """
    size = state.replicas.size_bytes
    if not len(state.partitions):
        return np.empty(0, np.int64)
    bytes_ = np.maximum.reduceat(size, state.partitions.first[:-1])
    leader = state.leader_replica
    led = np.flatnonzero(leader >= 0)
    of_leader = size[leader[led]]
    known = of_leader >= 0
    bytes_[led[known]] = of_leader[known]
    return bytes_


def is_estimated(state: ClusterState) -> Bools:
    """bool, shape (n_replicas,): the size was not reported and is estimated from the other copies."""
    return np.asarray(state.replicas.size_bytes < 0)


def replica_bytes(state: ClusterState) -> I64:
    """int64, shape (n_replicas,): bytes of each replica, estimated if unknown, never negative."""
    size = state.replicas.size_bytes
    unknown = size < 0
    if not unknown.any():
        return size
    estimate = np.maximum(move_bytes(state), 0)
    return np.where(unknown, estimate[state.replicas.partition], size)
