"""Moves replicas to other brokers off volumes that are beyond their limits, where their own broker has no room.

::

    for each volume that is still beyond its limit once the log dirs of its broker are balanced, the worst first
        while it is beyond its limit
            take the replica and the broker of the least cost: what leaves a band or a topic's share, the bytes copied,
                and twice what stays beyond the limit, each in fair shares
            stop if no broker may take a replica that is there

A limit comes before the bands, as it does for what arrives. The method is our own; the cost is that of a step of
:mod:`~kafkabal.planner.search.local_search`.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64, UNLIMITED, volume_headroom_bytes
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import NONE, Problem
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.band_violation import Violation
from kafkabal.planner.search.solution import Solution

_BEYOND = 2.0
"""What a byte that stays beyond the limit costs beside a byte copied: above 1, so that the replica nearest above the
excess is preferred to one far below it; small, so that two of its size are preferred to one ten times as large."""


def relieve_log_dirs(assignment: LogDirAssignment) -> None:
    """Move replicas to other brokers until every volume is below its limit, or no broker may take any."""
    problem = assignment.solution.problem
    if not _is_asked_for(problem) or not (assignment.room[assignment.is_open] < 0).any():
        return
    dirs = np.flatnonzero(problem.counted[problem.state.log_dirs.broker] & assignment.counts & (assignment.room < 0))
    _, first = np.unique(assignment.volume[dirs], return_index=True)
    dirs = dirs[first]
    for one in dirs[np.argsort(assignment.room[dirs], kind="stable")].tolist():
        _relieve(assignment, one)


def bytes_beyond_limits(solution: Solution, log_dir: I32) -> I64:
    """int64, shape (n_volumes,): bytes by which each volume is beyond its limit with these log dirs.

    What arrives never fills a volume beyond its limit, so that only those count that were beyond it before the plan.
    """
    problem = solution.problem
    dirs = problem.state.log_dirs
    headroom = np.where(
        problem.counted[dirs.broker], volume_headroom_bytes(problem.state, problem.options.log_dir_limit), UNLIMITED
    )
    left = np.full(int(dirs.volume.max(initial=-1)) + 1, UNLIMITED)
    np.minimum.at(left, dirs.volume, headroom)
    if not _is_asked_for(problem) or not (left < 0).any():
        return np.zeros(len(left), np.int64)
    before = LogDirAssignment(solution).previous
    goes, comes = (before >= 0) & (log_dir != before), (log_dir >= 0) & (log_dir != before)
    p, k = np.nonzero(comes)
    np.add.at(left, dirs.volume[before[goes]], problem.held_bytes[goes])
    np.subtract.at(left, dirs.volume[log_dir[p, k]], solution.load(p, k, solution.placement[p, k]))
    return np.asarray(np.maximum(-left, 0))


def _is_asked_for(problem: Problem) -> bool:
    """Whether the plan moves bytes between brokers as it sees fit."""
    options = problem.options
    return options.mode is Mode.FULL and options.below is None and problem.has_score("disk")


def _relieve(assignment: LogDirAssignment, log_dir: int) -> None:
    """Move replicas off the volume of a log dir."""
    solution, problem = assignment.solution, assignment.solution.problem
    broker = int(problem.state.log_dirs.broker[log_dir])
    on_volume = np.append(assignment.volume == assignment.volume[log_dir], False)
    may = solution.stays() & problem.movable_positions & ~problem.lost & ~solution.keeps_offline()[:, None]
    p, k = np.nonzero(may & on_volume[assignment.dir])
    while assignment.room[log_dir] < 0 and p.size:
        found = _best_step(assignment, p, k, broker, -int(assignment.room[log_dir]))
        if found is None:
            return
        row, target = found
        bytes_ = problem.arriving_bytes[p[[row]]]
        assignment.take_out(int(p[row]), int(k[row]), int(problem.held_bytes[p[row], k[row]]))
        solution.lift(p[[row]], k[[row]], MoveCause.FULL_LOG_DIR)
        solution.put(p[[row]], k[[row]], np.array([target]))
        to = assignment.emptiest(np.array([target]), bytes_)
        if to[0] != NONE:
            assignment.put(p[[row]], k[[row]], to, bytes_)
        p, k = np.delete(p, row), np.delete(k, row)


def _best_step(assignment: LogDirAssignment, p: I64, k: I64, broker: int, excess: int) -> tuple[int, int] | None:
    """The replica to move and the broker that takes it; None if no broker may take any."""
    solution, problem = assignment.solution, assignment.solution.problem
    arriving, held = problem.arriving_bytes[p], problem.held_bytes[p, k]
    # a broker whose other log dirs are beyond their limits needs its room for what they hold
    in_total = problem.rules.room_bytes - solution.used
    room = np.minimum(np.minimum(solution.room_bytes(), assignment.most_room()), in_total)
    fits = (arriving[:, None] <= room) & (solution.count < problem.limit_replicas) & (held > 0)[:, None]
    fits[:, broker] = False
    for crowding in (False, True):
        allowed = fits & solution.may_go_anywhere(p, k, crowding=crowding)
        if allowed.any():
            cost = np.where(allowed, _cost(solution, arriving, held, broker, excess), np.inf)
            row, target = divmod(int(cost.argmin()), problem.n_brokers)
            return row, target
    return None


def _cost(solution: Solution, arriving: I64, held: I64, broker: int, excess: int) -> F64:
    """float64, shape (n, n_brokers): cost of moving each replica to each broker, in fair shares."""
    violation, everyone = Violation(solution), np.arange(solution.problem.n_brokers)
    copied = arriving + _BEYOND * np.maximum(excess - held, 0)
    cost = violation.change(broker, -held, -1)[:, None] + violation.change(everyone, arriving[:, None], 1)
    cost = cost + (copied * violation.per_byte[broker])[:, None]
    # among equals, the broker that is left with most room
    return np.asarray(cost + 1e-6 * violation.byte_shares(solution.used))
