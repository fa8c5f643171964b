"""Exchange replicas of topics that crowd a broker for others, where no broker has room to take them alone.

::

    for each topic of which a broker holds too many replicas, as long as it does and an exchange is found
        pairs = its replicas there x replicas elsewhere, those nearest to them in size
        apply the pair that moves the fewest bytes more, among those that the rules allow in each other's places, and
            after which neither broker is further outside its band of bytes or its limit

Brokers that a drain has filled up to their limits cannot take a single replica, but an exchange needs hardly any room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import I64, Bools
from kafkabal.planner.search.local_search import SearchStep, has_room, may_exchange
from kafkabal.planner.search.solution import Solution

_PARTNERS = 512
"""Replicas that are considered in exchange for a crowding one."""
_MOST_FAILURES = 64
"""Crowds that stay, after which no others are tried: where topics are out of reach, there are thousands."""


class _Crowd(NamedTuple):
    """A topic, and a broker that holds too many replicas of it."""

    topic: int
    broker: int


def exchange_crowding_replicas(solution: Solution) -> bool:
    """Relieve brokers of topics of which they hold too many replicas, one exchange at a time; returns whether there was
    one."""
    failures, exchanged = 0, False
    for crowd in _crowds(solution):
        while _is_crowded(solution, crowd):
            step = _best_exchange(solution, crowd)
            if step is None:
                failures += 1
                break
            solution.move(step.p, step.k, step.target)
            exchanged = True
        if failures >= _MOST_FAILURES:
            break
    return exchanged


def _is_crowded(solution: Solution, crowd: _Crowd) -> bool:
    most = solution.bands.topic_most(crowd.topic, crowd.broker)
    return solution.topic_count is not None and bool(solution.topic_count[crowd.topic, crowd.broker] > most)


def _crowds(solution: Solution) -> list[_Crowd]:
    if solution.topic_count is None:
        return []
    # by replica: a column for every topic and broker would take a gigabyte on 1,000 brokers
    p, k = np.nonzero(solution.placement >= 0)
    topic, broker = solution.problem.topic[p], solution.placement[p, k]
    most = solution.bands.topic_most(topic, broker)
    crowded = solution.problem.counted[broker] & (solution.topic_count[topic, broker] > most)
    pairs = np.unique(np.column_stack((topic[crowded], broker[crowded])), axis=0)
    return [_Crowd(*pair) for pair in pairs.tolist()]


def _best_exchange(solution: Solution, crowd: _Crowd) -> SearchStep | None:
    """The exchange of one of the crowding replicas that moves the fewest bytes more."""
    problem = solution.problem
    free = (solution.placement >= 0) & problem.movable_positions
    is_of_topic = (problem.topic == crowd.topic)[:, None]
    here = np.nonzero(free & is_of_topic & (solution.placement == crowd.broker))
    if not here[0].size or not problem.takes[crowd.broker]:
        return None
    elsewhere = free & ~is_of_topic & (solution.placement != crowd.broker) & problem.takes[solution.placement]
    there = np.nonzero(elsewhere)
    row, column = _nearest(problem.arriving_bytes[here[0]], problem.arriving_bytes[there[0]])
    p, k, other_p, other_k = here[0][row], here[1][row], there[0][column], there[1][column]
    good = np.flatnonzero(_fits(solution, p, k, other_p, other_k))
    good = good[may_exchange(solution, p[good], k[good], other_p[good], other_k[good])]
    if not good.size:
        return None
    best = good[_more_bytes(solution, p[good], k[good], other_p[good], other_k[good]).argmin()]
    both, positions = np.array([p[best], other_p[best]]), np.array([k[best], other_k[best]])
    return SearchStep(both, positions, solution.placement[both, positions][::-1].astype(np.int64))


def _nearest(sizes: I64, others: I64) -> tuple[I64, I64]:
    """Pairs of each replica with those others that are nearest to it in size."""
    order = np.argsort(others, kind="stable")
    at = np.searchsorted(others[order], sizes)[:, None] + np.arange(-_PARTNERS // 2, _PARTNERS // 2)
    row, column = np.nonzero((at >= 0) & (at < len(others)))
    return row, order[at[row, column]]


def _fits(solution: Solution, p: I64, k: I64, other_p: I64, other_k: I64) -> Bools:
    """Whether neither broker is further outside its band of bytes or its limit after the exchange."""
    bands = solution.bands
    fits = np.ones(len(p), np.bool_)
    for (leaving_p, leaving_k), (coming_p, coming_k) in (((p, k), (other_p, other_k)), ((other_p, other_k), (p, k))):
        broker = solution.placement[leaving_p, leaving_k].astype(np.int64)
        more = solution.load(coming_p, coming_k, broker) - solution.load(leaving_p, leaving_k, broker)
        used = solution.used[broker]
        inside = (used + more <= np.maximum(bands.high_bytes[broker], used)) & (
            used + more >= np.minimum(bands.low_bytes[broker], used)
        )
        fits &= inside & has_room(solution, broker, more)
    return fits


def _more_bytes(solution: Solution, p: I64, k: I64, other_p: I64, other_k: I64) -> I64:
    """Bytes that each exchange adds to the plan."""
    bytes_, previous, placement = solution.problem.arriving_bytes, solution.problem.previous, solution.placement
    total = np.zeros(len(p), np.int64)
    for (q, j), target in (((p, k), placement[other_p, other_k]), ((other_p, other_k), placement[p, k])):
        total += bytes_[q] * ((previous[q, j] != target).astype(np.int64) - (previous[q, j] != placement[q, j]))
    return total
