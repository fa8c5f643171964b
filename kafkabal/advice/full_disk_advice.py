"""What frees a full disk, starting with what moves no byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.advice.disk_relief import Relief, relief_of
from kafkabal.advice.record_ages import RecordAges
from kafkabal.errors import ConfigError, UsageError
from kafkabal.history import PartitionGrowth, Retention
from kafkabal.model import I64, Bools, ClusterState, dir_capacity_bytes, replica_bytes
from kafkabal.scoring import shares_by_group


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliefAdvice:
    """How to relieve the fullest volume of a broker."""

    broker: int
    log_dir: str
    used_bytes: int
    """Used bytes of the volume, including other programs."""
    capacity_bytes: int
    needed_bytes: int
    """Bytes to free until the volume is within the limit; 0 if it is."""
    ways: tuple[Relief, ...]
    """Ways without moving a byte, sorted by the bytes they free, most first."""
    leaders: int
    """Partitions led from the volume: moving leadership frees nothing, but takes the reads elsewhere."""
    log_dir_bytes: int
    """Bytes that balancing the volumes of the broker would take off it."""
    is_measured: bool
    """Rates come from history, or ages from the records; else every log is assumed to be at its steady state."""
    young_topics: int
    """Topics on the volume without a record older than half the retention, which would delete nothing of them yet."""
    first_expires_s: float | None
    """Seconds until their first record is that old; None if there are no such topics, or ages are unknown."""


def advise_relief(
    state: ClusterState,
    growth: PartitionGrowth | None,
    retention: Retention,
    broker: int | None,
    limit: float,
    tolerance: float,
    ages: RecordAges | None = None,
) -> ReliefAdvice:
    """Advise on the fullest volume, of a broker or of the whole cluster.

    Parameters
    ----------
    limit
        Maximum fraction used of the volume.
    tolerance
        How far above the mean of its broker a volume may be and still count as balanced.

    Raises
    ------
    UsageError
        If the broker is unknown.
    ConfigError
        If no volume's size is known.
    """
    dirs = state.log_dirs
    capacity, used = dir_capacity_bytes(state), _used(state)
    may = capacity > 0
    if broker is not None:
        row = state.brokers.index_of(broker)
        if row < 0:
            raise UsageError(f"--broker: unknown broker: {broker}", hint="see 'kafkabal inspect'")
        may &= dirs.broker == row
    if not may.any():
        raise ConfigError("the sizes of all disks are unknown", hint="set 'capacity' in the profile")
    fullest = int(np.flatnonzero(may)[np.argmax(used[may] / capacity[may])])
    on_volume = dirs.volume == dirs.volume[fullest]
    held = state.replicas.log_dir
    on_it = (held >= 0) & on_volume[np.maximum(held, 0)]
    leads = state.leader_replica
    young_topics, first_expires_s = _topics_younger_than_retention(state, on_it, ages)
    return ReliefAdvice(
        broker=int(state.brokers.id[dirs.broker[fullest]]),
        log_dir=dirs.path[fullest],
        used_bytes=int(used[fullest]),
        capacity_bytes=int(capacity[fullest]),
        needed_bytes=max(0, int(used[fullest] - limit * capacity[fullest])),
        ways=tuple(relief_of(state, on_it, growth, retention, ages=ages)),
        leaders=int(on_it[leads[leads >= 0]].sum()),
        log_dir_bytes=_above_mean(state, fullest, used, tolerance),
        is_measured=growth is not None or ages is not None,
        young_topics=young_topics,
        first_expires_s=first_expires_s,
    )


def _topics_younger_than_retention(
    state: ClusterState, on_it: Bools, ages: RecordAges | None
) -> tuple[int, float | None]:
    """Topics whose records on a volume are all young, and seconds until the first record is not."""
    if ages is None:
        return 0, None
    here = np.unique(state.replicas.partition[on_it & (replica_bytes(state) > 0)])
    topic = state.partitions.topic[here]
    first_s = np.full(len(state.topics), np.inf)
    np.minimum.at(first_s, topic, np.nan_to_num(ages.first_expires_s[here], nan=-1.0))
    young = np.isfinite(first_s) & (first_s >= 0)
    return int(young.sum()), float(first_s[young].min()) if young.any() else None


def _used(state: ClusterState) -> I64:
    """int64, shape (n_dirs,): used bytes of the volume of each dir, including other programs."""
    dirs, replicas = state.log_dirs, state.replicas
    known = replicas.log_dir >= 0
    logs = np.bincount(replicas.log_dir[known], replica_bytes(state)[known], len(dirs))
    on_volume = np.bincount(dirs.volume, logs)[dirs.volume] if len(dirs) else np.empty(0)
    reported = (dirs.usable_bytes >= 0) & (dirs.total_bytes >= 0)
    return np.where(reported, np.maximum(dirs.total_bytes - dirs.usable_bytes, on_volume), on_volume).astype(np.int64)


def _above_mean(state: ClusterState, fullest: int, used: I64, tolerance: float) -> int:
    """Bytes of the volume above its share of what all volumes of its broker hold; 0 within the tolerance."""
    dirs, capacity = state.log_dirs, np.nan_to_num(dir_capacity_bytes(state))
    own = np.flatnonzero(dirs.broker == dirs.broker[fullest])
    _, first = np.unique(dirs.volume[own], return_index=True)
    counted = np.zeros(len(dirs), np.bool_)
    counted[own[first]] = True
    _, fair = shares_by_group(used.astype(np.float64), capacity, counted, np.zeros(len(dirs), np.int32))
    above = used[fullest] - fair[fullest]
    return int(above) if above > tolerance * fair[fullest] else 0
