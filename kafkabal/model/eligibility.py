"""Which brokers and log dirs may receive a replica, and how much room they have.

Planner, placement and executor share these functions, so that their answers agree; for racks see
:mod:`~kafkabal.model.rack_rule`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kafkabal.errors import OptionError
from kafkabal.model.cluster_state import F64, I32, I64, Bools, ClusterState, LogDirs, LogDirState
from kafkabal.model.replica_sizes import replica_bytes
from kafkabal.model.volumes import bytes_on_volume, used_bytes

LEAST_FREE_FRACTION = 0.05
"""Fraction of a volume that always stays free, whatever the limit."""
UNLIMITED = np.iinfo(np.int64).max // 4
"""Room of a volume of unknown size; sums of a few of these still fit into 64 bits."""


_LONGEST_NAME = 255 - len("-.-future") - 32
"""Longest topic name and partition number together, in characters."""


def takes_replicas(state: ClusterState, excluded: Bools) -> Bools:
    """bool, shape (n_brokers,): live, not excluded, and with a log dir that is online and not cordoned (KIP-1066).

    A broker that did not report its log dirs receives nothing, since it is unknown whether a replica would fit. If no
    live broker reports any, because the brokers' version cannot, all live brokers may receive replicas.
    """
    dirs = state.log_dirs
    has_open_dir = np.bincount(dirs.broker[dirs.state == LogDirState.ONLINE], minlength=len(state.brokers)) > 0
    has_dirs = np.bincount(dirs.broker, minlength=len(state.brokers)) > 0
    closed = (has_dirs & ~has_open_dir) | did_not_report(state)
    return np.asarray(state.brokers.is_live & ~excluded & ~closed)


def named_brokers(state: ClusterState, ids: Iterable[int], option: str) -> Bools:
    """bool, shape (n_brokers,): the brokers whose ids an option lists.

    Raises
    ------
    OptionError
        If one of them is unknown.
    """
    rows = np.zeros(len(state.brokers), np.bool_)
    for broker_id in ids:
        row = state.brokers.index_of(broker_id)
        if row < 0:
            raise OptionError(option, f"unknown broker: {broker_id}", hint="see 'kafkabal inspect'")
        rows[row] = True
    return rows


def did_not_report(state: ClusterState) -> Bools:
    """bool, shape (n_brokers,): live brokers whose log dirs are unknown while those of others are known."""
    dirs = state.log_dirs
    reported = np.bincount(dirs.broker, minlength=len(state.brokers)) > 0
    live = state.brokers.is_live
    return np.asarray(live & ~reported & (reported & live).any())


def can_choose_log_dir(topic: str, partition: int) -> bool:
    """Whether Kafka lets a client choose or change the log dir of a partition (AlterReplicaLogDirs).

    During the copy, Kafka keeps a folder ``topic-partition.<32 digits>-future``; if its name exceeds 255 characters,
    Kafka returns INVALID_TOPIC_EXCEPTION (KAFKA-4893), even for the choice of a dir before the replica exists.
    """
    return len(topic) + len(str(partition)) <= _LONGEST_NAME


def with_choosable_log_dir(state: ClusterState) -> Bools:
    """bool, shape (n_partitions,): :func:`can_choose_log_dir` of each."""
    length = np.fromiter(map(len, state.topics.name), np.int64, len(state.topics))
    number = state.partitions.number
    digits = 1 + np.floor(np.log10(np.maximum(number, 1))).astype(np.int64)
    return np.asarray(length[state.partitions.topic] + digits <= _LONGEST_NAME)


def dir_room_bytes(state: ClusterState, limit: float) -> I64:
    """int64, shape (n_dirs,): like :func:`volume_room_bytes`, but 0 for dirs that accept no replicas."""
    room = volume_room_bytes(state, limit)
    room[state.log_dirs.state != LogDirState.ONLINE] = 0
    return room


def volume_room_bytes(state: ClusterState, limit: float) -> I64:
    """int64, shape (n_dirs,): like :func:`volume_headroom_bytes`, but 0 if a volume is beyond the limit."""
    return np.maximum(volume_headroom_bytes(state, limit), 0)


def volume_headroom_bytes(state: ClusterState, limit: float) -> I64:
    """int64, shape (n_dirs,): bytes that may be added to the volume of each dir; if negative, that have to leave it.

    A run starts a copy only where it fits below the limit while all other replicas are still there. So a volume beyond
    its limit receives nothing until so much has left it that the copy fits: an exchange against a larger replica is not
    enough.

    Parameters
    ----------
    limit
        Fraction of a volume that may be used; 5% always stays free.
    """
    dirs = state.log_dirs
    full_at = np.floor(dirs.total_bytes * min(limit, 1 - LEAST_FREE_FRACTION)).astype(np.int64)
    headroom = full_at - used_bytes(dirs, state.replicas)
    headroom[dirs.total_bytes < 0] = UNLIMITED
    return np.asarray(headroom)


def first_open_dirs(state: ClusterState) -> I64:
    """int64, shape (n,): for each volume with log dirs that accept replicas, the row of the first of them.

    Its room is that of the volume, which must be counted only once, and even if another dir on the volume is closed.
    """
    is_open = np.flatnonzero(state.log_dirs.state == LogDirState.ONLINE)
    _, first = np.unique(state.log_dirs.volume[is_open], return_index=True)
    return is_open[first]


def room_for_replicas(state: ClusterState, limit: float) -> F64:
    """float64, shape (n_brokers,): most replica bytes that fit below the limit besides the files of other programs.

    May be less than a broker holds now, if its log dirs are too full; replicas in cordoned dirs may stay. Infinite if
    the size of a volume is unknown.
    """
    dirs, below = state.log_dirs, _below_limit(state, limit)
    room = np.zeros(len(state.brokers))
    rows = first_open_dirs(state)
    np.add.at(room, dirs.broker[rows], below[rows])
    closed = np.flatnonzero(dirs.state == LogDirState.CORDONED)
    if closed.size:
        room += _bytes_that_may_stay(state, closed, below)
    room[dirs.broker[dirs.total_bytes < 0]] = np.inf
    room[np.bincount(dirs.broker, minlength=len(room)) == 0] = np.inf
    return room


def volume_limit_bytes(state: ClusterState, limit: float) -> F64:
    """float64, shape (n_dirs,): most replica bytes that fit below the limit on the volume of each dir, besides the
    files of other programs; infinite if the size of the volume is unknown."""
    return np.where(state.log_dirs.total_bytes < 0, np.inf, _below_limit(state, limit))


def most_load_of_dirs(dirs: LogDirs, load: F64, volume_limit: F64) -> F64:
    """float64, shape (n_dirs,): most load that each dir may have.

    A dir that accepts no replicas keeps at most what it holds. The others on a volume get equal parts of what it may
    hold besides.

    Parameters
    ----------
    load
        float64, shape (n_dirs,): load of each dir.
    volume_limit
        float64, shape (n_dirs,): most load of the volume of each dir, in bytes :func:`volume_limit_bytes`.
    """
    is_open = dirs.state == LogDirState.ONLINE
    n = int(dirs.volume.max(initial=-1)) + 1
    closed = np.bincount(dirs.volume[~is_open], load[~is_open], n)[dirs.volume]
    sharing = np.maximum(np.bincount(dirs.volume[is_open], minlength=n), 1)[dirs.volume]
    return np.where(is_open, np.maximum(volume_limit - closed, 0.0) / sharing, load)


def _below_limit(state: ClusterState, limit: float) -> F64:
    dirs = state.log_dirs
    others = np.maximum(used_bytes(dirs, state.replicas) - bytes_on_volume(dirs, state.replicas), 0)
    return np.asarray(np.maximum(dirs.total_bytes * min(limit, 1 - LEAST_FREE_FRACTION) - others, 0.0))


def _bytes_that_may_stay(state: ClusterState, closed: I64, below: F64) -> F64:
    """float64, shape (n_brokers,): bytes of replicas in cordoned dirs, at most ``below`` for each broker.

    Unknown sizes are estimated: whatever counts as load of a broker must be allowed to stay there. A replica whose dir
    is unknown too counts if all dirs of its broker are cordoned.
    """
    dirs, replicas, n = state.log_dirs, state.replicas, len(state.brokers)
    each = replica_bytes(state).astype(np.float64)
    placed = replicas.log_dir >= 0
    held = np.bincount(replicas.log_dir[placed], each[placed], len(dirs))
    staying = np.bincount(dirs.broker[closed], np.minimum(held, below)[closed], n)
    unplaced = np.bincount(replicas.broker[~placed], each[~placed], n)
    is_closed = np.bincount(dirs.broker[closed], minlength=n) == np.bincount(dirs.broker, minlength=n)
    limit = np.bincount(dirs.broker[closed], below[closed], n)
    return np.asarray(np.where(is_closed, np.minimum(staying + unplaced, limit), staying))


def lasting_factor(state: ClusterState) -> I32:
    """int32, shape (n_partitions,): number of replicas once a reassignment has removed those it is removing."""
    factor = state.replication_factor
    removing = state.replicas.partition[state.replicas.removing]
    return np.asarray(factor - np.bincount(removing, minlength=len(factor)), np.int32)
