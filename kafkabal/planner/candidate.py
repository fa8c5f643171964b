"""One search for a placement, with the log dirs and leaders that follow from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import I32, I64, ClusterState
from kafkabal.planner.lower_bound import bound_bytes, guidance_of
from kafkabal.planner.move_cause import Why
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.search.additional_loads import FurtherLoads, further_scores
from kafkabal.planner.search.additional_scores import even_placement
from kafkabal.planner.search.assign_leaders import choose_leaders
from kafkabal.planner.search.assign_log_dirs import choose_log_dirs
from kafkabal.planner.search.bulk_moves import NO_BULK_MOVES, USUAL_PACE
from kafkabal.planner.search.iterated_search import FEW_CELLS, search_further
from kafkabal.planner.search.joint_moves import MOST_CELLS, move_jointly
from kafkabal.planner.search.keep_within_budget import send_home
from kafkabal.planner.search.search_phases import balance, is_outside, repair
from kafkabal.planner.search.solution import State
from kafkabal.planner.shortfall import refuse_if_infeasible, shortfall
from kafkabal.planner.solution_state import make_outcome

SMALL = 20_000
"""Slots up to which a search takes a fraction of a second, so that several are tried."""
_OTHER_PACES = (1 / 2, 1 / 12)
_CLOSE = 0.002
"""Share of the bound above which other paces are tried."""


class Draft(NamedTuple):
    """A placement with what follows from it."""

    state: State
    leader: I32
    """shape (n_partitions,): broker that is to lead."""
    log_dir: I32
    """shape (n_partitions, width): row of the log dir of each slot, -1 where it is not known."""
    unplaced: I64
    """Cells that had to leave their broker, or to be added, and that fit nowhere."""

    def outcome(self) -> ClusterState:
        """The cluster once the placement is applied."""
        return make_outcome(self.state, self.leader, self.log_dir)


def search(start: State, listener: PlanListener, *, once: bool = False) -> Draft:
    """Search for a placement; the best of some where the cluster is small and the first is not close to the bound.

    Parameters
    ----------
    once
        The first one is good enough.

    Raises
    ------
    InfeasibleError
        If a hard rule that was asked for cannot be met.
    """
    problem = start.problem
    if not once and problem.options.mode is Mode.FULL and not start.sizes_agree():
        listener.step("potentials")
        start.guidance = guidance_of(start)
    repaired = start.copy()
    unplaced = repair(repaired, listener)
    if once or problem.home.size > SMALL or problem.options.mode is not Mode.FULL:
        return _attempt(start, repaired, unplaced, listener, USUAL_PACE)
    best = _attempt(start, repaired.copy(), unplaced, listener, USUAL_PACE)
    bound = bound_bytes(start, best.state.moved_bytes())
    for pace in (NO_BULK_MOVES,) if _is_tiny(start) else _OTHER_PACES:
        if best.state.moved_bytes() <= bound * (1 + _CLOSE) and not is_outside(best.state):
            break
        other = _attempt(start, repaired.copy(), unplaced, listener, pace)
        if np.array_equal(other.state.place, best.state.place):
            # so little moves that a slower pace makes no difference either
            break
        best = min(best, other, key=_merit)
    if _is_tiny(start) and problem.home.size <= FEW_CELLS and not unplaced.size:
        listener.step("iterated search")
        state = search_further(best.state, bound * (1 + _CLOSE)).copy()
        _exchange_for_further(state, listener)
        best = min(best, finish(state, unplaced, listener), key=_merit)
    return best


def _attempt(start: State, state: State, unplaced: I64, listener: PlanListener, pace: float) -> Draft:
    balance(state, listener, pace)
    if _is_tiny(start) and not is_outside(state) and not _is_close(start, state):
        listener.step("joint moves")
        move_jointly(state)
    _exchange_for_further(state, listener)
    return finish(state, unplaced, listener)


def _exchange_for_further(state: State, listener: PlanListener) -> None:
    problem = state.problem
    if problem.options.mode is Mode.FULL and further_scores(problem):
        listener.step("further scores")
        even_placement(state, FurtherLoads(state, choose_leaders(state)))


def _is_close(start: State, state: State) -> bool:
    """Whether a placement moves hardly more than every one must."""
    moved = state.moved_bytes()
    return moved <= bound_bytes(start, moved) * (1 + _CLOSE)


def _is_tiny(state: State) -> bool:
    return state.problem.options.mode is Mode.FULL and state.problem.home.size <= MOST_CELLS and state.sizes_agree()


def finish(state: State, unplaced: I64, listener: PlanListener) -> Draft:
    """Choose log dirs and leaders for a placement."""
    listener.step("log dirs")
    log_dir, left = _log_dirs(state)
    unplaced = np.concatenate((unplaced, left))
    refuse_if_infeasible(state, unplaced)
    listener.step("leaders")
    return Draft(state, choose_leaders(state), log_dir, unplaced)


def _merit(draft: Draft) -> tuple[float, int, int]:
    """What is outside, then bytes, then moves: the less the better."""
    return shortfall(draft.state, draft.leader), draft.state.moved_bytes(), int(draft.state.moved().sum())


def _log_dirs(state: State) -> tuple[I32, I64]:
    """Log dirs of all slots, and cells that should have left home but for which no dir has room."""
    unplaced = [np.empty(0, np.int64)]
    log_dir, left = choose_log_dirs(state)
    while left.size:
        p, k = left // state.width, left % state.width
        unplaced.append(left[state.why[p, k] >= Why.RACK])
        send_home(state, p, k)
        log_dir, left = choose_log_dirs(state)
    return log_dir, np.concatenate(unplaced)
