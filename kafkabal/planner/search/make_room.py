"""Makes room for replicas that must leave their broker and found no place.

::

    twice, with replicas in the way that arrive with this plan, then with all that may move
      for each partition with such replicas, the largest first
        for each of these replicas
            put it onto the emptiest broker that may take it and has room for it in one log dir
            or onto one where the smallest replica that is in its way can go elsewhere
        if one of them finds no place: undo what was done for this partition

Brokers are compared by how full they are, not by bands: what can be repaired does not depend on the tolerance.
Source: an ejection chain of one step (F. Glover, Ejection Chains, Reference Structures and Alternating Path Methods for
Traveling Salesman Problems, Discrete Applied Mathematics 65, 1996).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.solution import Solution

_MOST_IN_THE_WAY = 32
"""Replicas of one broker that are tried."""
_MOST_CELLS_LOOKED_AT = 200_000_000
"""Positions times brokers: ends the search for what is in the way after seconds on a large, full cluster."""


class _Step(NamedTuple):
    """What a replica was before it moved."""

    p: int
    k: int
    broker: int
    log_dir: int
    is_position: bool


def make_room(assignment: LogDirAssignment, unplaced: I64) -> I64:
    """Place replicas, with their log dirs, by moving others out of their way.

    Parameters
    ----------
    unplaced
        Cells of replicas that are on the broker which they have to leave, or were to be added.

    Returns
    -------
    int64, shape (n,)
        Cells that still found no place.
    """
    solution = assignment.solution
    # what moves only to make room takes room elsewhere, so that it comes last
    for others in (False, True) if solution.problem.options.mode is Mode.FULL else (False,):
        room = _Room(assignment, others=others)
        partition = unplaced // solution.width
        rows = np.unique(partition)
        rows = rows[np.argsort(-solution.problem.arriving_bytes[rows], kind="stable")]
        left = [unplaced[partition == p] for p in rows.tolist() if not room.place_all(p, unplaced[partition == p])]
        unplaced = np.sort(np.concatenate(left)) if left else np.empty(0, np.int64)
    return unplaced


class _Room:
    """Brokers and log dirs with what they can still take, and the steps of the current partition."""

    def __init__(self, assignment: LogDirAssignment, *, others: bool) -> None:
        self.assignment = assignment
        self.solution: Solution = assignment.solution
        problem = self.solution.problem
        self.cells_left = _MOST_CELLS_LOOKED_AT
        may_move = problem.movable_positions & problem.movable[:, None] & ~problem.lost
        self.may_move: Bools = may_move if others else np.zeros_like(may_move)
        """shape (n_partitions, width): whether the replica may move although it has not arrived with this plan."""
        self.must_leave: Bools = self.solution.must_leave()
        self.narrow: Bools = self.solution.narrow()
        self.steps: list[_Step] = []

    def place_all(self, p: int, cells: I64) -> bool:
        """Place all replicas of a partition that have to leave or to be added, or none."""
        solution = self.solution
        self.steps = []
        leaving = np.flatnonzero(self.must_leave[p]).tolist()
        for k in sorted({*leaving, *(cells % solution.width).tolist()}):
            if solution.placement[p, k] >= 0 and k not in leaving and not self.narrow[p]:
                continue
            if not self._place(p, k):
                self._undo()
                return False
        return True

    def _place(self, p: int, k: int) -> bool:
        self._lift(p, k)
        solution, bytes_ = self.solution, self.solution.problem.arriving_bytes[[p]]
        allowed = solution.may_go_anywhere(np.array([p]), np.array([k]), unplaced=True, crowding=True)
        fits = allowed[0] & self._fits(bytes_)[0]
        fullness = self._fullness()
        if fits.any():
            self._put(p, k, int(np.where(fits, fullness, np.inf).argmin()))
            return True
        candidates = np.flatnonzero(allowed[0])
        for broker in candidates[np.argsort(fullness[candidates], kind="stable")].tolist():
            if self._eject(broker, p, int(bytes_[0])):
                self._put(p, k, broker)
                return True
        return False

    def _eject(self, broker: int, for_partition: int, bytes_: int) -> bool:
        """Move the smallest replica that is in the way of a new one off a broker."""
        p, k = self._in_the_way(broker, for_partition, bytes_)
        if not p.size:
            return False
        solution = self.solution
        allowed = solution.may_go_anywhere(p, k, crowding=True) & self._fits(solution.problem.arriving_bytes[p])
        allowed[:, broker] = False
        home = solution.problem.previous[p, k]
        returns = np.flatnonzero(home >= 0)
        allowed[returns, home[returns]] = self._may_return(p[returns], k[returns])
        found = np.flatnonzero(allowed.any(1))
        if not found.size:
            return False
        i = int(found[0])
        self._lift(int(p[i]), int(k[i]))
        self._put(int(p[i]), int(k[i]), int(np.where(allowed[i], self._fullness(), np.inf).argmin()))
        return True

    def _in_the_way(self, broker: int, for_partition: int, bytes_: int) -> tuple[I64, I64]:
        """Replicas that may leave a broker, each of which makes enough room; arrivals first, then the smallest."""
        if self.cells_left < 0 or not len(self.assignment.is_open):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        solution, assignment, problem = self.solution, self.assignment, self.solution.problem
        self.cells_left -= solution.placement.size
        p, k = np.nonzero(solution.placement == broker)
        arrived = problem.previous[p, k] != broker
        log_dir, held = assignment.dir[p, k], solution.load(p, k, broker)
        enough = (log_dir >= 0) & assignment.is_open[log_dir] & (assignment.room[log_dir] + held >= bytes_)
        enough &= solution.used[broker] - held + bytes_ <= problem.limit_bytes[broker]
        enough &= (p != for_partition) & (arrived | self.may_move[p, k]) & problem.size_known[p]
        enough &= bool(solution.count[broker] <= problem.limit_replicas[broker])
        p, k, held, arrived = p[enough], k[enough], held[enough], arrived[enough]
        order = np.lexsort((p, held, ~arrived))[:_MOST_IN_THE_WAY]
        return p[order], k[order]

    def _fits(self, bytes_: I64) -> Bools:
        """bool, shape (n, n_brokers): whether each broker has room for each number of bytes in one log dir."""
        solution, problem = self.solution, self.solution.problem
        room = np.minimum(solution.room_bytes(), self.assignment.most_room())
        return np.asarray((bytes_[:, None] <= room) & (solution.count < problem.limit_replicas))

    def _may_return(self, p: I64, k: I64) -> Bools:
        """Whether replicas may return to their broker, and to the log dir that they left there."""
        solution, assignment, problem = self.solution, self.assignment, self.solution.problem
        home, log_dir, held = problem.previous[p, k], assignment.previous[p, k], problem.held_bytes[p, k]
        fits = (log_dir >= 0) & assignment.is_open[log_dir] & (assignment.room[log_dir] >= held)
        fits &= (solution.used[home] + held <= problem.limit_bytes[home]) & (
            solution.count[home] < problem.limit_replicas[home]
        )
        returns = solution.may_return(p, k, k) & ~problem.leaves[home] & (solution.why[p, k] < MoveCause.RACK)
        return np.asarray(fits & returns & (solution.placement[p, k] != home))

    def _fullness(self) -> F64:
        """How full brokers are; those with an offline log dir come after all others, see :attr:`Problem.takes`."""
        solution = self.solution
        fullness = solution.used / np.maximum(solution.problem.capacity, 1.0)
        return np.asarray(fullness + self.assignment.has_offline_dir * (1 + fullness.max()))

    # -- steps -------------------------------------------------------------------------------------------------

    def _lift(self, p: int, k: int) -> None:
        solution, assignment = self.solution, self.assignment
        broker = int(solution.placement[p, k])
        self.steps.append(_Step(p, k, broker, int(assignment.dir[p, k]), bool(solution.is_position[p, k])))
        solution.is_position[p, k] = True
        if broker >= 0:
            self._take_off(p, k)

    def _take_off(self, p: int, k: int) -> None:
        solution = self.solution
        here = np.array([p]), np.array([k])
        self.assignment.take_out(p, k, int(solution.load(*here, solution.placement[here])[0]))
        solution.lift(*here, MoveCause.BALANCE)

    def _put(self, p: int, k: int, broker: int, log_dir: int = NONE) -> None:
        solution, assignment = self.solution, self.assignment
        here, there = (np.array([p]), np.array([k])), np.array([broker])
        bytes_ = solution.load(*here, there)
        if log_dir < 0:
            returns = solution.problem.previous[p, k] == broker
            log_dir = int(assignment.previous[p, k] if returns else assignment.emptiest(there, bytes_)[0])
        solution.put(*here, there)
        if log_dir >= 0:
            assignment.put(*here, np.array([log_dir]), bytes_)

    def _undo(self) -> None:
        for step in reversed(self.steps):
            if self.solution.placement[step.p, step.k] >= 0:
                self._take_off(step.p, step.k)
            self.solution.is_position[step.p, step.k] = step.is_position
            if step.broker >= 0:
                self._put(step.p, step.k, step.broker, step.log_dir)
