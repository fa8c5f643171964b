"""Which log dirs are on one volume, and so share its total and usable bytes.

DescribeLogDirs (KIP-827) reports the bytes of the volume for every dir, so two dirs on one volume have the same
figures. Dirs of one broker count as one volume if their figures are equal, and the used bytes are above 1 GiB and at
least the sum of their logs; a ``volume`` named in the row or in the configuration takes precedence. A broker reads one
dir after the other while clients write: usable bytes may differ by a thousandth of the volume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kafkabal.model.cluster_rows import BrokerRow
from kafkabal.model.cluster_state import I32, I64, Brokers, ClusterState, LogDirs, Replicas, freeze
from kafkabal.model.match_config_to_rows import Default, stated_of_dirs

_LEAST_USED_BYTES = 2**30
"""Empty volumes of the same size have the same figures: with less than this in use, equality proves nothing."""
_WRITTEN_BETWEEN_TWO_LOOKS = 1000  # one part in so many
"""Inverse of the fraction of a volume that may be written while a broker reads its dirs: 10 GB of 10 TB at once."""


def number_volumes(brokers: Brokers, dirs: LogDirs, replicas: Replicas, rows: Sequence[BrokerRow]) -> LogDirs:
    """Assign each dir the number of its volume: by its name in the row, or else by equal figures."""
    named = {row.broker: row for row in rows}
    logs = log_bytes(dirs, replicas)
    volume = np.arange(len(dirs), dtype=np.int32)
    for b, broker_id in enumerate(brokers.id.tolist()):
        own = range(int(dirs.first[b]), int(dirs.first[b + 1]))
        names = [d.volume for d in named[broker_id].log_dirs] if own else []
        _join_named(volume, own, names)
        _join_alike(volume, [i for i, name in zip(own, names, strict=True) if name is None], dirs, logs)
    return replace(dirs, volume=dense_volumes(volume))


def with_volumes(state: ClusterState, volumes: Mapping[int | Default, Mapping[str, str]]) -> ClusterState:
    """Assign log dirs to the volumes that a configuration names.

    Parameters
    ----------
    volumes
        Name of the volume by path of the dir, by broker id, or under ``default`` for all other brokers. Dirs of one
        broker with equal names share a volume; a dir without a name stays on the volume detected for it.

    Raises
    ------
    ConfigError
        If it names an unknown log dir.
    """
    dirs = state.log_dirs
    names = dict(stated_of_dirs(state, volumes, "volumes"))
    volume = dirs.volume + np.int32(len(dirs))  # beyond the numbers that the named ones get
    for b in range(len(state.brokers)):
        rows = [row for row in range(int(dirs.first[b]), int(dirs.first[b + 1])) if row in names]
        volume[rows] = rows
        _join_named(volume, rows, [names[row] for row in rows])
    dense = dense_volumes(volume)
    freeze(dense)
    return state.replace(log_dirs=replace(dirs, volume=dense))


def dense_volumes(volume: I32) -> I32:
    """The same volumes, numbered from 0 in the order of their first dir."""
    _, first, index = np.unique(volume, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[index]


def log_bytes(dirs: LogDirs, replicas: Replicas) -> I64:
    """int64, shape (n_dirs,): bytes of the replicas known to be in each dir; unknown sizes count as 0."""
    # an extra last entry for "no dir", which is index -1
    total = np.zeros(len(dirs) + 1, np.int64)
    np.add.at(total, replicas.log_dir, np.maximum(replicas.size_bytes, 0))
    return total[:-1]


def bytes_on_volume(dirs: LogDirs, replicas: Replicas) -> I64:
    """int64, shape (n_dirs,): :func:`log_bytes` of all dirs on the volume of each dir."""
    total = np.zeros(len(dirs), np.int64)
    np.add.at(total, dirs.volume, log_bytes(dirs, replicas))
    return total[dirs.volume]


def used_bytes(dirs: LogDirs, replicas: Replicas) -> I64:
    """int64, shape (n_dirs,): bytes in use on the volume of each dir, by any program.

    If the usable bytes are unknown, only the logs on the volume count.
    """
    reported = dirs.total_bytes - dirs.usable_bytes
    return np.where(dirs.usable_bytes >= 0, reported, bytes_on_volume(dirs, replicas))


def _join_named(volume: I32, rows: Sequence[int], names: Sequence[str | None]) -> None:
    """Give rows with equal names the number of the first of them."""
    first: dict[str, int] = {}
    for row, name in zip(rows, names, strict=True):
        if name is not None:
            volume[row] = first.setdefault(name, row)


def _join_alike(volume: I32, rows: Sequence[int], dirs: LogDirs, logs: I64) -> None:
    """Give rows with equal figures the number of the first of them, while the used bytes cover the logs of all."""
    joined: list[tuple[int, int, int, int]] = []
    # total and usable bytes of the last row, the first row, and the logs of all rows
    for row in rows:
        total, usable = int(dirs.total_bytes[row]), int(dirs.usable_bytes[row])
        written = total // _WRITTEN_BETWEEN_TWO_LOOKS
        alike = next((j for j in joined if j[0] == total and abs(j[1] - usable) <= written), None)
        _, _, first, logs_before = alike or (total, usable, row, 0)
        logs_now = logs_before + int(logs[row])
        if min(total, usable) < 0 or total - usable <= _LEAST_USED_BYTES or total - usable < logs_now:
            continue
        volume[row] = first
        if alike is not None:
            joined.remove(alike)
        joined.append((total, usable, first, logs_now))
