"""Space that other programs use on the volumes of log dirs."""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import F64, ClusterState, LogDirState
from kafkabal.model.volumes import bytes_on_volume


def foreign_on_volumes(state: ClusterState) -> F64:
    """float64, shape (n_dirs,): bytes of other programs on the volume of each dir; NaN if unknown.

    Dirs on one volume repeat its figure, as they do its capacity: a sum over dirs would count it twice.
    """
    dirs = state.log_dirs
    on_volume = bytes_on_volume(dirs, state.replicas)
    known = (dirs.total_bytes >= 0) & (dirs.usable_bytes >= 0) & (dirs.state != LogDirState.OFFLINE)
    return np.where(known, np.maximum(dirs.total_bytes - dirs.usable_bytes - on_volume, 0), np.nan)


def foreign_of_brokers(state: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of other programs, each volume of a broker once; NaN if none is known."""
    foreign, dirs = foreign_on_volumes(state), state.log_dirs
    reporting = np.flatnonzero(~np.isnan(foreign))
    _, first = np.unique(dirs.volume[reporting], return_index=True)
    rows = reporting[first]
    total = np.bincount(dirs.broker[rows], foreign[rows], len(state.brokers))
    is_known = np.bincount(dirs.broker[rows], minlength=len(state.brokers)) > 0
    return np.where(is_known, total, np.nan)
