"""Where new replicas may go: which brokers accept them, in which racks, and how much room is left."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kafkabal.model import (
    I32,
    Bools,
    ClusterState,
    LogDirState,
    dir_capacity_bytes,
    first_open_dirs,
    log_bytes,
    may_enter,
    missing_racks,
    named_brokers,
    rack_numbers,
    required_racks,
    takes_replicas,
    volume_room_bytes,
)


class EligibleBrokers:
    """Brokers and log dirs that accept new replicas, and the room left by those placed so far.

    Parameters
    ----------
    exclude_brokers
        Ids of brokers that get no replica.
    log_dir_limit
        Fraction of a volume that is never exceeded.

    Raises
    ------
    UsageError
        If an excluded broker is unknown.
    """

    def __init__(self, state: ClusterState, exclude_brokers: Collection[int], log_dir_limit: float) -> None:
        dirs = state.log_dirs
        self.state, self.log_dir_limit = state, log_dir_limit
        self.takes = takes_replicas(state, named_brokers(state, exclude_brokers, "--exclude-brokers"))
        """bool, shape (n_brokers,): accepts new replicas."""
        self.rack = rack_numbers(state)
        """int32, shape (n_brokers,): a broker without a rack is a rack of its own."""
        self._n_racks = len(np.unique(self.rack[self.takes]))
        self._open = dirs.state == LogDirState.ONLINE
        rows = first_open_dirs(state)
        self._room = np.zeros(int(dirs.volume.max(initial=-1)) + 1, np.int64)
        """int64, shape (n_volumes,): 0 if no log dir on it accepts replicas."""
        self._room[dirs.volume[rows]] = volume_room_bytes(state, log_dir_limit)[rows]
        self._bytes = log_bytes(dirs, state.replicas)
        self._replicas = np.bincount(state.replicas.log_dir[state.replicas.log_dir >= 0], minlength=len(dirs))
        self._capacity = np.nan_to_num(dir_capacity_bytes(state), nan=1.0)

    def missing_racks(self, chosen: list[int], factor: int) -> int:
        """How many more racks a partition must span than those of the brokers chosen so far."""
        return int(missing_racks(self.rack[chosen], required_racks(factor, self._n_racks)))

    def in_open_racks(self, chosen: list[int], factor: int) -> Bools:
        """bool, shape (n_brokers,): the rack rule allows the next replica there, given the brokers chosen so far."""
        return may_enter(self.rack[chosen], self.rack, required_racks(factor, self._n_racks))

    def with_room(self, size_bytes: int) -> Bools:
        """bool, shape (n_brokers,): accepts new replicas and has a log dir with enough room, or no known log dir."""
        dirs = self.state.log_dirs
        fits = self._open & (self._room[dirs.volume] >= size_bytes)
        has_dir = np.bincount(dirs.broker[fits], minlength=len(self.takes)) > 0
        return np.asarray(self.takes & (has_dir | (np.diff(dirs.first) == 0)))

    def put(self, broker: int, size_bytes: int) -> int:
        """Choose the log dir of a broker that keeps its dirs most balanced with a new replica; takes its room.

        Returns
        -------
        int
            Row of the log dir; -1 if no log dir of the broker is known.
        """
        dirs = self.state.log_dirs
        rows = np.arange(dirs.first[broker], dirs.first[broker + 1])
        rows = rows[self._open[rows]]
        if not rows.size:
            return -1
        fill = (self._bytes[rows] + size_bytes) / np.maximum(self._capacity[rows], 1.0)
        is_short = self._room[dirs.volume[rows]] < size_bytes
        row = int(rows[np.lexsort((rows, self._replicas[rows], fill, is_short))[0]])
        self._bytes[row] += size_bytes
        self._replicas[row] += 1
        self._room[dirs.volume[row]] -= size_bytes
        return row

    def release(self, row: int, size_bytes: int) -> None:
        """Give back the room of a replica in a log dir; nothing if its log dir is not known (-1)."""
        if row >= 0:
            self._bytes[row] -= size_bytes
            self._replicas[row] -= 1
            self._room[self.state.log_dirs.volume[row]] += size_bytes

    def fullest(self, rows: I32) -> int:
        """Which of some log dirs of one broker is filled most; any of them if they are not known (-1)."""
        if rows[0] < 0:
            return 0
        fill = self._bytes[rows] / np.maximum(self._capacity[rows], 1.0)
        return int(np.lexsort((self._replicas[rows], fill))[-1])
