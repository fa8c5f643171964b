"""Disk capacity of brokers, as reported or as configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kafkabal.model.cluster_state import F64, Bools, ClusterState, LogDirState, freeze
from kafkabal.model.match_config_to_rows import Default, stated_of_brokers, stated_of_dirs
from kafkabal.model.volumes import dense_volumes, log_bytes


def dir_capacity_bytes(state: ClusterState) -> F64:
    """float64, shape (n_dirs,): bytes of the volume of each dir; NaN if unknown, 0 if the dir is offline."""
    dirs = state.log_dirs
    known = np.where(dirs.total_bytes >= 0, dirs.total_bytes, np.nan)
    return np.where(dirs.state == LogDirState.OFFLINE, 0.0, known)


def broker_capacity_bytes(state: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of the distinct volumes of each broker; NaN if unknown."""
    dirs = state.log_dirs
    # take the first usable dir of each volume, since all its dirs report the same figures
    usable = np.flatnonzero(dirs.state != LogDirState.OFFLINE)
    _, first = np.unique(dirs.volume[usable], return_index=True)
    rows = usable[first]
    total = np.zeros(len(state.brokers))
    np.add.at(total, dirs.broker[rows], dir_capacity_bytes(state)[rows])
    return np.where(total > 0, total, np.nan)


def reports_no_log_dir(state: ClusterState) -> Bools:
    """bool, shape (n_brokers,): registered, but it did not report its log dirs."""
    return np.asarray(state.brokers.is_live & (np.diff(state.log_dirs.first) == 0))


def has_no_working_dir(state: ClusterState) -> Bools:
    """bool, shape (n_brokers,): registered, but none of its log dirs is known to work: unreported, or all offline."""
    dirs = state.log_dirs
    working = np.bincount(dirs.broker[dirs.state != LogDirState.OFFLINE], minlength=len(state.brokers))
    return np.asarray(state.brokers.is_live & (working == 0))


def with_capacity(state: ClusterState, capacity: Mapping[int | Default, int | Mapping[str, int]]) -> ClusterState:
    """Set the capacity of log dirs from a configuration.

    Parameters
    ----------
    capacity
        Bytes by broker id, or under ``default`` for all other brokers. A number is the capacity of the whole broker,
        divided evenly over its dirs; it applies only to dirs that report none. A mapping from path to bytes sets the
        capacity of single dirs and overrides what is reported; each of these dirs becomes its own volume.

    Raises
    ------
    ConfigError
        If it names an unknown log dir.
    """
    dirs = state.log_dirs
    stated = {**dict(_fills(state, capacity)), **dict(stated_of_dirs(state, _capacity_of_dirs(capacity), "capacity"))}
    rows = np.fromiter(stated, np.int64, len(stated))
    total, usable, volume = dirs.total_bytes.copy(), dirs.usable_bytes.copy(), dirs.volume.copy()
    total[rows] = np.fromiter(stated.values(), np.int64, len(stated))
    usable[rows] = np.maximum(0, total[rows] - log_bytes(dirs, state.replicas)[rows])
    volume[rows] = len(dirs) + rows
    volume = dense_volumes(volume)
    freeze(total, usable, volume)
    return state.replace(log_dirs=replace(dirs, total_bytes=total, usable_bytes=usable, volume=volume))


def _fills(state: ClusterState, capacity: Mapping[int | Default, int | Mapping[str, int]]) -> Iterator[tuple[int, int]]:
    """Dirs of unknown capacity on brokers with a configured one, and their part of it."""
    dirs = state.log_dirs
    for broker, given in stated_of_brokers(state, capacity):
        own = range(int(dirs.first[broker]), int(dirs.first[broker + 1]))
        if isinstance(given, int):
            yield from ((row, given // len(own)) for row in own if dirs.total_bytes[row] < 0)


def _capacity_of_dirs(
    capacity: Mapping[int | Default, int | Mapping[str, int]],
) -> Mapping[int | Default, Mapping[str, int]]:
    return {broker: {} if isinstance(given, int) else given for broker, given in capacity.items()}
