"""Forecasts how full log dirs will be: every replica grows at its partition's rate until retention deletes as much.

::

    bytes(t) = min(now + rate x t, steady)                    while it grows
             = max(steady, now - (now - steady) x t / keep)   if less is written than before

A linear trend would raise an alarm for every topic younger than its retention; this raises one only if the disk is too
small for what its topics will become.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from kafkabal.history.partition_growth import PartitionGrowth
from kafkabal.history.topic_retention_limits import Retention
from kafkabal.model import F64, I64, ClusterState, LogDirState, freeze, log_bytes, replica_bytes
from kafkabal.units import DAY_S

FARTHEST_FULL_S: Final = 10 * 365 * DAY_S
"""A disk that would be full later never is: ten years are longer than the life of disks and clusters, and than any
history."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """The future of every replica of a state, as straight lines that end."""

    state: ClusterState
    now_bytes: F64
    """float64, shape (n_replicas,)."""
    slope: F64
    """float64, shape (n_replicas,): bytes per second, negative if it shrinks."""
    until_s: F64
    """float64, shape (n_replicas,): seconds until it stays constant; infinite if nothing limits it."""

    def replica_bytes_at(self, after_s: float) -> F64:
        """float64, shape (n_replicas,): bytes of each replica this many seconds from now."""
        return np.asarray(self.now_bytes + self.slope * np.minimum(self.until_s, after_s))

    def steady_bytes(self) -> F64:
        """float64, shape (n_replicas,): final bytes of each; infinite if nothing limits it."""
        with np.errstate(invalid="ignore"):
            grown = np.where(self.slope == 0, 0.0, self.slope * self.until_s)
        # now - (now - 0) / t * t leaves a rounding error around zero; bytes are integers
        return np.rint(self.now_bytes + grown)

    def state_at(self, after_s: float) -> ClusterState:
        """The cluster with the future sizes of its replicas, and accordingly less free space on its volumes."""
        later = np.rint(self.replica_bytes_at(after_s)).astype(np.int64)
        replicas, dirs = self.state.replicas, self.state.log_dirs
        grown = replace(replicas, size_bytes=np.where(replicas.size_bytes >= 0, later, replicas.size_bytes))
        more = log_bytes(dirs, grown) - log_bytes(dirs, replicas)
        n_volumes = int(dirs.volume.max(initial=-1)) + 1
        on_volume = np.bincount(dirs.volume, more, n_volumes)[dirs.volume] if len(dirs) else np.empty(0)
        left = np.maximum(dirs.usable_bytes - np.rint(on_volume).astype(np.int64), 0)
        usable = np.where(dirs.usable_bytes >= 0, left, dirs.usable_bytes)
        freeze(grown.size_bytes, usable)
        return self.state.replace(replicas=grown, log_dirs=replace(dirs, usable_bytes=usable))

    def full_after_s(self) -> F64:
        """float64, shape (n_dirs,): seconds until the volume of each dir is full.

        Infinite if that is not within :data:`FARTHEST_FULL_S`; NaN if its size is unknown, or it is offline. Other
        programs are assumed to keep the bytes they have.
        """
        dirs = self.state.log_dirs
        room, found = _room(self.state), np.full(len(dirs), np.nan)
        held = self.state.replicas.log_dir
        rows = np.flatnonzero(held >= 0)
        volume = dirs.volume[held[rows]]
        order = np.argsort(volume, kind="stable")
        edges = np.searchsorted(volume[order], np.arange(int(dirs.volume.max(initial=-1)) + 2))
        for number in range(len(edges) - 1):
            on_it = dirs.volume == number
            if np.isnan(room[on_it]).all():
                continue
            own = rows[order[edges[number] : edges[number + 1]]]
            found[on_it & ~np.isnan(room)] = _crossing(
                self.slope[own], self.until_s[own], float(np.nanmax(room[on_it]))
            )
        return np.where(found > FARTHEST_FULL_S, np.inf, found)


def forecast_cluster(
    state: ClusterState, growth: PartitionGrowth, retention: Retention, *, rate_factor: float = 1.0
) -> Forecast:
    """The future of a state.

    Parameters
    ----------
    rate_factor
        Multiplies the rate of every partition, for the ends of an interval.
    """
    rate = growth.mean * rate_factor
    steady = retention.steady_bytes(rate)
    partition = state.replicas.partition
    now = replica_bytes(state).astype(np.float64)
    target, inflow = steady[partition], rate[partition]
    # an unknown rate predicts nothing; neither does one by size, which may be too low, that a log shrinks
    is_known = growth.is_known[partition]
    grows = (now < target) & is_known
    shrinks = (now > target) & is_known & ~growth.is_by_size[partition]
    keep_s = np.maximum(np.minimum(retention.keep_s, 1e10), 1.0)[partition]
    by_bytes = (retention.keep_bytes <= steady)[partition]
    shrink_s = np.where(by_bytes, max(retention.check_s, 1.0), keep_s)
    slope = np.where(grows, inflow, np.where(shrinks, (target - now) / shrink_s, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        until = np.where(grows & (inflow > 0), (target - now) / inflow, np.where(shrinks, shrink_s, 0.0))
    return Forecast(state=state, now_bytes=now, slope=np.where(until > 0, slope, 0.0), until_s=until)


def _room(state: ClusterState) -> F64:
    """float64, shape (n_dirs,): free bytes on the volume of each dir; NaN if unknown."""
    dirs = state.log_dirs
    logs: I64 = log_bytes(dirs, state.replicas)
    on_volume = np.bincount(dirs.volume, logs)[dirs.volume] if len(dirs) else np.empty(0)
    free = np.where(dirs.usable_bytes >= 0, dirs.usable_bytes, dirs.total_bytes - on_volume).astype(np.float64)
    known = (dirs.total_bytes >= 0) & (dirs.state != LogDirState.OFFLINE)
    return np.where(known, np.maximum(free, 0.0), np.nan)


def _crossing(slope: F64, until_s: F64, room: float) -> float:
    """Seconds until lines that end have added more than ``room``; infinite if they never do."""
    if room <= 0:
        return 0.0
    order = np.argsort(until_s, kind="stable")
    ends, each = until_s[order], slope[order]
    starts = np.concatenate([[0.0], ends])
    total = np.concatenate([[each.sum()], each.sum() - np.cumsum(each)])
    finite = np.isfinite(ends)
    lengths = np.diff(starts[: int(finite.sum()) + 1])
    added = np.concatenate([[0.0], np.cumsum(lengths * total[: len(lengths)])])
    over = np.flatnonzero(added > room)
    if over.size:
        step = int(over[0]) - 1
        return float(starts[step] + (room - added[step]) / total[step])
    last = len(lengths)
    # the rest grows without limit; sums of the slopes that ended may leave a rounding error
    rest = float(each[last:].sum())
    return float(starts[last] + (room - added[last]) / rest) if rest > 0 else float("inf")
