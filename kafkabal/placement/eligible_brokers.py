"""Where new replicas may go: which brokers accept them, in which racks, and how much room is left."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.model import (
    I32,
    I64,
    Bools,
    ClusterState,
    LogDirState,
    dir_capacity_bytes,
    first_open_dirs,
    log_bytes,
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

    Raises
    ------
    UsageError
        If an excluded broker is unknown.
    """

    def __init__(self, state: ClusterState, exclude_brokers: Collection[int]) -> None:
        dirs = state.log_dirs
        self.state = state
        self.takes = takes_replicas(state, named_brokers(state, exclude_brokers, "--exclude-brokers"))
        """bool, shape (n_brokers,): accepts new replicas."""
        self.rack = rack_numbers(state)
        """int32, shape (n_brokers,): a broker without a rack is a rack of its own."""
        self.n_racks = len(np.unique(self.rack[self.takes]))
        """Number of racks with a broker that accepts replicas."""
        self._open = dirs.state == LogDirState.ONLINE
        self._open_rows = np.split(
            np.flatnonzero(self._open),
            np.cumsum(np.bincount(dirs.broker[self._open], minlength=len(state.brokers)))[:-1],
        )
        self._volume_rows = rows = first_open_dirs(state)
        """int64, shape (n,): a log dir on each volume that accepts replicas."""
        self._room = np.zeros(int(dirs.volume.max(initial=-1)) + 1, np.int64)
        """int64, shape (n_volumes,): 0 if no log dir on it accepts replicas."""
        self._room[dirs.volume[rows]] = volume_room_bytes(state, DEFAULT_LOG_DIR_LIMIT)[rows]
        self._bytes = log_bytes(dirs, state.replicas)
        self._replicas = np.bincount(state.replicas.log_dir[state.replicas.log_dir >= 0], minlength=len(dirs))
        self._capacity = np.nan_to_num(dir_capacity_bytes(state), nan=1.0)
        self._known_room: tuple[int, Bools] | None = None
        """The size that was asked for last, and its brokers, as long as they have room."""

    def slots(self, size_bytes: int, most: int) -> I64:
        """int64, shape (n_brokers,): how many more replicas of a size each broker has room for; at most ``most``."""
        dirs, rows = self.state.log_dirs, self._volume_rows
        fitting = np.minimum(self._room[dirs.volume[rows]] // max(size_bytes, 1), most)
        found = np.bincount(dirs.broker[rows], fitting, len(self.takes))
        found[np.diff(dirs.first) == 0] = most
        return np.where(self.takes, np.minimum(found, most), 0).astype(np.int64)

    def missing_racks(self, chosen: list[int], factor: int) -> int:
        """How many more racks a partition must span than those of the brokers chosen so far."""
        return int(missing_racks(self.rack[chosen], required_racks(factor, self.n_racks)))

    def with_room(self, size_bytes: int) -> Bools:
        """bool, shape (n_brokers,): accepts new replicas and has a log dir with enough room, or no known log dir.

        For a size of 0, with any room, if a broker has some: such a partition has an unknown size, or does not stay
        empty.
        """
        if self._known_room is None or self._known_room[0] != size_bytes:
            self._known_room = size_bytes, self._find_room(size_bytes)
        return self._known_room[1]

    def _find_room(self, size_bytes: int) -> Bools:
        dirs = self.state.log_dirs
        fits = self._open & (self._room[dirs.volume] >= max(size_bytes, 1))
        has_dir = np.bincount(dirs.broker[fits], minlength=len(self.takes)) > 0
        found = self.takes & (has_dir | (np.diff(dirs.first) == 0))
        return self.takes if size_bytes == 0 and not found.any() else np.asarray(found)

    def put(self, broker: int, size_bytes: int) -> int:
        """Choose the log dir of a broker that keeps its dirs most balanced with a new replica; takes its room.

        Returns
        -------
        int
            Row of the log dir; -1 if no log dir of the broker is known.
        """
        rows = self._open_rows[broker]
        if not rows.size:
            return -1
        row = int(rows[0]) if rows.size == 1 else self._emptiest(rows, size_bytes)
        self._bytes[row] += size_bytes
        self._replicas[row] += 1
        volume = self.state.log_dirs.volume[row]
        self._room[volume] -= size_bytes
        if self._known_room is not None and self._room[volume] < self._known_room[0]:
            self._known_room = None
        return row

    def _emptiest(self, rows: I64, size_bytes: int) -> int:
        fill = (self._bytes[rows] + size_bytes) / np.maximum(self._capacity[rows], 1.0)
        is_short = self._room[self.state.log_dirs.volume[rows]] < max(size_bytes, 1)
        return int(rows[np.lexsort((rows, self._replicas[rows], fill, is_short))[0]])

    def release(self, row: int, size_bytes: int) -> None:
        """Give back the room of a replica in a log dir; nothing if its log dir is not known (-1)."""
        if row >= 0:
            self._bytes[row] -= size_bytes
            self._replicas[row] -= 1
            self._room[self.state.log_dirs.volume[row]] += size_bytes
            self._known_room = None

    def fullest(self, rows: I32) -> int:
        """Which of some log dirs of one broker is filled most; any of them if they are not known (-1)."""
        if rows[0] < 0:
            return 0
        fill = self._bytes[rows] / np.maximum(self._capacity[rows], 1.0)
        return int(np.lexsort((self._replicas[rows], fill))[-1])
