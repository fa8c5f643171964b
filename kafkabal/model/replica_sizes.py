"""Bytes of replicas and of moves, with what is not known estimated from the other copies.

Bytes of a move are those of the current leader's copy, else of the largest known copy. A replica of unknown size
(on a dead broker or an offline dir) counts as much as a move of it would; where no copy is known, as nothing.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import I64, Bools, ClusterState


def move_bytes(state: ClusterState) -> I64:
    """Bytes that one new copy of each partition costs.

    Returns
    -------
    int64, shape (n_partitions,)
        -1 where the size of no copy is known.
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
    """bool, shape (n_replicas,): the size was not reported and is taken from the other copies."""
    return np.asarray(state.replicas.size_bytes < 0)


def replica_bytes(state: ClusterState) -> I64:
    """int64, shape (n_replicas,): bytes of each replica, estimated where they are not known, never negative."""
    size = state.replicas.size_bytes
    unknown = size < 0
    if not unknown.any():
        return size
    estimate = np.maximum(move_bytes(state), 0)
    return np.where(unknown, estimate[state.replicas.partition], size)
