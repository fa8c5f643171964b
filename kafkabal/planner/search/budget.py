"""Keep the part of a plan that a budget pays for: what takes most out of the excess for each byte.

What leaves a dead or drained broker, or one above its band, counts fully; what only makes room or mends a rack counts
less. Among equals the largest come first, so that few moves carry the bytes, and what is small is decided last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.planner.search.groups import running_sum
from kafkabal.planner.why import Why

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I64, Bools
    from kafkabal.planner.search.state import State

_MOST_PASSES = 20


def has_budget(state: State) -> bool:
    """Whether bytes or moves are limited."""
    o = state.problem.options
    return any(limit is not None for limit in (o.max_bytes, o.max_moves, o.max_duration_s))


def trim_to_budget(state: State, high_bytes: I64, used_before: I64) -> None:
    """Send replicas home again until what is left fits the budget; partitions stay whole."""
    p = np.flatnonzero(state.moved().any(1))
    if not p.size:
        return
    number = state.moved()[p].sum(1)
    bytes_ = state.problem.arriving_bytes[p] * number
    worth = _worth(state, p, used_before > high_bytes)
    order = np.lexsort((p, -bytes_, -worth))
    p, number, bytes_ = p[order], number[order], bytes_[order]
    keep = _affordable(state, p, number, bytes_)
    keep = _without_overflow(state, p, keep, used_before, high_bytes)
    row, slot = np.nonzero(state.moved()[p[~keep]])
    send_home(state, p[~keep][row], slot)
    _leave_out_crowding(state)


def _leave_out_crowding(state: State) -> None:
    """Send home what came to a broker where its topic is crowded, because what was to leave there stays."""
    if state.topic_count is None:
        return
    problem = state.problem
    p, k = np.nonzero(state.moved())
    topic, target = problem.topic[p], state.place[p, k]
    crowded = state.topic_count[topic, target] > state.bands.topic_most(topic, target)
    p = np.unique(p[crowded & (state.why[p, k] < Why.RACK)])
    row, slot = np.nonzero(state.moved()[p])
    send_home(state, p[row], slot)


def _worth(state: State, p: I64, over: Bools) -> F64:
    """Share of the moved replicas of each partition that relieve a broker."""
    problem = state.problem
    moved = state.moved()[p]
    home = problem.home[p]
    relieves = moved & ((over | problem.leaves)[home] | (home < 0))
    return np.asarray(relieves.sum(1) / moved.sum(1)) + np.where((state.why[p] == Why.LEAVES).any(1), 1.0, 0.0)


def _affordable(state: State, p: I64, number: I64, bytes_: I64) -> Bools:
    """Take partitions in order, passing over those that no longer fit."""
    options = state.problem.options
    keep = np.ones(len(p), np.bool_)
    for limit, cost in ((options.max_bytes, bytes_), (options.max_moves, number)):
        if limit is not None:
            keep &= _first_fit(cost, keep, limit)
    if options.max_duration_s is not None and options.throttle_bytes_per_s:
        keep &= _within_links(state, p, keep, int(options.max_duration_s * options.throttle_bytes_per_s))
    return keep


def _first_fit(cost: I64, among: Bools, limit: int) -> Bools:
    taken = np.zeros(len(cost), np.bool_)
    candidates = np.flatnonzero(among)
    left = limit
    for _ in range(_MOST_PASSES):
        candidates = candidates[cost[candidates] <= left]
        fits = np.cumsum(cost[candidates]) <= left
        if not candidates.size:
            break
        end = len(fits) if fits.all() else int(fits.argmin())
        taken[candidates[:end]] = True
        left -= int(cost[candidates[:end]].sum())
        candidates = candidates[end:]
    return taken


def _within_links(state: State, p: I64, among: Bools, limit: int) -> Bools:
    """No broker sends or takes more than its throttle lets through in the time."""
    problem = state.problem
    keep = among.copy()
    row, slot = np.nonzero(state.moved()[p] & among[:, None])
    size = problem.arriving_bytes[p[row]]
    for end in (state.place[p[row], slot], problem.leader[p[row]]):
        late = row[running_sum(end, size) > limit]
        keep[late] = False
    return keep


def _without_overflow(state: State, p: I64, keep: Bools, used_before: I64, high_bytes: I64) -> Bools:
    """Leave out what would push its new broker over the band because what was to leave there stays."""
    problem = state.problem
    for _ in range(_MOST_PASSES):
        row, slot = np.nonzero(state.moved()[p] & keep[:, None])
        home, target = problem.home[p[row], slot], state.place[p[row], slot]
        size = problem.arriving_bytes[p[row]]
        out = np.bincount(
            home[home >= 0], problem.held_bytes[p[row], slot][home >= 0].astype(np.float64), problem.n_brokers
        )
        room = np.maximum(high_bytes, used_before) - used_before + out.astype(np.int64)
        over = running_sum(target, size) > room[target]
        if not over.any():
            return keep
        keep = keep.copy()
        keep[row[over]] = False
    return keep


def send_home(state: State, p: I64, k: I64) -> None:
    """Put moved replicas back where they were; new ones are given up."""
    home = state.problem.home[p, k]
    state.lift(p, k, Why.NOTHING)
    known = home >= 0
    state.put(p[known], k[known], home[known])
    state.is_slot[p[~known], k[~known]] = False
