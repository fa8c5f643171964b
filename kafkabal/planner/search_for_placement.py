"""One search for a placement, with the log dirs and leaders that follow from it.

::

    repair: evict what must leave, assign what has no place
    balance: bulk moves, local search, reduce cost                       (search_phases.py)
    in a tiny cluster: joint moves                                       (joint_moves.py)
    additional scores: exchanges                                        (additional_scores.py)
    what keeps a replica on a dead broker stays as it is                 (leave_unrepaired.py)
    log dirs, then room for what found no place                          (assign_log_dirs.py, make_room.py)
    what volumes hold beyond their limits goes to other brokers          (relieve_log_dirs.py)
    leaders                                                              (assign_leaders.py)
    in a small cluster whose plan is not close to the bound: the same with exchanges compared with single moves in the
        local search, then at other paces of the bulk moves
        if the best of them is not close to it either: ejection chains  (ejection_chains.py)
    in a tiny one: forced moves where that is outside its bands          (forced_moves.py)
                   iterated search from the best of them                 (iterated_search.py)
    if something found no place: repairs alone, where that places more
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import I32, I64, ClusterState
from kafkabal.planner.lower_bound import bound_bytes, guidance_of, guidance_where_sizes_agree
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.additional_loads import AdditionalLoads, additional_scores_of
from kafkabal.planner.search.additional_scores import balance_by_exchanges
from kafkabal.planner.search.assign_leaders import assign_leaders
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment, assign_arrivals, balance_log_dirs
from kafkabal.planner.search.band_violation import beyond_limits
from kafkabal.planner.search.bulk_moves import NO_BULK_MOVES, USUAL_PACE
from kafkabal.planner.search.forced_moves import force_into_bands
from kafkabal.planner.search.iterated_search import CLOSE, FEW_CELLS, search_iteratively
from kafkabal.planner.search.joint_moves import MOST_CELLS, move_jointly
from kafkabal.planner.search.keep_within_budget import send_back
from kafkabal.planner.search.leave_unrepaired import leave_unrepaired
from kafkabal.planner.search.make_room import make_room
from kafkabal.planner.search.relieve_log_dirs import bytes_beyond_limits, relieve_log_dirs
from kafkabal.planner.search.search_phases import balance, exchange_in_chains, is_outside, repair, repair_alone
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.shortfall import refuse_endless_drain, refuse_if_infeasible, shortfall
from kafkabal.planner.solution_to_state import solution_to_state

SMALL = 20_000
"""Positions up to which a search takes a fraction of a second, so that several are tried: with 2,000 five of the 19
plans of benchmarks/planner_constants.py move up to 0.5% more, in 0.6 of the time; with 200,000 none."""
_OTHER_PACES = (1 / 2, 1 / 12)
"""Without the slow one the plans of benchmarks/planner_constants.py move 0.06% more, 1% at most; a third pace of 1/24
saves 0.02%."""
_THIRD = 4
"""Third moves tried in the last joint moves: the worst of 200 drawn clusters is 1.029 x its optimum, 1.032 with 1,
in 40 ms; 12 and 24 find no more there."""


class Candidate(NamedTuple):
    """A placement with what follows from it."""

    solution: Solution
    leader: I32
    """shape (n_partitions,): broker that is to lead."""
    log_dir: I32
    """shape (n_partitions, width): row of the log dir of each position; -1 if unknown."""
    unplaced: I64
    """Cells that had to leave their broker, or to be added, but fit nowhere."""

    def to_state(self) -> ClusterState:
        """The cluster once the placement is applied."""
        return solution_to_state(self.solution, self.leader, self.log_dir)

    def adopt(self, after: ClusterState) -> Candidate:
        """Replace the placement by one that a later plan would reach; changes the solution itself."""
        solution, was_away = self.solution, ~self.solution.stays()
        solution.adopt(after)
        led = after.partitions.leader
        leader = np.where(led >= 0, led, self.leader).astype(np.int32)
        # a later plan would copy it to a log dir of its choice, but a copy that returns never left its own
        returns = was_away & solution.stays()
        own, chosen = (_log_dirs_in(state, solution.placement) for state in (solution.problem.state, after))
        log_dir = np.where(returns, own, chosen)
        return self._replace(leader=leader, log_dir=log_dir, unplaced=self._still_unplaced())

    def _still_unplaced(self) -> I64:
        """What found no place and has found none since."""
        now, previous = self.solution.placement.reshape(-1), self.solution.problem.previous.reshape(-1)
        return np.asarray(self.unplaced[now[self.unplaced] == previous[self.unplaced]])


def search(start: Solution, listener: PlanListener, *, once: bool = False) -> Candidate:
    """Search for a placement; in a small cluster the best of several, if the first is not close to the bound.

    Parameters
    ----------
    once
        Stop after the first search.

    Raises
    ------
    InfeasibleError
        If a requested hard rule cannot be met.
    """
    best = _search(start, listener, once=once)
    if best.unplaced.size:
        # bands decide where replicas go, and so which of them find no place in a full cluster
        alone = start.copy()
        unplaced = repair_alone(alone, listener)
        best = min(best, finish(alone, unplaced, listener), key=_merit)
    refuse_if_infeasible(best.solution, best.unplaced)
    refuse_endless_drain(best.solution)
    return best


def _search(start: Solution, listener: PlanListener, *, once: bool) -> Candidate:
    problem = start.problem
    if not once and problem.options.mode is Mode.FULL and not start.sizes_agree():
        listener.step("potentials")
        start.guidance = guidance_of(start)
    repaired = start.copy()
    unplaced = repair(repaired, listener)
    if once or problem.previous.size > SMALL or problem.options.mode is not Mode.FULL:
        return _attempt(start, repaired, unplaced, listener, USUAL_PACE)
    first = best = _attempt(start, repaired.copy(), unplaced, listener, USUAL_PACE)
    bound = bound_bytes(start, best.solution.moved_bytes())
    # of nine drawn clusters with brokers of 1 : 2 : 4 in every rack, eight plans move 0.3 to 9% less by comparing,
    # in 1.3 to 2.3 times the time
    other_paces = (NO_BULK_MOVES,) if _is_tiny(start) else _OTHER_PACES
    for pace, compare in ((USUAL_PACE, True), *((pace, False) for pace in other_paces)):
        if best.solution.moved_bytes() <= bound * CLOSE and not is_outside(best.solution):
            break
        other = _attempt(start, repaired.copy(), unplaced, listener, pace, compare=compare)
        if not compare and np.array_equal(other.solution.placement, first.solution.placement):
            # so little moves that a slower pace makes no difference either
            break
        best = min(best, other, key=_merit)
    far = best.solution.moved_bytes() > bound * CLOSE
    if far and not is_outside(best.solution):
        listener.step("ejection chains")
        guidance = start.guidance or guidance_where_sizes_agree(start)
        best = min(best, _complete(exchange_in_chains(best.solution, guidance), unplaced, listener), key=_merit)
    if problem.previous.size <= MOST_CELLS and is_outside(best.solution) and not unplaced.size:
        listener.step("forced moves")
        best = min(best, _complete(force_into_bands(best.solution).copy(), unplaced, listener), key=_merit)
    if _is_tiny(start) and 0 < problem.previous.size <= FEW_CELLS and not unplaced.size:
        listener.step("iterated search")
        solution = search_iteratively(best.solution, bound).copy()
        if not is_outside(solution):
            move_jointly(solution, third=_THIRD)
        best = min(best, _complete(solution, unplaced, listener), key=_merit)
    return best


def _attempt(
    start: Solution,
    solution: Solution,
    unplaced: I64,
    listener: PlanListener,
    pace: float,
    *,
    compare: bool = False,
) -> Candidate:
    balance(solution, listener, pace, compare=compare)
    if _is_tiny(start) and not is_outside(solution) and not _is_close(start, solution):
        listener.step("joint moves")
        move_jointly(solution)
    return _complete(solution, unplaced, listener)


def _complete(solution: Solution, unplaced: I64, listener: PlanListener) -> Candidate:
    """Exchange replicas for additional scores, then choose log dirs and leaders."""
    problem = solution.problem
    if problem.options.mode is Mode.FULL and additional_scores_of(problem):
        listener.step("additional scores")
        balance_by_exchanges(solution, AdditionalLoads(solution, assign_leaders(solution)))
    return finish(solution, unplaced, listener)


def _is_close(start: Solution, solution: Solution) -> bool:
    """Whether a placement moves hardly more than every placement must."""
    moved = solution.moved_bytes()
    return moved <= bound_bytes(start, moved) * CLOSE


def _is_tiny(solution: Solution) -> bool:
    return (
        solution.problem.options.mode is Mode.FULL
        and solution.problem.previous.size <= MOST_CELLS
        and solution.sizes_agree()
    )


def finish(solution: Solution, unplaced: I64, listener: PlanListener, *, room: bool = True) -> Candidate:
    """Choose log dirs and leaders for a placement.

    Parameters
    ----------
    room
        Whether other replicas may move to make room for what found no place. Otherwise, as in a part of a plan, a
        partition gets all of its new replicas or none.
    """
    _leave_out(solution, all_or_none=not room)
    listener.step("log dirs")
    assignment, unplaced = _assign_log_dirs(solution, unplaced, all_or_none=not room)
    if room and unplaced.size:
        listener.step("make room")
        unplaced = make_room(assignment, unplaced)
    balance_log_dirs(assignment)
    if room:
        relieve_log_dirs(assignment)
    listener.step("leaders")
    return Candidate(solution, assign_leaders(solution), assignment.dir.copy(), unplaced)


def _merit(candidate: Candidate) -> tuple[int, int, int, float, float, int, int]:
    """What stays broken or found no place, then what is beyond limits or outside bands, then bytes, then moves: less is
    better."""
    return (
        int(candidate.solution.keeps_offline().sum()) if candidate.unplaced.size else 0,
        len(candidate.unplaced),
        int((bytes_beyond_limits(candidate.solution, candidate.log_dir) > 0).sum()),
        beyond_limits(candidate.solution),
        shortfall(candidate.solution, candidate.leader),
        candidate.solution.moved_bytes(),
        int(candidate.solution.moved().sum()),
    )


def _leave_out(solution: Solution, *, all_or_none: bool) -> None:
    """Send back what must not move alone; if ``all_or_none``, no partition is left between two replication factors."""
    leave_unrepaired(solution)
    if all_or_none:
        is_new = solution.why == MoveCause.NEW
        lacks_some = (is_new & ~solution.is_position).any(1)
        send_back(solution, *np.nonzero(is_new & solution.is_position & lacks_some[:, None]))


def _assign_log_dirs(solution: Solution, unplaced: I64, *, all_or_none: bool) -> tuple[LogDirAssignment, I64]:
    """Put arriving replicas into log dirs, and send back those that fit into none; returns all that found no place."""
    assignment, left = assign_arrivals(solution)
    while left.size:
        p, k = left // solution.width, left % solution.width
        unplaced = np.concatenate((unplaced, left[solution.why[p, k] >= MoveCause.RACK]))
        send_back(solution, p, k)
        _leave_out(solution, all_or_none=all_or_none)
        assignment, left = assign_arrivals(solution)
    if solution.problem.options.mode.moves_replicas:
        # what has no room once others stay was returned as well
        missing = np.flatnonzero(solution.must_leave() | ((solution.why == MoveCause.NEW) & ~solution.is_position))
        is_named = np.isin(missing // solution.width, unplaced // solution.width)
        unplaced = np.concatenate((unplaced, missing[~is_named]))
    return assignment, np.unique(unplaced)


def _log_dirs_in(state: ClusterState, placement: I32) -> I32:
    """Row of the log dir of the replica in each position of a placement; -1 if there is none."""
    replicas, n_brokers = state.replicas, len(state.brokers)
    # replicas of a cluster are sorted by partition, but not by broker within a partition
    key = replicas.partition.astype(np.int64) * n_brokers + replicas.broker
    order = np.argsort(key)
    wanted = np.arange(len(placement))[:, None] * n_brokers + placement
    found = order[np.minimum(np.searchsorted(key[order], wanted), len(order) - 1)]
    return np.where(placement >= 0, replicas.log_dir[found], NONE).astype(np.int32)
