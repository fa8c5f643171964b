"""Whether brokers can be drained, checked without a plan, so that it takes seconds on the largest clusters.

Passing is necessary, not sufficient: free space is compared as sums and with single replicas, and only a plan shows how
all replicas together fit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.errors import InfeasibleError, UsageError
from kafkabal.model import (
    I64,
    MIN_INSYNC_REPLICAS,
    UNLIMITED,
    Bools,
    ClusterState,
    LogDirState,
    dir_room_bytes,
    first_open_dirs,
    has_readable_copy,
    is_reassigned,
    log_bytes,
    move_bytes,
    offline_replicas,
    rack_numbers,
    racks_by_partition,
    required_racks,
    takes_replicas,
    volume_room_bytes,
)
from kafkabal.plan import copy_s


@dataclass(frozen=True, slots=True)
class Blocker:
    """A reason why partitions of a topic cannot leave the brokers."""

    topic: str
    partitions: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrainCheck:
    """What a drain would take, and what prevents it."""

    brokers: tuple[int, ...]
    replicas: int
    """Replicas to move away."""
    leaders: int
    """Partitions that the brokers lead."""
    bytes: int
    unknown_sizes: int
    """Replicas of unknown size, counted as 0 bytes."""
    duration_s: float
    """Time of the copies at the throttle, if the receiving brokers share them evenly."""
    blockers: tuple[Blocker, ...]
    """By topic, the most partitions first."""
    target: tuple[int, ...]
    """shape (n,): broker of each log dir that accepts replicas."""
    target_dir: tuple[str, ...]
    target_room_bytes: tuple[int | None, ...]
    """Free space up to the limit; None if the size of the volume is unknown."""
    missing_bytes: int
    """Bytes that all of them together lack."""

    @property
    def can_drain(self) -> bool:
        """Whether nothing found without a plan prevents it."""
        return not self.blockers and not self.missing_bytes


def check_drain(
    state: ClusterState,
    brokers: Collection[int],
    *,
    throttle_bytes_per_s: float,
    excluded: Collection[int] = (),
) -> DrainCheck:
    """Check what a drain would take.

    Parameters
    ----------
    throttle_bytes_per_s
        Per broker in each direction.
    excluded
        Brokers that accept no replicas.

    Raises
    ------
    UsageError
        If the broker is unknown.
    InfeasibleError
        If no live broker would be left.
    """
    for broker in brokers:
        if state.brokers.index_of(broker) < 0:
            raise UsageError(f"unknown broker: {broker}", hint="see 'kafkabal inspect'")
    leaves = np.isin(state.brokers.id, list(brokers))
    takes = takes_replicas(state, leaves | np.isin(state.brokers.id, list(excluded)))
    if not takes.any():
        raise InfeasibleError("no live broker remains to take replicas", hint="drain fewer brokers")
    r = state.replicas
    leaving = leaves[r.broker] & ~r.removing
    each = move_bytes(state)[r.partition[leaving]]
    bytes_ = int(np.maximum(each, 0).sum())
    dirs, room = _targets(state, takes)
    known = room < UNLIMITED
    lacking = max(0, bytes_ - _room_bytes(state, takes)) if known.all() and len(dirs) else 0
    return DrainCheck(
        brokers=tuple(sorted(brokers)),
        replicas=int(leaving.sum()),
        leaders=int(leaves[state.partitions.leader[state.partitions.leader >= 0]].sum()),
        bytes=bytes_,
        unknown_sizes=int((each < 0).sum()),
        duration_s=_duration_s(state, leaving, takes, throttle_bytes_per_s),
        blockers=tuple(_blockers(state, leaves, takes, leaving, _largest_fit_bytes(state, takes))),
        target=tuple(state.brokers.id[state.log_dirs.broker[dirs]].tolist()),
        target_dir=tuple(state.log_dirs.path[d] for d in dirs.tolist()),
        target_room_bytes=tuple(b if b < UNLIMITED else None for b in room.tolist()),
        missing_bytes=lacking,
    )


def _targets(state: ClusterState, takes: Bools) -> tuple[I64, I64]:
    dirs = np.flatnonzero(takes[state.log_dirs.broker])
    return dirs, dir_room_bytes(state, DEFAULT_LOG_DIR_LIMIT)[dirs]


def _room_bytes(state: ClusterState, takes: Bools) -> int:
    """Free space of all volumes together; dirs of one volume share it."""
    rows = first_open_dirs(state)
    room = volume_room_bytes(state, DEFAULT_LOG_DIR_LIMIT)
    return int(room[rows[takes[state.log_dirs.broker[rows]]]].sum())


def _largest_fit_bytes(state: ClusterState, takes: Bools) -> int:
    """The largest replica that one of the log dirs could hold if all other replicas left its volume."""
    dirs, room = state.log_dirs, dir_room_bytes(state, DEFAULT_LOG_DIR_LIMIT)
    held = np.bincount(dirs.volume, log_bytes(dirs, state.replicas), len(dirs)).astype(np.int64)[dirs.volume]
    most = np.where(room < UNLIMITED, room + held, UNLIMITED)
    is_open = takes[dirs.broker] & (dirs.state == LogDirState.ONLINE)
    # brokers without a single log dir have not reported any
    return int(most[is_open].max()) if is_open.any() else int(UNLIMITED)


def _duration_s(state: ClusterState, leaving: Bools, takes: Bools, rate: float) -> float:
    """The time of the receiving brokers together or of the busiest sender, the leader, whichever is longer."""
    r = state.replicas
    partition = r.partition[leaving]
    each = np.maximum(move_bytes(state)[partition], 0).astype(np.float64)
    leader = state.partitions.leader[partition]
    sent = np.bincount(leader[leader >= 0], each[leader >= 0], len(takes)).astype(np.int64)
    received = int(each.sum()) // int(takes.sum())
    return copy_s((dict(enumerate(sent.tolist())), dict.fromkeys(np.flatnonzero(takes).tolist(), received)), rate)


def _blockers(
    state: ClusterState, leaves: Bools, takes: Bools, leaving: Bools, largest_fit_bytes: int
) -> Iterator[Blocker]:
    n = len(state.partitions)
    concerned = np.zeros(n, np.bool_)
    concerned[state.replicas.partition[leaving]] = True
    found: list[Blocker] = []
    too_large = ("room: larger than a log dir may hold", move_bytes(state) > largest_fit_bytes)
    for reason, rows in (*_reasons(state, leaves, takes, leaving, concerned), too_large):
        topics, counts = np.unique(state.partitions.topic[np.flatnonzero(rows & concerned)], return_counts=True)
        found += [
            Blocker(state.topics.name[t], c, reason) for t, c in zip(topics.tolist(), counts.tolist(), strict=True)
        ]
    yield from sorted(found, key=lambda b: (-b.partitions, b.topic, b.reason))


def _reasons(
    state: ClusterState, leaves: Bools, takes: Bools, leaving: Bools, concerned: Bools
) -> Iterator[tuple[str, Bools]]:
    """Reasons that may block a drain, with the partitions that each blocks; valid for partitions to drain."""
    r, n = state.replicas, len(state.partitions)

    def count(rows: Bools) -> I64:
        return np.bincount(r.partition[rows], minlength=n).astype(np.int64)

    free = int(takes.sum()) - count(takes[r.broker])
    offline = offline_replicas(state)
    # Kafka completes no move of a partition that keeps a replica out of sync: offline replicas must leave as well
    yield "replication factor: too few other brokers", count(leaving | offline) > free
    rack, counted = rack_numbers(state), state.brokers.is_live & ~leaves
    # only a few partitions of a large cluster are concerned, and finding distinct pairs takes longest of all
    held = state.brokers.is_live[r.broker] & concerned[r.partition]
    before = racks_by_partition(r.partition[held], rack[r.broker[held]], n)
    left = len(np.unique(rack[counted]))
    yield "racks: the other brokers are in fewer racks", required_racks(before, left) < before
    yield "no in-sync replica is online to copy from", ~has_readable_copy(state)
    yield "another reassignment is moving it", is_reassigned(state)
    least = np.array([_min_insync(configs) for configs in state.topics.configs], np.int64)
    in_sync = count(r.in_sync & ~offline)
    if len(least):
        yield "fewer replicas in sync than min.insync.replicas", in_sync < least[state.partitions.topic]
    # a replica that is itself leaving may lag: it is replaced
    yield (
        "a replica that stays is out of sync",
        count(~r.in_sync & ~r.adding & ~leaving & ~offline) > 0,
    )


def _min_insync(configs: Mapping[str, str] | None) -> int:
    value = (configs or {}).get(MIN_INSYNC_REPLICAS, "")
    return int(value) if value.isdecimal() else 1
