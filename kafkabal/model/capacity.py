"""How much a broker can hold, and what a configuration says where the brokers do not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.errors import ConfigError
from kafkabal.model.state import LogDirState, freeze
from kafkabal.model.volumes import log_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkabal.model.state import F64, Bools, ClusterState, LogDirs


def dir_capacity_bytes(cluster: ClusterState) -> F64:
    """float64, shape (n_dirs,): bytes of the volume of each dir; NaN where not known, 0 where the dir is offline."""
    dirs = cluster.log_dirs
    known = np.where(dirs.total_bytes >= 0, dirs.total_bytes, np.nan)
    return np.where(dirs.state == LogDirState.OFFLINE, 0.0, known)


def broker_capacity_bytes(cluster: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of the distinct volumes of each broker; NaN where not known."""
    dirs = cluster.log_dirs
    # the first usable dir of a volume speaks for all of them, since all report the volume
    usable = np.flatnonzero(dirs.state != LogDirState.OFFLINE)
    _, first = np.unique(dirs.volume[usable], return_index=True)
    rows = usable[first]
    total = np.zeros(len(cluster.brokers))
    np.add.at(total, dirs.broker[rows], dir_capacity_bytes(cluster)[rows])
    return np.where(total > 0, total, np.nan)


def is_silent(cluster: ClusterState) -> Bools:
    """bool, shape (n_brokers,): registered, but no log dir of it is known to work."""
    dirs = cluster.log_dirs
    working = np.bincount(dirs.broker[dirs.state != LogDirState.OFFLINE], minlength=len(cluster.brokers))
    return np.asarray(cluster.brokers.is_live & (working == 0))


def with_capacity(cluster: ClusterState, capacity: Mapping[int | str, int | Mapping[str, int]]) -> ClusterState:
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
        If it names a broker or a log dir that does not exist.
    """
    dirs = cluster.log_dirs
    strangers = [key for key in capacity if key != "default" and cluster.brokers.index_of(int(key)) < 0]
    if strangers:
        raise ConfigError(f"capacity: this cluster has no broker {', '.join(map(str, strangers))}")
    total, usable, volume = dirs.total_bytes.copy(), dirs.usable_bytes.copy(), dirs.volume.copy()
    logs = log_bytes(dirs, cluster.replicas)
    for b, broker_id in enumerate(cluster.brokers.id.tolist()):
        rows = range(int(dirs.first[b]), int(dirs.first[b + 1]))
        for row, dir_bytes in _stated(dirs, rows, capacity.get(broker_id, capacity.get("default")), broker_id):
            total[row], usable[row] = dir_bytes, max(0, dir_bytes - int(logs[row]))
            volume[row] = volume.max() + 1
    volume = np.unique(volume, return_inverse=True)[1].astype(np.int32)
    freeze(total, usable, volume)
    return cluster.replace(log_dirs=replace(dirs, total_bytes=total, usable_bytes=usable, volume=volume))


def _stated(
    dirs: LogDirs, rows: range, given: int | Mapping[str, int] | None, broker_id: int
) -> Iterator[tuple[int, int]]:
    """Rows of one broker's dirs whose bytes the configuration decides, with the bytes."""
    if given is None:
        return
    if isinstance(given, int):
        yield from ((row, given // len(rows)) for row in rows if dirs.total_bytes[row] < 0)
        return
    by_path = {dirs.path[row]: row for row in rows}
    for path, dir_bytes in given.items():
        if path not in by_path:
            raise ConfigError(f"capacity: broker {broker_id} has no log dir {path}")
        yield by_path[path], dir_bytes
