"""If copies of a partition differ in size, move those first that relieve their broker most per byte copied.

::

    repeat
        of each broker above its target, lift the replicas of the lowest price, as many as it has to give
        assign them, the largest first, each to the broker that lacks most of those that the rules allow
        what would fill a broker beyond its band returns, and is not lifted again
    until nothing is lifted, or the rounds are used up

Prices come from the potentials of the lower bound (:mod:`~kafkabal.planner.lower_bound`): reduced costs, as in a
Lagrangian heuristic (J. E. Beasley, Lagrangian Relaxation, in: Modern Heuristic Techniques, Blackwell 1993).
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.assign_unplaced import assign_unplaced
from kafkabal.planner.search.grouped_array_operations import is_first, running_sum
from kafkabal.planner.search.load_targets import make_targets, zones
from kafkabal.planner.search.solution import Solution

_MOST_ROUNDS = 8
"""A limit: what returned is not tried again, so that each round lifts less; 2 and 32 give the same 19 plans of
benchmarks/planner_constants.py."""
_LEAST_DONOR_POTENTIAL = 0.02
"""Potential above which a broker gives down to the edge of its band and no further. Without it those above the common
level do: plans of twelve brokers in four racks, by all scores at 9%, are then 1.025 x the bound and not 1.014 x."""


def move_cheapest(solution: Solution, narrowed: float) -> None:
    """Move the cheapest replicas off brokers above their targets, if the solution has guidance."""
    tried = np.zeros_like(solution.is_position)
    for _ in range(_MOST_ROUNDS):
        chosen = _lift(solution, tried)
        if not chosen.any():
            return
        tried |= chosen
        _return_left(solution, chosen, assign_unplaced(solution))
        _return_excess(solution, chosen)
        solution.refresh_bands(narrowed)


def _lift(solution: Solution, tried: Bools) -> Bools:
    """Lift what each broker gives; returns the lifted positions."""
    problem = solution.problem
    if solution.guidance is None:
        return np.zeros_like(tried)
    target = make_targets(solution, zones(problem)).bytes
    edge = np.where(solution.guidance.potential > _LEAST_DONOR_POTENTIAL, solution.bands.high_bytes, target)
    surplus = np.maximum(solution.used - np.maximum(target, edge), 0)
    free = solution.stays() & problem.movable_positions & ~tried & (problem.arriving_bytes > 0)[:, None]
    chosen = cheapest_of(solution, free & (surplus > 0)[solution.placement], solution.guidance.price, surplus)
    p, k = np.nonzero(chosen)
    solution.lift(p, k, MoveCause.BALANCE)
    return chosen


def cheapest_of(solution: Solution, free: Bools, price: F64, most: F64 | I64) -> Bools:
    """The replicas of the lowest price on each broker, as long as their bytes do not exceed a number per broker."""
    p, k = np.nonzero(free)
    order = np.lexsort((price[p, k], solution.placement[p, k]))
    p, k = p[order], k[order]
    broker = solution.placement[p, k]
    fits = running_sum(broker, solution.load(p, k, broker)) <= most[broker]
    chosen = np.zeros_like(free)
    chosen[p[fits], k[fits]] = True
    return chosen


def _return_left(solution: Solution, chosen: Bools, left: I64) -> None:
    """Return replicas that no broker can take, and replicas in a rack that has to be vacated for one of them."""
    p, k = left // solution.width, left % solution.width
    barred = ~solution.racks_allow(p, k, solution.problem.previous[p, k])
    again = np.zeros(len(chosen), np.bool_)
    again[p[barred]] = True
    q, j = np.nonzero(chosen & solution.moved() & again[:, None])
    solution.lift(q, j, MoveCause.NOTHING)
    _return(solution, np.concatenate((q, p)), np.concatenate((j, k)))


def _return_excess(solution: Solution, chosen: Bools) -> None:
    """Return the last arrivals of brokers that are beyond their bands because of them."""
    problem, bands = solution.problem, solution.bands
    p, k = np.nonzero(chosen & solution.moved())
    target = solution.placement[p, k]
    over = np.maximum(solution.used - bands.high_bytes, 0)
    arrived = problem.arriving_bytes[p]
    # the smallest first: among arrivals the largest ones were placed first
    order = np.argsort(arrived, kind="stable")
    p, k, target, arrived = p[order], k[order], target[order], arrived[order]
    back = running_sum(target, arrived) - arrived < over[target]
    p, k = p[back], k[back]
    # another replica of its partition may be in its rack by now, or another one of its topic on its broker
    previous = problem.previous[p, k]
    may = solution.may_go(p, k, previous) & is_first(p)
    may &= is_first(problem.topic[p].astype(np.int64) * problem.n_brokers + previous)
    p, k = p[may], k[may]
    solution.lift(p, k, MoveCause.NOTHING)
    _return(solution, p, k)


def _return(solution: Solution, p: I64, k: I64) -> None:
    solution.put(p, k, solution.problem.previous[p, k])
