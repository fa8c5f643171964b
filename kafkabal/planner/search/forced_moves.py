"""For small clusters outside their bands: forces a large replica off a broker, and lets the others make room.

Where few partitions make up nearly all bytes, two of them on one broker can be more than its band holds. No single move
and no exchange parts them: wherever either goes, more is outside until many small replicas have left that broker, and
the local search would send it straight back. So it is held where it went while the search goes on::

    give up where counting shows that the bands are out of reach         (out_of_reach.py)
    repeat
        move a replica of a broker that is outside to any that may take it, large ones more likely
        local search without it, then with it, then reduce cost
        go on from that if less is outside, or as much for fewer bytes
    until every broker is inside its bands, or many rounds have found nothing, or the rounds are used up

What ends outside all the same is not kept: that is left to a search that weighs what it takes out against its bytes.

Source: what keeps a move from being undone at once is the tabu restriction of F. Glover, Tabu Search, Part I, ORSA J.
Computing 1 (1989).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kafkabal.model import I64
from kafkabal.planner.search.band_violation import Violation, is_within_limits, merit_of
from kafkabal.planner.search.local_search import search_locally
from kafkabal.planner.search.out_of_reach import is_out_of_reach
from kafkabal.planner.search.reduce_cost import reduce_cost
from kafkabal.planner.search.solution import Solution

_GIVE_UP_AFTER_ROUNDS = 20
"""Rounds without a better placement. The one of 190 drawn clusters whose bands were missed though they can be reached
takes one or two rounds, by four streams of random numbers."""
_MOST_ROUNDS = 40
"""With 27 brokers and 18 partitions of nearly equal size, one small improvement followed another for 189 rounds."""


def force_into_bands(solution: Solution) -> Solution:
    """A placement inside all bands of bytes and replicas, or the same one if none is found; all rules stay kept."""
    best, merit = solution, merit_of(solution)
    random = np.random.default_rng(solution.problem.options.seed)
    since = 0
    for _ in range(0 if is_out_of_reach(solution) else _MOST_ROUNDS):
        if merit[0] <= 0 or since >= _GIVE_UP_AFTER_ROUNDS:
            break
        since += 1
        found = best.copy()
        forced = _force(found, random)
        if forced is None:
            break
        _search_beside(found, *forced)
        if merit_of(found) < merit and is_within_limits(found, solution):
            best, merit, since = found, merit_of(found), 0
    return best if merit[0] <= 0 else solution


def _force(solution: Solution, random: np.random.Generator) -> tuple[I64, I64] | None:
    """Move one replica off a broker that is outside its bands; returns its position, or None if no replica can move."""
    problem = solution.problem
    outside = Violation(solution).now() > 0
    p, k = np.nonzero((solution.placement >= 0) & problem.movable_positions & outside[solution.placement])
    load = solution.load(p, k, solution.placement[p, k])
    if not load.any():
        return None
    one = np.searchsorted(np.cumsum(load), random.random() * float(load.sum()), side="right")
    p, k = p[[one]], k[[one]]
    allowed = solution.may_go_anywhere(p, k)[0] & (problem.arriving_bytes[p] <= solution.room_bytes())
    allowed &= solution.count < problem.limit_replicas
    allowed[solution.placement[p, k]] = False
    targets = np.flatnonzero(allowed)
    if targets.size:
        solution.move(p, k, targets[[int(random.random() * len(targets))]])
    return p, k


def _search_beside(solution: Solution, p: I64, k: I64) -> None:
    """Search while the position stays where it is, then once more with all positions."""
    problem = solution.problem
    movable_positions = problem.movable_positions.copy()
    movable_positions[p, k] = False
    solution.problem = replace(problem, movable_positions=movable_positions)
    search_locally(solution)
    solution.problem = problem
    search_locally(solution)
    reduce_cost(solution)
    solution.refresh_bands()
