"""The current broker of every position during the search, with the resulting loads.

A position is named by its partition and its number, or by one number for both, its *cell*:
``partition x width + number``.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kafkabal.model import (
    F64,
    I8,
    I32,
    I64,
    NO_RACK,
    Bools,
    ClusterState,
    may_enter,
    may_enter_each,
    missing_racks,
    required_racks,
)
from kafkabal.planner.due_loads import DueLoads, bytes_due, due_loads
from kafkabal.planner.integer_bands import Bands, make_bands
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.problem import NONE, Problem
from kafkabal.planner.search.grouped_array_operations import any_of_row

Counts: TypeAlias = NDArray[np.unsignedinteger[Any]]


class Guidance(NamedTuple):
    """What moves are worth, by a linear relaxation of the whole problem."""

    potential: F64
    """shape (n_brokers,): value of taking a byte away from each broker."""
    price: F64
    """shape (n_partitions, width): cost of moving each position, net of its value, per byte copied."""
    bound: float
    """Bytes that every plan moves, not rounded."""


class AscentFound(NamedTuple):
    """The end of an ascent of the lower bound."""

    asked: float
    """Bytes at which it would have ended earlier."""
    value: float
    """Bytes, not rounded."""
    potential: F64
    """shape (2 n_brokers,): potentials of bytes and of replicas."""


class Solution:
    """A placement that can be changed, with loads updated by every change."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.width = problem.width
        self.placement: I32 = problem.previous.copy()
        self.is_position: Bools = (problem.previous >= 0) | (np.arange(self.width) < problem.positions[:, None])
        """Positions that hold a replica or are to be filled."""
        # the last entry stands for "nowhere", which -1 refers to
        self.rack: I32 = np.append(problem.rack, NO_RACK).astype(np.int32)
        self.required_racks: I32 = required_racks(problem.positions, problem.n_racks)
        self._one_a_rack = bool((problem.positions <= problem.n_racks).all())
        self.why: I8 = np.zeros(self.placement.shape, np.int8)
        """A :class:`~kafkabal.planner.move_cause.MoveCause` for each position that has left its broker."""
        self.guidance: Guidance | None = None
        """If copies of a partition differ in size: some relieve their broker by more than they cost."""
        self.ascent_found: AscentFound | None = None
        """For the state before the plan."""
        self._recount()
        self.due: DueLoads = due_loads(problem, self.placement, bytes_agree=self.sizes_agree())
        self.used_before: I64 = self.used.copy()
        """shape (n_brokers,): bytes on each broker before the plan."""
        self.bands: Bands = make_bands(problem, self.due, self._total_bytes(), self.used_before)

    def copy(self) -> Solution:
        """A copy of the placement that can be changed independently."""
        clone = copy(self)
        clone.ascent_found = None
        for name in ("placement", "is_position", "why", "used", "count"):
            setattr(clone, name, getattr(self, name).copy())
        if self.topic_count is not None:
            clone.topic_count = self.topic_count.copy()
        return clone

    def with_equal_copies(self) -> Solution:
        """The same placement in a cluster in which every copy of a partition is as large as a new one."""
        problem = self.problem
        same = (problem.previous >= 0) & problem.size_known[:, None]
        held = np.where(same, problem.arriving_bytes[:, None], problem.held_bytes)
        clone = Solution(replace(problem, held_bytes=held))
        clone.placement, clone.is_position, clone.why = self.placement.copy(), self.is_position.copy(), self.why.copy()
        clone._recount()
        clone.refresh_bands()
        return clone

    def _recount(self) -> None:
        problem = self.problem
        placed = self.placement >= 0
        broker = self.placement[placed]
        load = np.where(self.placement == problem.previous, problem.held_bytes, problem.arriving_bytes[:, None])[placed]
        n = problem.n_brokers
        self.used: I64 = np.bincount(broker, load.astype(np.float64), n).astype(np.int64)
        self.count: I64 = np.bincount(broker, minlength=n).astype(np.int64)
        needs_topics = problem.has_score("topic-spread")
        self.topic_count: Counts | None = self._count_topics(placed, broker) if needs_topics else None

    def _count_topics(self, placed: Bools, broker: I32) -> Counts:
        """shape (n_topics, n_brokers): replicas of each topic on each broker, in a type with room for one more."""
        problem = self.problem
        # a broker holds a partition once at most, so that the partitions of the largest topic limit every count
        most = int(np.bincount(problem.topic, minlength=1).max())
        table = np.zeros((problem.n_topics, problem.n_brokers), np.min_scalar_type(most + 1))
        _add_pairs(table, np.broadcast_to(problem.topic[:, None], placed.shape)[placed], broker, 1)
        return table

    def _total_bytes(self) -> int:
        """Bytes on counted brokers once all positions on other brokers and all empty positions have moved there."""
        problem = self.problem
        here = int(self.used[problem.weighed].sum())
        movable = problem.movable[:, None] & self.is_position
        coming = movable & ((self.placement < 0) | problem.leaves[self.placement])
        return here + int(problem.arriving_bytes[np.nonzero(coming)[0]].sum())

    def adopt(self, after: ClusterState) -> None:
        """Adopt a placement of the same cluster; replicas that stay keep their positions."""
        r = after.replicas
        there = np.full(self.placement.shape, NONE, np.int32)
        there[r.partition, np.arange(len(r)) - after.partitions.first[r.partition]] = r.broker
        differs = np.flatnonzero((np.sort(there, axis=1) != np.sort(self.placement, axis=1)).any(1))
        for p in differs.tolist():
            self._adopt_partition(p, [b for b in there[p].tolist() if b >= 0])
        self.refresh_bands()

    def _adopt_partition(self, p: int, brokers: list[int]) -> None:
        positions = np.flatnonzero(self.is_position[p]).tolist()
        # of dropped replicas too: one may be kept after all, and another one is dropped instead
        previous = {b: k for k, b in enumerate(self.problem.previous[p].tolist()) if b >= 0}
        target = {previous[b]: b for b in brokers if b in previous}
        arrivals = [b for b in brokers if b not in previous]
        free = [k for k in positions if k not in target][: max(0, len(positions) - len(target))]
        placed = [k for k in positions if self.placement[p, k] >= 0]
        self.lift(np.full(len(placed), p), np.array(placed, np.int64), MoveCause.BALANCE)
        self.is_position[p] = False
        self.is_position[p, [*target, *free]] = True
        target.update(zip(free, sorted(arrivals), strict=False))
        rows = np.array(sorted(target), np.int64)
        self.put(np.full(len(rows), p), rows, np.array([target[k] for k in rows.tolist()], np.int64))

    def refresh_bands(self, narrowed: float = 0.0, tolerance: float | None = None) -> None:
        """Update the bands to the total, which changes if copies of a partition differ in size: :func:`make_bands`.

        Parameters
        ----------
        tolerance
            Instead of the one that the options ask for.
        """
        problem = self.problem
        self.due = bytes_due(problem, self.placement, self.due)
        if tolerance is not None:
            problem = replace(problem, options=replace(problem.options, tolerance=tolerance))
        self.bands = make_bands(problem, self.due, self._total_bytes(), self.used_before, narrowed)

    # -- questions ---------------------------------------------------------------------------------------------

    def load(self, p: I64, k: I64, broker: I32 | I64 | int) -> I64:
        """Bytes of positions on these brokers: those of the existing copy, otherwise those of a new one."""
        problem = self.problem
        return np.where(problem.previous[p, k] == broker, problem.held_bytes[p, k], problem.arriving_bytes[p])

    def stays(self) -> Bools:
        """bool, shape (n_partitions, width): whether the position is on the broker that held it before."""
        return np.asarray(self.is_position & (self.placement == self.problem.previous))

    def moved(self) -> Bools:
        """bool, shape (n_partitions, width): whether the position is on a broker that held no copy before."""
        return np.asarray((self.placement >= 0) & (self.placement != self.problem.previous))

    def dropped(self) -> Bools:
        """bool, shape (n_partitions, width): whether the replica goes without replacement, since fewer are wanted."""
        return np.asarray((self.problem.previous >= 0) & ~self.is_position)

    def most_bytes(self) -> I64:
        """int64, shape (n_brokers,): upper edges of the bands, or what the disks hold if that is less."""
        return np.minimum(self.bands.high_bytes, self.problem.limit_bytes)

    def room_bytes(self) -> I64:
        """int64, shape (n_brokers,): bytes that may still arrive at each broker.

        Negative if it is beyond its limit, where not even an empty replica may arrive: a run would never start it.
        """
        return np.asarray(self.problem.limit_bytes - self.used)

    def sizes_agree(self) -> bool:
        """Whether every copy of a partition is as large as a new one would be."""
        problem = self.problem
        return bool(((problem.held_bytes == problem.arriving_bytes[:, None]) | (problem.previous < 0)).all())

    def moved_bytes(self) -> int:
        """Bytes that the plan so far moves."""
        return int((self.moved().sum(1) * self.problem.arriving_bytes).sum())

    def must_leave(self) -> Bools:
        """Positions on dead or drained brokers, or in offline log dirs, that may move."""
        problem = self.problem
        there = (self.placement >= 0) & problem.movable[:, None]
        return np.asarray(
            there & (problem.leaves[self.placement] | (problem.lost & (self.placement == problem.previous)))
        )

    def keeps_dead(self) -> Bools:
        """bool, shape (n_partitions,): whether a replica is on a dead broker and no other takes its place."""
        is_dead = ~self.problem.state.brokers.is_live
        if not is_dead.any():
            return np.zeros(len(self.placement), np.bool_)
        return np.asarray(((self.placement >= 0) & is_dead[self.placement]).any(1))

    def keeps_offline(self) -> Bools:
        """:meth:`keeps_dead`, or the same for an offline log dir: Kafka never completes such a reassignment."""
        problem = self.problem
        stays = problem.lost & (self.placement == problem.previous) & (self.placement >= 0)
        return np.asarray(self.keeps_dead() | stays.any(1))

    def narrow(self) -> Bools:
        """Partitions that may move and are in fewer racks than they could be."""
        return np.asarray((self.missing_racks(self.placement) > 0) & self.problem.movable)

    def missing_racks(self, brokers: I32) -> I32:
        """int32, shape (n_partitions,): number of racks that each partition still lacks, given these brokers."""
        return missing_racks(self.rack[brokers], self.required_racks)

    def others(self, p: I64, k: I64) -> I32:
        """int32, shape (n, width): brokers of the other positions of each partition.

        A position that was lifted because of its topic may return, so it still occupies its previous broker.
        """
        rows = self.placement[p]
        may_return = (rows < 0) & (self.why[p] == MoveCause.TOPIC)
        rows[may_return] = self.problem.previous[p][may_return]
        rows[np.arange(len(p)), k] = NONE
        return rows

    def may_go(self, p: I64, k: I64, target: I32 | I64, leaving: I64 | int = 0) -> Bools:
        """bool, shape (n,): whether the rules let each position go to its target.

        Parameters
        ----------
        leaving
            How many replicas of the same topic leave the target in return.
        """
        return self.rules_allow(p, k, target) & self.topics_allow(p, target, leaving)

    def rules_allow(self, p: I64, k: I64, target: I32 | I64) -> Bools:
        """bool, shape (n,): whether all rules except those of topics let each position go to its target."""
        problem = self.problem
        others, previous = self.others(p, k), self._closed_by_previous(p, k)
        column = target[:, None]
        returns = (problem.previous[p, k] == target) & ~problem.leaves[target]
        allowed = (problem.takes[target] | returns) & ~any_of_row((others == column) | (previous == column))
        return np.asarray(allowed & self._may_enter(p, others, target))

    def topics_allow(self, p: I64, target: I32 | I64, leaving: I64 | int = 0) -> Bools:
        """bool, shape (n,): whether the target may hold one more replica of the topic."""
        if self.topic_count is None:
            return np.ones(len(p), np.bool_)
        topic = self.problem.topic[p]
        return np.asarray(self.topic_count[topic, target] < self.bands.topic_most(topic, target) + leaving)

    def may_return(self, p: I64, k: I64, instead_of: I64) -> Bools:
        """bool, shape (n,): whether each position may return once another is gone, by all rules but those of topics."""
        problem = self.problem
        home, others = problem.previous[p, k], self.others(p, instead_of)
        allowed = ~problem.leaves[home] & ~problem.lost[p, k] & ~any_of_row(others == home[:, None])
        return np.asarray(allowed & self._may_enter(p, others, home))

    def racks_allow(self, p: I64, k: I64, target: I32 | I64) -> Bools:
        """bool, shape (n,): whether the rack rule alone lets each position go to its target."""
        return self._may_enter(p, self.others(p, k), target)

    def _may_enter(self, p: I64, others: I32, target: I32 | I64) -> Bools:
        return may_enter(self.rack[others], self.rack[target], self._required_of(p))

    def _required_of(self, p: I64) -> I32 | None:
        return None if self._one_a_rack else self.required_racks[p]

    def may_go_anywhere(self, p: I64, k: I64, *, unplaced: bool = False, crowding: bool = False) -> Bools:
        """bool, shape (n, n_brokers): :meth:`may_go` for every broker at once.

        Parameters
        ----------
        unplaced
            Whether to allow brokers that only take what no other can.
        crowding
            Whether a broker may hold too many replicas of a topic.
        """
        problem = self.problem
        rows = np.arange(len(p))
        others, previous = self.others(p, k), self._closed_by_previous(p, k)
        # one more column, for -1
        closed = np.zeros((len(p), problem.n_brokers + 1), np.bool_)
        for i in range(self.width):
            closed[rows, others[:, i]] = True
            closed[rows, previous[:, i]] = True
        by_rack = may_enter_each(self.rack[others], int(self.rack.max()) + 1, self._required_of(p))
        allowed = ~closed[:, :-1] & by_rack[:, problem.rack] & (problem.takes_unplaced if unplaced else problem.takes)
        if self.topic_count is not None and not crowding:
            topic = problem.topic[p]
            everyone = np.arange(problem.n_brokers)
            allowed &= self.topic_count[topic] < self.bands.topic_most(topic[:, None], everyone)
        return np.asarray(allowed)

    def _closed_by_previous(self, p: I64, k: I64) -> I32:
        """int32, shape (n, width): current brokers of the partitions, to which these positions may not go.

        Each may return to its own, unless from an offline log dir: Kafka makes no new copy if the list of replicas
        contains the broker already, and a reassignment that keeps such a replica never completes.
        """
        rows, problem = np.arange(len(p)), self.problem
        previous = problem.previous[p]
        previous[rows, k] = np.where(problem.lost[p, k], previous[rows, k], NONE)
        return previous

    # -- changes -----------------------------------------------------------------------------------------------

    def lift(self, p: I64, k: I64, why: MoveCause) -> None:
        """Take positions off their brokers; they are unplaced until they are assigned."""
        broker = self.placement[p, k]
        np.subtract.at(self.used, broker, self.load(p, k, broker))
        np.subtract.at(self.count, broker, 1)
        if self.topic_count is not None:
            _add_pairs(self.topic_count, self.problem.topic[p], broker, -1)
        self.placement[p, k] = NONE
        self.why[p, k] = np.maximum(self.why[p, k], why)

    def drop(self, p: I64, k: I64) -> None:
        """Drop positions together with their replicas."""
        self.lift(p, k, MoveCause.NOTHING)
        self.is_position[p, k] = False

    def put(self, p: I64, k: I64, target: I32 | I64) -> None:
        """Assign unplaced positions to brokers."""
        np.add.at(self.used, target, self.load(p, k, target))
        np.add.at(self.count, target, 1)
        if self.topic_count is not None:
            _add_pairs(self.topic_count, self.problem.topic[p], target, 1)
        self.placement[p, k] = target

    def move(self, p: I64, k: I64, target: I32 | I64) -> None:
        """Move positions from their brokers to others, for balance."""
        self.lift(p, k, MoveCause.BALANCE)
        self.put(p, k, target)


def _add_pairs(table: Counts, topic: I32, broker: I32 | I64, number: int) -> None:
    """Add pairs to the table, or remove them with -1; with one number per pair in its own type, 20 times as fast."""
    add = np.add if number > 0 else np.subtract
    add.at(table.reshape(-1), topic.astype(np.int64) * table.shape[1] + broker, table.dtype.type(abs(number)))
