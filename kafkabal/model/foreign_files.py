"""What other programs occupy on the volumes of log dirs."""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import F64, ClusterState, LogDirState
from kafkabal.model.volumes import bytes_on_volume


def foreign_bytes(cluster: ClusterState) -> F64:
    """float64, shape (n_dirs,): bytes of other programs on the volume of each dir; NaN where not known.

    A volume is counted once, on the first of its dirs; its other dirs have 0.
    """
    dirs = cluster.log_dirs
    if not len(dirs):
        return np.empty(0)
    on_volume = bytes_on_volume(dirs, cluster.replicas)
    known = (dirs.total_bytes >= 0) & (dirs.usable_bytes >= 0) & (dirs.state != LogDirState.OFFLINE)
    foreign = np.where(known, np.maximum(dirs.total_bytes - dirs.usable_bytes - on_volume, 0), np.nan)
    _, first = np.unique(dirs.volume, return_index=True)
    is_first = np.zeros(len(dirs), np.bool_)
    is_first[first] = True
    return np.where(is_first | np.isnan(foreign), foreign, 0.0)


def foreign_of_brokers(cluster: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of other programs on a broker's volumes; NaN where none is known."""
    foreign, broker = foreign_bytes(cluster), cluster.log_dirs.broker
    known = ~np.isnan(foreign)
    total = np.bincount(broker[known], foreign[known], len(cluster.brokers))
    some = np.bincount(broker[known], minlength=len(cluster.brokers)) > 0
    return np.where(some, total, np.nan)
