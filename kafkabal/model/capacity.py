"""How much a broker can hold, and what a configuration says where the brokers do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from kafkabal.model.cluster_state import F64, Bools, ClusterState, LogDirState, freeze
from kafkabal.model.match_config_to_rows import Default, stated_of_brokers, stated_of_dirs
from kafkabal.model.volumes import dense_volumes, log_bytes


def dir_capacity_bytes(state: ClusterState) -> F64:
    """float64, shape (n_dirs,): bytes of the volume of each dir; NaN where not known, 0 where the dir is offline."""
    dirs = state.log_dirs
    known = np.where(dirs.total_bytes >= 0, dirs.total_bytes, np.nan)
    return np.where(dirs.state == LogDirState.OFFLINE, 0.0, known)


def broker_capacity_bytes(state: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of the distinct volumes of each broker; NaN where not known."""
    dirs = state.log_dirs
    # the first usable dir of a volume speaks for all of them, since all report the volume
    usable = np.flatnonzero(dirs.state != LogDirState.OFFLINE)
    _, first = np.unique(dirs.volume[usable], return_index=True)
    rows = usable[first]
    total = np.zeros(len(state.brokers))
    np.add.at(total, dirs.broker[rows], dir_capacity_bytes(state)[rows])
    return np.where(total > 0, total, np.nan)


def reports_no_log_dir(state: ClusterState) -> Bools:
    """bool, shape (n_brokers,): registered, but no log dir of it is known to work."""
    dirs = state.log_dirs
    working = np.bincount(dirs.broker[dirs.state != LogDirState.OFFLINE], minlength=len(state.brokers))
    return np.asarray(state.brokers.is_live & (working == 0))


def with_capacity(state: ClusterState, capacity: Mapping[int | Default, int | Mapping[str, int]]) -> ClusterState:
    """Give log dirs the capacity that a configuration states.

    Parameters
    ----------
    capacity
        Bytes by broker id, or under ``default`` for every broker that is not named. A number is what the whole
        broker holds, divided evenly over its dirs, and fills in only what no broker reports; a mapping from path to
        bytes gives single dirs their own and overrides what is reported. A dir that gets its bytes so is a volume
        of its own.

    Raises
    ------
    ConfigError
        If it names a log dir that does not exist.
    """
    dirs = state.log_dirs
    stated = {**dict(_fills(state, capacity)), **dict(stated_of_dirs(state, _of_dirs(capacity), "capacity"))}
    rows = np.fromiter(stated, np.int64, len(stated))
    total, usable, volume = dirs.total_bytes.copy(), dirs.usable_bytes.copy(), dirs.volume.copy()
    total[rows] = np.fromiter(stated.values(), np.int64, len(stated))
    usable[rows] = np.maximum(0, total[rows] - log_bytes(dirs, state.replicas)[rows])
    volume[rows] = len(dirs) + rows
    volume = dense_volumes(volume)
    freeze(total, usable, volume)
    return state.replace(log_dirs=replace(dirs, total_bytes=total, usable_bytes=usable, volume=volume))


def _fills(state: ClusterState, capacity: Mapping[int | Default, int | Mapping[str, int]]) -> Iterator[tuple[int, int]]:
    """Dirs of unknown bytes on brokers whose bytes are stated, and their part of them."""
    dirs = state.log_dirs
    for broker, given in stated_of_brokers(state, capacity):
        own = range(int(dirs.first[broker]), int(dirs.first[broker + 1]))
        if isinstance(given, int):
            yield from ((row, given // len(own)) for row in own if dirs.total_bytes[row] < 0)


def _of_dirs(
    capacity: Mapping[int | Default, int | Mapping[str, int]],
) -> Mapping[int | Default, Mapping[str, int]]:
    return {broker: {} if isinstance(given, int) else given for broker, given in capacity.items()}
