"""``log-dir``: bytes in a log dir relative to the size of its volume, within each broker."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, ClusterState, dir_capacity_bytes, replica_bytes
from kafkabal.scoring.bands import DiskBand
from kafkabal.scoring.score_protocol import Grain, Need, ScoreBase


class LogDir(ScoreBase):
    """Bytes of the replicas in a log dir, compared with the other log dirs of the same broker."""

    name = "log-dir"
    unit = "bytes"
    meaning = "bytes of the replicas in a log dir, relative to its volume, within each broker"
    grain = Grain.LOG_DIR
    needs = frozenset({Need.LOG_DIRS, Need.CAPACITY})
    band = DiskBand()

    def replica_load(self, cluster: ClusterState) -> F64:
        """Bytes of each replica."""
        return replica_bytes(cluster).astype(np.float64)

    def capacity(self, cluster: ClusterState) -> F64:
        """Bytes of the volume divided by the number of dirs on it; equal within a broker if any is unknown."""
        dirs = cluster.log_dirs
        sharing = np.bincount(dirs.volume, minlength=1)[dirs.volume] if len(dirs) else np.ones(0)
        capacity = dir_capacity_bytes(cluster) / sharing
        unknown_somewhere = np.zeros(len(cluster.brokers), np.bool_)
        unknown_somewhere[dirs.broker[np.isnan(capacity)]] = True
        return np.where(unknown_somewhere[dirs.broker] | (capacity <= 0), 1.0, capacity)

    def group(self, cluster: ClusterState) -> I32:
        """The broker of each replica."""
        return cluster.replicas.broker

    def holder_group(self, cluster: ClusterState) -> I32:
        """The broker of each log dir."""
        return cluster.log_dirs.broker


SCORE = LogDir()
