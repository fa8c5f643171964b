"""Topics whose bytes are not, or not only, on the disks of brokers."""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import Bools, ClusterState
from kafkabal.model.kafka_configs import DISKLESS, REMOTE_STORAGE_ENABLE


def is_tiered(state: ClusterState) -> Bools:
    """bool, shape (n_topics,): has remote segments, which local sizes do not include (KIP-405)."""
    return _has_set(state, REMOTE_STORAGE_ENABLE)


def is_diskless(state: ClusterState) -> Bools:
    """bool, shape (n_topics,): all of its bytes are in an object store (KIP-1150)."""
    return _has_set(state, *DISKLESS)


def _has_set(state: ClusterState, *keys: str) -> Bools:
    """Topics with at least one of these configs set to true."""
    configs = (c or {} for c in state.topics.configs)
    return np.fromiter((any(c.get(key) == "true" for key in keys) for c in configs), np.bool_, len(state.topics))
