"""A cluster and the options of a plan as the dense columns that the search works on.

A *position* is one place in the replica list of a partition. Partitions are rows and positions are columns of
matrices of shape (n_partitions, width), padded with -1, where width is the largest replication factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kafkabal.errors import InfeasibleError, UsageError
from kafkabal.model import (
    F64,
    I32,
    I64,
    NO_RACK,
    UNLIMITED,
    Bools,
    ClusterState,
    broker_capacity_bytes,
    first_open_dirs,
    has_no_working_dir,
    has_offline_dir,
    in_offline_dir,
    lasting_factor,
    move_bytes,
    named_brokers,
    rack_numbers,
    replica_bytes,
    room_for_replicas,
    takes_replicas,
    volume_headroom_bytes,
    volume_limit_bytes,
)
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_scope import ignored_partitions, in_scope, kept_replicas, movable_partitions
from kafkabal.scoring import (
    AskedLimits,
    Rules,
    Score,
    WeightedScore,
    default_scores,
    leaders_by_measurement,
    load_score,
    load_scores,
    require,
    select_scores,
)

DISK = load_score("disk")

NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """What may move where, and its load."""

    state: ClusterState
    options: PlanOptions
    scores: tuple[WeightedScore, ...]

    previous: I32
    """shape (n_partitions, width): broker of each position before the plan; -1 if the position is new or padding."""
    held_bytes: I64
    """shape (n_partitions, width): bytes of the copy in each position before the plan."""
    positions: I32
    """shape (n_partitions,): positions to be filled; differs from the current factor only if a change was requested."""
    arriving_bytes: I64
    """shape (n_partitions,): bytes of a new copy; 0 if unknown."""
    size_known: Bools
    topic: I32
    movable: Bools
    """shape (n_partitions,): whether the partition may be moved, for balance or only for repair."""
    lost: Bools
    """shape (n_partitions, width): whether the copy is in an offline log dir of a live broker, and has to leave it."""
    movable_positions: Bools
    """shape (n_partitions, width): whether the position may leave its broker for balance alone, without a rule."""
    leader: I32
    """shape (n_partitions,): the leader, or the broker of the first position if there is none."""
    electable: Bools
    """shape (n_partitions, width): whether the copy is in sync and on a live broker, so that it may lead."""

    counted: Bools
    """shape (n_brokers,): live and not drained, so that it has a fair share."""
    weighed: Bools
    """shape (n_brokers,): counted, with known log dirs, so that it has a fair share of bytes."""
    takes: Bools
    """shape (n_brokers,): whether it may receive replicas. A broker with an offline log dir may not, unless all have
    one: until the dir is replaced and the broker restarted, it takes back no partition that it lost there, and the
    cluster does not report which those are."""
    takes_unplaced: Bools
    """shape (n_brokers,): whether it may receive replicas that no other broker can take."""
    leaves: Bools
    """shape (n_brokers,): dead or drained: every replica that may move has to leave it."""
    rack: I32
    """shape (n_brokers,): number of the rack; a broker without a rack is a rack of its own; -1 if dead."""
    n_racks: int
    capacity: F64
    rules: Rules
    """What restricts the placement of loads, and thereby defines what is fair."""
    limit_bytes: I64
    """shape (n_brokers,): most bytes of replicas that a broker may hold."""
    asked_bytes: I64
    """shape (n_brokers,): most bytes that the user allows on a broker."""
    limit_replicas: I64

    @property
    def n_brokers(self) -> int:
        """Number of brokers, dead ones included."""
        return len(self.counted)

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.state.topics)

    @property
    def width(self) -> int:
        """Largest number of positions of a partition."""
        return int(self.previous.shape[1])

    @property
    def is_limited(self) -> Bools:
        """bool, shape (n_brokers,): with a limit that the user set, which may keep it below its bands."""
        return np.asarray((self.asked_bytes < UNLIMITED) | (self.limit_replicas < UNLIMITED))

    def score(self, name: str) -> Score:
        """A selected score."""
        return next(s.score for s in self.scores if s.score.name == name)

    def has_score(self, name: str) -> bool:
        """Whether a score is selected."""
        return any(s.score.name == name for s in self.scores)


def build_problem(state: ClusterState, options: PlanOptions) -> Problem:
    """Convert a cluster into the columns of the search.

    Raises
    ------
    UsageError
        If the options name a broker that does not exist.
    ConfigError
        If the capacity of only some brokers is known.
    InfeasibleError
        If no live broker is left.
    """
    counted = _counted(state, options)
    excluded = named_brokers(state, options.exclude_brokers, "--exclude-brokers")
    is_open = _open(state, options, ~counted | excluded)
    takes_unplaced = _takes_unplaced(state, options, is_open)
    _check_replication_factor(options.replication_factor, counted)
    previous, held = _matrix(state)
    positions = state.replication_factor
    lost = _in_positions(state, in_offline_dir(state), previous)
    balanced, repaired = movable_partitions(state, options, lost.any(1) | _held_by(state, ~counted))
    movable = balanced | repaired
    each = move_bytes(state)
    if options.replication_factor is not None:
        positions, previous, held = _refactored(positions, previous, held, balanced, options.replication_factor)
    lost = np.pad(lost, ((0, 0), (0, previous.shape[1] - lost.shape[1])))
    size_known, leader, rack = each >= 0, _leaders(state), _racks(state)
    movable_positions = (balanced & size_known)[:, None] & ~_in_positions(
        state, kept_replicas(state, options.keep_moved), previous
    )
    if options.max_leader_changes is not None:
        # followers move instead of leaders, if there are any
        movable_positions &= (previous != leader[:, None]) | (positions == 1)[:, None]
    return Problem(
        state=state,
        options=options,
        scores=_scores(state, options),
        previous=previous,
        held_bytes=held,
        positions=positions,
        arriving_bytes=np.maximum(each, 0),
        size_known=size_known,
        topic=state.partitions.topic,
        movable=movable,
        lost=lost,
        movable_positions=movable_positions,
        leader=leader,
        electable=_in_positions(state, state.replicas.in_sync & state.brokers.is_live[state.replicas.broker], previous),
        counted=counted,
        weighed=counted & ~has_no_working_dir(state),
        takes=_takes(state, is_open, takes_unplaced),
        takes_unplaced=takes_unplaced,
        leaves=~counted,
        rack=rack,
        n_racks=len(np.unique(rack[counted])),
        capacity=DISK.capacity(state),
        rules=_rules(state, options, counted, is_open, may_lead_more=~excluded, factor=positions),
        limit_bytes=_limit_bytes(state, options),
        asked_bytes=_asked(state, {b: limit.bytes for b, limit in options.broker_limits.items()}),
        limit_replicas=_asked(state, {b: limit.replicas for b, limit in options.broker_limits.items()}),
    )


def _counted(state: ClusterState, options: PlanOptions) -> Bools:
    """Brokers that are alive and not drained."""
    named_brokers(state, options.broker_limits, "--broker-limit")
    counted = state.brokers.is_live & ~named_brokers(state, options.drain, "--drain")
    if not counted.any():
        hint = "drain fewer brokers" if options.drain else "all brokers are dead: see 'kafkabal inspect'"
        raise InfeasibleError("no live broker remains to take replicas", hint=hint)
    return np.asarray(counted)


def _rules(
    state: ClusterState, options: PlanOptions, counted: Bools, is_open: Bools, *, may_lead_more: Bools, factor: I32
) -> Rules:
    return Rules(
        movable=in_scope(state, options),
        ignored=ignored_partitions(state, options),
        factor=lasting_factor(state) if options.replication_factor is None else factor,
        takes=is_open,
        may_lead_more=may_lead_more,
        leaves=~counted,
        rack=_racks(state),
        room_bytes=room_for_replicas(state, options.log_dir_limit),
        volume_limit_bytes=volume_limit_bytes(state, options.log_dir_limit),
        asked=_asked_limits(state, options) if options.broker_limits else None,
    )


def _asked_limits(state: ClusterState, options: PlanOptions) -> AskedLimits:
    """The limits of the options, and how many replicas that may move fit them at most: the smallest ones."""
    bytes_ = _as_floats(_asked(state, {b: limit.bytes for b, limit in options.broker_limits.items()}))
    replicas = _as_floats(_asked(state, {b: limit.replicas for b, limit in options.broker_limits.items()}))
    movable, r, n = in_scope(state, options), state.replicas, len(state.brokers)
    stays = np.flatnonzero(~movable[r.partition])
    held = np.bincount(r.broker[stays], replica_bytes(state)[stays], n)
    sums = np.cumsum(np.sort(np.maximum(move_bytes(state)[movable], 0)))
    fitting = np.where(np.isinf(bytes_), np.inf, np.searchsorted(sums, bytes_ - held, side="right"))
    return AskedLimits(
        bytes=bytes_, replicas=np.minimum(fitting, np.maximum(replicas - np.bincount(r.broker[stays], minlength=n), 0))
    )


def _as_floats(limits: I64) -> F64:
    return np.where(limits < UNLIMITED, limits, np.inf)


def _scores(state: ClusterState, options: PlanOptions) -> tuple[WeightedScore, ...]:
    """The selected scores; only disk if brokers above a share are to be relieved."""
    if options.below is not None:
        _check_disk_sizes(state)
        return load_scores(["disk"])
    aims_at_bytes = options.mode not in {Mode.LEADERS_ONLY, Mode.REPAIR_ONLY}
    if not options.scores and not aims_at_bytes:
        return select_scores(state).scores
    several = bool((np.diff(state.log_dirs.first) > 1).any())
    scores = options.scores or default_scores(several_log_dirs=several)
    for weighted in scores:
        require(weighted.score, state)
    return leaders_by_measurement(scores) if options.mode is Mode.LEADERS_ONLY else scores


def _check_disk_sizes(state: ClusterState) -> None:
    """Refuse ``--below`` if no usage is known: with equal sizes assumed, every broker with data was above it."""
    if np.isnan(broker_capacity_bytes(state)[state.brokers.is_live]).all():
        raise UsageError(
            "--below needs the sizes of disks: no live broker reports them", hint="set 'capacity' in the profile"
        )


def _matrix(state: ClusterState) -> tuple[I32, I64]:
    r, first = state.replicas, state.partitions.first
    width = int(state.replication_factor.max(initial=1))
    previous = np.full((len(state.partitions), width), NONE, np.int32)
    held = np.zeros(previous.shape, np.int64)
    position = np.arange(len(r)) - first[r.partition]
    previous[r.partition, position] = r.broker
    held[r.partition, position] = replica_bytes(state)
    return previous, held


def _in_positions(state: ClusterState, replicas: Bools, previous: I32) -> Bools:
    """A column of replicas in the shape of the positions."""
    r = state.replicas
    found = np.zeros(previous.shape, np.bool_)
    found[r.partition, np.arange(len(r)) - state.partitions.first[r.partition]] = replicas
    return found


def _held_by(state: ClusterState, brokers: Bools) -> Bools:
    """bool, shape (n_partitions,): whether one of these brokers holds a replica."""
    r = state.replicas
    found = np.zeros(len(state.partitions), np.bool_)
    found[r.partition[brokers[r.broker]]] = True
    return found


def _check_replication_factor(factor: int | None, counted: Bools) -> None:
    """Refuse a replication factor that no search can reach."""
    brokers = int(counted.sum())
    if factor is not None and factor > brokers:
        raise UsageError(
            f"--replication-factor {factor} needs as many brokers: {brokers} are alive and not drained",
            hint=f"choose at most {brokers}",
        )


def _refactored(positions: I32, previous: I32, held: I64, movable: Bools, factor: int) -> tuple[I32, I32, I64]:
    target_positions = np.where(movable, factor, positions).astype(np.int32)
    missing = max(0, factor - previous.shape[1])
    padding = ((0, 0), (0, missing))
    return target_positions, np.pad(previous, padding, constant_values=NONE), np.pad(held, padding)


def _leaders(state: ClusterState) -> I32:
    leader = state.partitions.leader
    if not len(leader):
        return leader
    return np.where(leader >= 0, leader, state.replicas.broker[state.partitions.first[:-1]]).astype(np.int32)


def _open(state: ClusterState, options: PlanOptions, closed: Bools) -> Bools:
    """Brokers that may receive replicas, except those whose volumes other programs alone fill beyond the limit.

    Such a broker could shed everything it holds and still have no room: copies to it would wait forever.
    """
    return np.asarray(takes_replicas(state, closed) & (room_for_replicas(state, options.log_dir_limit) > 0))


def _takes_unplaced(state: ClusterState, options: PlanOptions, is_open: Bools) -> Bools:
    if options.mode is not Mode.ONLY_TO_NEW:
        return is_open
    return np.asarray(is_open & (np.bincount(state.replicas.broker, minlength=len(is_open)) == 0))


def _takes(state: ClusterState, is_open: Bools, takes_unplaced: Bools) -> Bools:
    undamaged = is_open & ~has_offline_dir(state)
    return takes_unplaced & undamaged if undamaged.any() else takes_unplaced


def _racks(state: ClusterState) -> I32:
    rack = rack_numbers(state)
    rack[~state.brokers.is_live] = NO_RACK
    return rack


def _limit_bytes(state: ClusterState, options: PlanOptions) -> I64:
    """Most bytes that the open log dirs of a broker may hold, less what other programs occupy on their volumes.

    Less than a broker holds if all its volumes are beyond the limit: one of them has to shed the excess first.
    """
    dirs, rows = state.log_dirs, first_open_dirs(state)
    headroom = np.minimum(volume_headroom_bytes(state, options.log_dir_limit)[rows], UNLIMITED // 1024)
    limit, largest = np.zeros(len(state.brokers), np.int64), np.full(len(state.brokers), -UNLIMITED)
    np.add.at(limit, dirs.broker[rows], np.maximum(headroom, 0))
    np.maximum.at(largest, dirs.broker[rows], headroom)
    limit = np.where((largest < 0) & (largest > -UNLIMITED), largest, limit)
    # copies in offline log dirs occupy no space on the volumes that count
    here = np.flatnonzero(~in_offline_dir(state))
    np.add.at(limit, state.replicas.broker[here], replica_bytes(state)[here])
    limit[dirs.broker[dirs.total_bytes < 0]] = UNLIMITED
    limit[np.diff(dirs.first) == 0] = UNLIMITED
    return np.minimum(limit, _asked(state, {b: given.bytes for b, given in options.broker_limits.items()}))


def _asked(state: ClusterState, limits: Mapping[int, int | None]) -> I64:
    """Limits by broker id as a column; unlimited if not set."""
    column = np.full(len(state.brokers), UNLIMITED, np.int64)
    for broker_id, limit in limits.items():
        if limit is not None:
            column[state.brokers.index_of(broker_id)] = limit
    return column
