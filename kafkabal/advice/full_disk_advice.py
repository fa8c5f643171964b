"""What frees a full disk, starting with what moves no byte."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.advice.disk_relief import Relief, relief_of
from kafkabal.advice.record_ages import RecordAges
from kafkabal.errors import ConfigError, InfeasibleError, UsageError
from kafkabal.history import PartitionGrowth, Retention
from kafkabal.model import (
    I64,
    Bools,
    ClusterState,
    LogDirState,
    broker_capacity_bytes,
    dir_capacity_bytes,
    foreign_of_brokers,
    offline_replicas,
    replica_bytes,
)
from kafkabal.plan import apply_plan
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.scoring import shares_by_group


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRelief:
    """What a rebalance of all brokers does for the volume, as a plan shows: replicas only move whole."""

    freed_bytes: int
    """On the volume; above 0."""
    moved_bytes: int
    """All bytes that the plan moves, those of other brokers included."""


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
    replica_bytes: int
    """Bytes of the replicas on the volume: more than that, moving them cannot free."""
    ways: tuple[Relief, ...]
    """Ways without moving a byte, sorted by the bytes they free, most first."""
    leaders: int
    """Partitions led from the volume that another broker could lead: that frees nothing, but takes the reads
    elsewhere."""
    between_log_dirs: PlannedRelief | None
    """By balancing log dirs; None if the volume is within its share of the broker's replicas, or nothing is freed."""
    between_brokers: PlannedRelief | None
    """By moving data off brokers above the limit; if only the volume is, and balancing log dirs frees too little, by
    balancing the cluster. None if the volume is within the limit, or nothing is freed."""
    is_broker_above: bool
    """Whether the broker as a whole exceeds the limit."""
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
        If the broker is unknown or dead, or all are.
    ConfigError
        If no volume's size of the broker, or of any live one, is known.
    """
    dirs = state.log_dirs
    capacity, logs, used = dir_capacity_bytes(state), _logs(state), _used(state)
    may = (capacity > 0) & state.brokers.is_live[dirs.broker] & (dirs.state != LogDirState.OFFLINE)
    if broker is not None:
        row = state.brokers.index_of(broker)
        if row < 0:
            raise UsageError(f"--broker: unknown broker: {broker}", hint="see 'kafkabal inspect'")
        if not state.brokers.is_live[row]:
            raise UsageError(f"--broker: broker {broker} is dead", hint="choose a live one, see 'kafkabal inspect'")
        may &= dirs.broker == row
    if not state.brokers.is_live.any():
        raise UsageError("no live broker: disks of dead ones cannot be freed", hint="see 'kafkabal inspect'")
    if not may.any():
        whose = "no live broker has a disk" if broker is None else f"broker {broker} has no disk"
        raise ConfigError(f"{whose} of known size", hint="set 'capacity' in the profile")
    fullest = int(np.flatnonzero(may)[np.argmax(used[may] / capacity[may])])
    on_volume = dirs.volume == dirs.volume[fullest]
    held = state.replicas.log_dir
    on_it = (held >= 0) & on_volume[np.maximum(held, 0)]
    young_topics, first_expires_s = _topics_younger_than_retention(state, on_it, ages)
    needed_bytes = max(0, int(used[fullest]) - int(limit * capacity[fullest]))
    between_log_dirs = between_brokers = None
    if _is_above_mean(state, fullest, logs, tolerance):
        between_log_dirs = _planned(state, fullest, PlanOptions(tolerance=tolerance, mode=Mode.LOG_DIRS_ONLY))
    is_broker_above = _is_broker_above(state, int(dirs.broker[fullest]), limit)
    # moving replicas frees no more than they hold
    aim = min(needed_bytes, int(logs[fullest]))
    if aim and (is_broker_above or between_log_dirs is None or between_log_dirs.freed_bytes < aim):
        below = limit if is_broker_above else None
        between_brokers = _planned(state, fullest, PlanOptions(tolerance=tolerance, below=below))
    return ReliefAdvice(
        broker=int(state.brokers.id[dirs.broker[fullest]]),
        log_dir=dirs.path[fullest],
        used_bytes=int(used[fullest]),
        capacity_bytes=int(capacity[fullest]),
        needed_bytes=needed_bytes,
        replica_bytes=int(logs[fullest]),
        ways=tuple(relief_of(state, on_it, growth, retention, ages=ages)),
        leaders=_led_by_choice(state, on_it),
        between_log_dirs=between_log_dirs,
        between_brokers=between_brokers,
        is_broker_above=is_broker_above,
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


def _led_by_choice(state: ClusterState, on_it: Bools) -> int:
    """Partitions led from a volume that have another replica which could lead them."""
    able = state.replicas.in_sync & ~offline_replicas(state)
    candidates = np.bincount(state.replicas.partition[able], minlength=len(state.partitions))
    leads = state.leader_replica[(state.leader_replica >= 0) & (candidates > 1)]
    return int(on_it[leads].sum())


def _planned(state: ClusterState, fullest: int, options: PlanOptions) -> PlannedRelief | None:
    try:
        plan = make_plan(state, options)
    except (ConfigError, InfeasibleError):  # which 'rebalance' reports too
        return None
    freed = int(_logs(state)[fullest] - _logs(apply_plan(state, plan))[fullest])
    return PlannedRelief(freed_bytes=freed, moved_bytes=plan.moved_bytes + plan.log_dir_bytes) if freed > 0 else None


def _is_broker_above(state: ClusterState, row: int, limit: float) -> bool:
    """Whether a broker as a whole exceeds the limit, as 'rebalance --below' counts."""
    held = int(replica_bytes(state)[state.replicas.broker == row].sum())
    room = limit * broker_capacity_bytes(state)[row] - np.nan_to_num(foreign_of_brokers(state))[row]
    return not np.isnan(room) and held > max(0, int(room))


def _logs(state: ClusterState) -> I64:
    """int64, shape (n_dirs,): bytes of the replicas on the volume of each dir."""
    dirs, replicas = state.log_dirs, state.replicas
    known = replicas.log_dir >= 0
    logs = np.bincount(replicas.log_dir[known], replica_bytes(state)[known], len(dirs))
    return (np.bincount(dirs.volume, logs)[dirs.volume] if len(dirs) else logs).astype(np.int64)


def _used(state: ClusterState) -> I64:
    """int64, shape (n_dirs,): used bytes of the volume of each dir, including other programs."""
    dirs, logs = state.log_dirs, _logs(state)
    reported = (dirs.usable_bytes >= 0) & (dirs.total_bytes >= 0)
    return np.where(reported, np.maximum(dirs.total_bytes - dirs.usable_bytes, logs), logs)


def _is_above_mean(state: ClusterState, fullest: int, logs: I64, tolerance: float) -> bool:
    """Whether the replicas on a volume exceed its share of what all volumes of its broker hold.

    Other programs' files do not count: balancing log dirs does not consider them either.
    """
    dirs, capacity = state.log_dirs, np.nan_to_num(dir_capacity_bytes(state))
    own = np.flatnonzero(dirs.broker == dirs.broker[fullest])
    _, first = np.unique(dirs.volume[own], return_index=True)
    counted = np.zeros(len(dirs), np.bool_)
    counted[own[first]] = True
    _, fair = shares_by_group(logs.astype(np.float64), capacity, counted, np.zeros(len(dirs), np.int32))
    return bool(logs[fullest] > (1 + tolerance) * fair[fullest])
