"""Which log dirs lie on one volume, and so share its total and usable bytes.

DescribeLogDirs (KIP-827) gives the bytes of the volume with every dir on it, so two dirs on one volume repeat the
same figures. Two dirs of one broker are taken for one volume when their figures are equal and what is used covers
the logs of both and is above 1 GiB; a ``volume`` named in the row decides otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.model.rows import BrokerRow
    from kafkabal.model.state import I32, I64, Brokers, ClusterState, LogDirs, Replicas

_LEAST_USED_BYTES = 2**30


def number_volumes(brokers: Brokers, dirs: LogDirs, replicas: Replicas, rows: Sequence[BrokerRow]) -> LogDirs:
    """Give every dir the number of its volume: a name in the row decides, else equal figures do."""
    named = {row.broker: row for row in rows}
    logs = log_bytes(dirs, replicas)
    volume = np.arange(len(dirs), dtype=np.int32)
    for b, broker_id in enumerate(brokers.id):
        first, end = int(dirs.first[b]), int(dirs.first[b + 1])
        names = [d.volume for d in named[int(broker_id)].log_dirs] if end > first else []
        for i in range(first, end):
            for j in range(first, i):
                a, c = names[j - first], names[i - first]
                if a == c if a is not None or c is not None else _look_alike(dirs, logs, j, i):
                    volume[i] = volume[j]
                    break
    return replace(dirs, volume=_dense(volume))


def log_bytes(dirs: LogDirs, replicas: Replicas) -> I64:
    """int64, shape (n_dirs,): bytes of the replicas known to lie in each dir; unknown sizes count nothing."""
    placed = (replicas.log_dir >= 0) & (replicas.size_bytes > 0)
    total = np.zeros(len(dirs), np.int64)
    np.add.at(total, replicas.log_dir[placed], replicas.size_bytes[placed])
    return total


def volume_columns(cluster: ClusterState) -> tuple[I32, I64, I64]:
    """Broker, total and usable bytes of each volume, of which all dirs report the same.

    Returns
    -------
    int32, int64, int64, each of shape (n_volumes,)
        Bytes are -1 where they are not known.
    """
    dirs = cluster.log_dirs
    _, first = np.unique(dirs.volume, return_index=True)
    return dirs.broker[first], dirs.total_bytes[first], dirs.usable_bytes[first]


def _look_alike(dirs: LogDirs, logs: I64, a: int, b: int) -> bool:
    total, usable = int(dirs.total_bytes[a]), int(dirs.usable_bytes[a])
    if total < 0 or usable < 0 or (total, usable) != (int(dirs.total_bytes[b]), int(dirs.usable_bytes[b])):
        return False
    used = total - usable
    return used > _LEAST_USED_BYTES and used >= int(logs[a] + logs[b])


def _dense(volume: I32) -> I32:
    return np.unique(volume, return_inverse=True)[1].astype(np.int32)
