"""Leaves out moves that could never start: each of them needs the space that another one would free.

A run starts a copy only where it fits while all other replicas are still there. So two replicas on nearly full disks
cannot change places, although both fit at the end::

    start every move that fits on its volumes, the largest first; once it is complete, its old volumes have its space
    repeat until none fits; what is left never starts
    if that is a repair: the repairs alone, without what never starts of them, where that repairs more

In 11 of 60 drawn clusters of two to four disks that are 70 to 84% full, a run gave up such moves after two minutes,
and so did every later one.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32, I64, UNLIMITED, ClusterState, volume_headroom_bytes
from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.plan_short_of_bands import FoundPlacement, is_worth_it
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.keep_within_budget import repairs, send_back
from kafkabal.planner.search.search_phases import repair_alone
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import Candidate, finish
from kafkabal.planner.shortfall import names_of, warnings_of
from kafkabal.wording import plural


def startable_part(start: Solution, found: FoundPlacement) -> FoundPlacement:
    """The placement without the partitions whose moves never start; the same one if there are none."""
    if not (stuck := stuck_partitions(found.candidate)).size:
        return found
    candidate, after, warnings = without_stuck(start, found.candidate, stuck)
    return found._replace(candidate=candidate, after=after, warnings=warnings)


def without_stuck(start: Solution, full: Candidate, stuck: I64) -> tuple[Candidate, ClusterState, tuple[str, ...]]:
    """The part of a plan without the partitions whose moves never start; nothing if that is not worth it.

    Returns
    -------
    Candidate, ClusterState, tuple[str, ...]
        The part, the cluster once it is applied, and its warnings.
    """
    part = _without(full, stuck)
    if repairs(full.solution)[stuck].any():
        # what moves for balance may be in the way of what has to leave its broker
        alone = _repairs_alone(start)
        if alone.solution.must_leave().sum() < part.solution.must_leave().sum():
            part = alone
    if not is_worth_it(start, part):
        part = _without(part, np.arange(len(start.placement)))
    after = part.to_state()
    judged = Solution(build_problem(after, start.problem.options))
    stays = stuck[~part.solution.moved()[stuck].any(1)]
    line = (
        f"{plural(len(stays), 'partition')} {names_of(start, stays)} cannot move: "
        "each would need the space on a nearly full disk that another one frees"
    )
    lines = (line,) if stays.size else ()
    return part, after, (*lines, *warnings_of(part.solution, part.leader, part.unplaced, judged))


def _repairs_alone(start: Solution) -> Candidate:
    """What breaks a rule, as far as a run can move it."""
    solution = start.copy()
    found = finish(solution, repair_alone(solution, NO_LISTENER), NO_LISTENER)
    stuck = stuck_partitions(found)
    return _without(found, stuck) if stuck.size else found


def stuck_partitions(candidate: Candidate) -> I64:
    """int64, shape (n,): partitions whose moves never start."""
    solution, problem = candidate.solution, candidate.solution.problem
    dirs = problem.state.log_dirs
    if not len(dirs):
        return np.empty(0, np.int64)
    before, stays = LogDirAssignment(solution).previous, solution.stays()
    to, changes = candidate.log_dir, ~stays | (candidate.log_dir != before)
    arriving = np.nonzero((solution.placement >= 0) & (to >= 0) & changes)
    leaving = np.nonzero((problem.previous >= 0) & (before >= 0) & changes)
    came, left = dirs.volume[to[arriving]], dirs.volume[before[leaving]]
    bytes_come = solution.load(arriving[0], arriving[1], solution.placement[arriving])
    bytes_left = problem.held_bytes[leaving]
    room = np.full(int(dirs.volume.max()) + 1, UNLIMITED)
    np.minimum.at(room, dirs.volume, volume_headroom_bytes(problem.state, problem.options.log_dir_limit))
    tight = np.bincount(came, bytes_come, len(room)) > room
    waits = np.zeros(len(before), np.bool_)
    waits[arriving[0][tight[came]]] = True
    # what needs no room on a tight volume can be moved first
    free = tight[left] & ~waits[leaving[0]]
    np.add.at(room, left[free], bytes_left[free])
    needs, frees = (
        _by_partition(rows[keep], volume[keep], bytes_[keep])
        for rows, volume, bytes_ in ((arriving[0], came, bytes_come), (leaving[0], left, bytes_left))
        for keep in (tight[volume] & waits[rows],)
    )
    order = np.flatnonzero(waits)
    order = order[np.argsort(-problem.arriving_bytes[order], kind="stable")]
    return np.sort(np.array(_never_started(order.tolist(), needs, frees, room), np.int64))


_OnVolumes = dict[int, list[tuple[int, int]]]
"""Volumes and bytes, by partition."""


def _by_partition(rows: I64, volume: I32, bytes_: I64) -> _OnVolumes:
    found: _OnVolumes = {}
    for p, *pair in zip(rows.tolist(), volume.tolist(), bytes_.tolist(), strict=True):
        found.setdefault(p, []).append((pair[0], pair[1]))
    return found


def _never_started(waiting: list[int], needs: _OnVolumes, frees: _OnVolumes, room: I64) -> list[int]:
    while waiting:
        left = []
        for p in waiting:
            if all(room[volume] >= bytes_ for volume, bytes_ in needs[p]):
                for volume, bytes_ in needs[p]:
                    room[volume] -= bytes_
                for volume, bytes_ in frees.get(p, ()):
                    room[volume] += bytes_
            else:
                left.append(p)
        if len(left) == len(waiting):
            return left
        waiting = left
    return []


def _without(full: Candidate, stuck: I64) -> Candidate:
    """The candidate with these partitions as they were."""
    solution = full.solution.copy()
    row, k = np.nonzero(solution.moved()[stuck])
    send_back(solution, stuck[row], k)
    solution.refresh_bands()
    before = LogDirAssignment(solution).previous
    log_dir, leader = full.log_dir.copy(), full.leader.copy()
    log_dir[stuck], leader[stuck] = before[stuck], solution.problem.leader[stuck]
    left = np.flatnonzero(solution.must_leave())
    unplaced = np.union1d(full.unplaced, left[np.isin(left // solution.width, stuck)])
    return full._replace(solution=solution, log_dir=log_dir, leader=leader, unplaced=unplaced)
