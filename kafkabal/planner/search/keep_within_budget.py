"""Keeps the part of a plan that a budget pays for: what removes most of the excess per byte.

What leaves a dead or drained broker comes first. What leaves one above its band counts fully; what only makes room or
repairs a rack counts less. Among equals, small ones come last: moves made for numbers alone are decided once the bytes
are balanced.

::

    repairs: take partitions with a replica on a dead or drained broker, the cheapest first, up to the limits of brokers
    order the others by worth, then the large ones by lot, then by falling size
    repeat
        take them in that order as long as every budget pays, passing over what no longer fits
        leave out what would overfill its new broker, since what was to leave there stays; its share goes to others
    until nothing is left out
    if bytes across racks are limited, repeat it with what was left out, less its replicas that would cross racks

Source: the greedy order of the knapsack problem, by worth for each byte (G. B. Dantzig, Discrete-Variable Extremum
Problems, Operations Research 5, 1957).
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64, NO_RACK, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.plan_options import BUDGETS
from kafkabal.planner.search.grouped_array_operations import any_of_row, running_count, running_sum
from kafkabal.planner.search.solution import Counts, Solution

_MOST_PASSES = 20
"""5 and 80 give the same plans at a third of the bytes: each pass fills what the one before left over."""
_MOST_REFILLS = 8
"""2 and 32 give the same plans there."""
_MOST_OF_THE_BYTES = 0.95
"""Of four clusters, a third of the bytes leaves 165 brokers and topics outside a band; 168 with 0.8, 162 with 0.99."""


def exceeds_budget(solution: Solution) -> bool:
    """Whether bytes, moves, leaders or time are limited, and the plan exceeds the limit."""
    if all(getattr(solution.problem.options, name) is None for name in BUDGETS):
        return False
    p = np.flatnonzero(any_of_row(solution.moved()))
    return not _affordable(solution, p, np.ones(len(p), np.bool_)).all()


def trim_to_budget(start: Solution, solution: Solution, barred: Bools, lot: F64, *, crowd: bool = False) -> None:
    """Return replicas until the rest fits the budget; partitions stay whole unless bytes across racks are limited.

    Parameters
    ----------
    barred
        shape (n_partitions,): partitions that stay even if the budget could pay for them, unless they are repaired.
    lot
        shape (n_partitions,), 0 to 1: order of large partitions that are otherwise equal.
    crowd
        Whether brokers may be filled up to their limits, or with a topic, while replicas that will leave are still
        there.
    """
    p = np.flatnonzero(solution.moved().any(1))
    urgent = repairs(solution)[p]
    others = p[~urgent]
    first = _cheapest_first(solution, p[urgent])
    most = _Most(start, solution, crowd=crowd)
    if first.size:
        first = first[_repaired(start, solution, first)]
        others = np.concatenate((np.setdiff1d(p[urgent], first), others))
    if others.size:
        others = _in_turn(others, solution, _worth(solution, others, start.used > start.bands.high_bytes), lot)
    p, fixed = np.concatenate((first, others)), np.arange(len(p)) < len(first)
    bytes_room, count_room = most.bytes - start.used, most.count - start.count
    keep = _kept(solution, p, fixed | ~barred[p], bytes_room, count_room, fixed)
    if solution.problem.options.max_cross_rack_bytes is not None:
        halved = _without_far_replicas(solution, p[~keep & ~barred[p] & ~repairs(solution)[p]])
        _send_all_back(solution, np.setdiff1d(p[~keep], halved))
        p, fixed = np.concatenate((p[keep], halved)), np.arange(keep.sum() + len(halved)) < keep.sum()
        keep = _kept(solution, p, np.ones(len(p), np.bool_), bytes_room, count_room, fixed)
    _send_all_back(solution, p[~keep])
    _leave_out_crowding(solution, most.of_topics)


def repairs(solution: Solution) -> Bools:
    """bool, shape (n_partitions,): whether a replica leaves a dead or drained broker or an offline log dir."""
    return np.asarray((solution.moved() & (solution.why == MoveCause.LEAVES)).any(1))


def _repaired(start: Solution, solution: Solution, p: I64) -> Bools:
    """Which repairs are affordable, by themselves, up to the limits of the brokers.

    What else moves plays no part in it, so that a larger budget always repairs as much.
    """
    problem = solution.problem
    every, none = np.ones(len(p), np.bool_), np.zeros(len(p), np.bool_)
    return _kept(solution, p, every, problem.limit_bytes - start.used, problem.limit_replicas - start.count, none)


def _cheapest_first(solution: Solution, p: I64) -> I64:
    """Order partitions by what they cost of the budget, so that as many as possible are repaired.

    A larger budget repairs the same and more.
    """
    options, number = solution.problem.options, solution.moved()[p].sum(1)
    far = np.zeros(len(p)) if options.max_cross_rack_bytes is None else _across_racks(solution, p)
    if options.max_bytes is None and options.max_moves is not None:
        return p[np.lexsort((p, -_cost(solution, p), number, far))]
    return p[np.lexsort((p, number, _cost(solution, p), far))]


def _kept(solution: Solution, p: I64, among: Bools, bytes_room: I64, count_room: I64, fixed: Bools) -> Bools:
    """What is affordable and finds room; what finds none leaves its part of the budget to others.

    Parameters
    ----------
    fixed
        What needs no more room, since it was found to have some.
    """
    keep = among
    for _ in range(_MOST_REFILLS):
        bought = _affordable(solution, p, among)
        keep = _without_overflow(solution, p, bought, bytes_room, count_room, fixed)
        if (keep == bought).all():
            break
        among = among & (keep | ~bought)
    return keep


class _Most:
    """What each broker may hold meanwhile: at most its band, what it held before, or what it will hold in the end."""

    def __init__(self, start: Solution, solution: Solution, *, crowd: bool) -> None:
        problem, bands = start.problem, start.bands
        most_bytes, most_count = start.most_bytes(), bands.high_count
        if crowd:
            most_bytes, most_count = problem.limit_bytes, problem.limit_replicas
        self.bytes: I64 = np.maximum(most_bytes, np.maximum(start.used, solution.used))
        self.count: I64 = np.maximum(most_count, np.maximum(start.count, solution.count))
        self.of_topics: Counts | None = None
        if start.topic_count is not None and solution.topic_count is not None and not crowd:
            self.of_topics = np.maximum(start.topic_count, solution.topic_count)


def _in_turn(p: I64, solution: Solution, worth: F64, lot: F64) -> I64:
    """Order partitions by worth; then those that carry most of the bytes by lot, and the others by falling size.

    The rest is then like the whole, and as easily planned. If the number of moves is limited, size decides at once.
    """
    bytes_ = _cost(solution, p)
    falling = np.sort(bytes_)[::-1]
    carried = np.cumsum(falling)
    is_large = bytes_ >= falling[np.searchsorted(carried, carried[-1] * _MOST_OF_THE_BYTES)]
    options = solution.problem.options
    by_lot = is_large & (options.max_moves is None)
    # if bytes across racks are limited, partitions for which only part of the bytes cross racks come first
    far = (
        np.zeros(len(p)) if options.max_cross_rack_bytes is None else _across_racks(solution, p) / np.maximum(bytes_, 1)
    )
    return p[np.lexsort((p, -bytes_, np.where(by_lot, lot[p], 1.0), far, -worth))]


def _cost(solution: Solution, p: I64) -> I64:
    cost: I64 = solution.problem.arriving_bytes[p] * solution.moved()[p].sum(1)
    return cost


def _across_racks(solution: Solution, p: I64) -> I64:
    """Bytes that arrive in another rack than that of the leader, which sends them."""
    cost: I64 = solution.problem.arriving_bytes[p] * _crosses_racks(solution, p).sum(1)
    return cost


def _crosses_racks(solution: Solution, p: I64) -> Bools:
    """bool, shape (len(p), most replicas): whether a replica moves to another rack than that of the leader."""
    problem = solution.problem
    leader = problem.state.partitions.leader[p]
    # without a leader the sender is unknown: every copy counts, as in the figure of the plan
    from_rack = np.where(leader >= 0, problem.rack[leader], NO_RACK)
    return np.asarray(solution.moved()[p] & (problem.rack[solution.placement[p]] != from_rack[:, None]))


def _without_far_replicas(solution: Solution, p: I64) -> I64:
    """Return replicas that would cross racks; gives the partitions of which other replicas still move."""
    moved, far = solution.moved()[p], _crosses_racks(solution, p)
    # moves that only together keep the rules are not taken apart
    bound = moved & ((solution.why[p] >= MoveCause.RACK) | (solution.problem.previous[p] < 0))
    mixed = p[far.any(1) & (moved & ~far).any(1) & ~bound.any(1)]
    row, position = np.nonzero(_crosses_racks(solution, mixed))
    send_back(solution, mixed[row], position)
    return mixed[solution.moved()[mixed].any(1)]


def _leave_out_crowding(solution: Solution, most: Counts | None) -> None:
    """Return replicas that crowd a topic on their new broker because others stay there."""
    if solution.topic_count is None or most is None:
        return
    problem = solution.problem
    p, k = np.nonzero(solution.moved())
    topic, target = problem.topic[p], solution.placement[p, k]
    crowded = solution.topic_count[topic, target] > np.maximum(
        solution.bands.topic_most(topic, target), most[topic, target]
    )
    crowded &= (solution.why[p, k] < MoveCause.RACK) & ~repairs(solution)[p]
    _send_all_back(solution, np.unique(p[crowded]))


def _send_all_back(solution: Solution, p: I64) -> None:
    """Return all moved replicas of some partitions."""
    row, position = np.nonzero(solution.moved()[p])
    send_back(solution, p[row], position)


def _worth(solution: Solution, p: I64, over: Bools) -> F64:
    """Fraction of the moved replicas of each partition that relieve a broker."""
    problem = solution.problem
    moved = solution.moved()[p]
    previous = problem.previous[p]
    relieves = moved & ((over | problem.leaves)[previous] | (previous < 0) | problem.lost[p])
    return np.asarray(relieves.sum(1) / moved.sum(1)) + np.where((solution.why[p] == MoveCause.LEAVES).any(1), 1.0, 0.0)


def _affordable(solution: Solution, p: I64, among: Bools) -> Bools:
    """Take partitions in order, skipping those that no longer fit."""
    options = solution.problem.options
    keep = among.copy()
    costs = (
        (options.max_bytes, _cost(solution, p)),
        (options.max_cross_rack_bytes, _across_racks(solution, p)),
        (options.max_moves, solution.moved()[p].sum(1)),
        (options.max_leader_changes, _led_elsewhere(solution, p)),
    )
    for limit, cost in costs:
        if limit is not None:
            keep &= _first_fit(cost, keep, limit)
    if options.max_duration_s is not None and options.throttle_bytes_per_s:
        keep &= _within_links(solution, p, keep, int(options.max_duration_s * options.throttle_bytes_per_s))
    return keep


def _led_elsewhere(solution: Solution, p: I64) -> I64:
    """1 if the leader's replica moves, so that another one has to lead."""
    leads = solution.problem.previous[p] == solution.problem.state.partitions.leader[p, None]
    return np.asarray((solution.moved()[p] & leads).any(1), np.int64)


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


def _within_links(solution: Solution, p: I64, among: Bools, limit: int) -> Bools:
    """Whether no broker sends or receives more than its throttle allows in the time; skips what no longer fits."""
    problem = solution.problem
    row, position = np.nonzero(solution.moved()[p] & among[:, None])
    size = problem.arriving_bytes[p[row]]
    ends = (solution.placement[p[row], position], problem.leader[p[row]])
    # a leader sends one copy per new replica
    alone = (size, np.bincount(row, size, len(p)).astype(np.int64)[row])
    left = [np.full(problem.n_brokers, limit) for _ in ends]
    taken = np.zeros(len(p), np.bool_)
    waits = among.copy()
    for _ in range(_MOST_PASSES):
        for end, room, cost in zip(ends, left, alone, strict=True):
            waits[row[cost > room[end]]] = False
        fits = waits.copy()
        for end, room in zip(ends, left, strict=True):
            late = running_sum(end, np.where(waits[row], size, 0)) > room[end]
            fits[row[late]] = False
        if not fits.any():
            break
        for end, room in zip(ends, left, strict=True):
            np.subtract.at(room, end[fits[row]], size[fits[row]])
        taken |= fits
        waits &= ~fits
    return taken


def _without_overflow(solution: Solution, p: I64, keep: Bools, bytes_room: I64, count_room: I64, fixed: Bools) -> Bools:
    """Leave out replicas that would overfill their new broker because others stay there, but none that are fixed."""
    problem = solution.problem
    for _ in range(_MOST_PASSES):
        row, position = np.nonzero(solution.moved()[p] & keep[:, None])
        previous, target = problem.previous[p[row], position], solution.placement[p[row], position]
        known = previous >= 0
        leaving = problem.held_bytes[p[row], position][known].astype(np.float64)
        bytes_left = bytes_room + np.bincount(previous[known], leaving, problem.n_brokers).astype(np.int64)
        count_left = count_room + np.bincount(previous[known], minlength=problem.n_brokers)
        over = running_sum(target, problem.arriving_bytes[p[row]]) > bytes_left[target]
        over |= running_count(target) >= count_left[target]
        over &= ~fixed[row]
        if not over.any():
            return keep
        keep = keep.copy()
        keep[row[over]] = False
    return keep


def send_back(solution: Solution, p: I64, k: I64) -> None:
    """Return moved replicas, and replicas in a rack that they left for them; drop new ones."""
    previous = solution.problem.previous[p, k]
    solution.lift(p, k, MoveCause.NOTHING)
    known = previous >= 0
    solution.is_position[p[~known], k[~known]] = False
    p, k, previous = p[known], k[known], previous[known]
    barred = p[~solution.racks_allow(p, k, previous)]
    solution.put(p, k, previous)
    if barred.size:
        rows = np.unique(barred)
        row, column = np.nonzero((solution.moved() & (solution.why < MoveCause.RACK))[rows])
        solution.lift(rows[row], column, MoveCause.NOTHING)
        solution.put(rows[row], column, solution.problem.previous[rows[row], column])
