"""A lower bound for small clusters, where replicas are too large to be divided at will.

A broker above its band sheds whole replicas: at least its cheapest set that is sufficient in bytes and in number. A
broker below its band receives whole replicas likewise. Every byte that leaves a broker enters another, so neither sum
can exceed what a plan moves. The cheapest set is found by trying all subsets (subset sum, exact).
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import I64
from kafkabal.planner.integer_bands import excess
from kafkabal.planner.search.solution import Solution

_MOST_REPLICAS = 14
"""Partitions: 2^14 subsets take a millisecond per broker, and each further partition doubles that."""
_MOST_BROKERS = 64
"""With more brokers than that, so few partitions leave most brokers empty, and this bound is useless."""


def indivisible_bound(start: Solution) -> int:
    """Bytes that single brokers have to shed or receive in whole replicas; 0 if there are too many to try.

    Copies of one partition must be equal in size, since otherwise the bands themselves move.
    """
    problem, bands = start.problem, start.bands
    if problem.n_brokers > _MOST_BROKERS or len(problem.positions) > _MOST_REPLICAS:
        return 0
    above, below = excess(start.used, bands.low_bytes, bands.high_bytes, problem.weighed)
    spare, short = excess(start.count, bands.low_count, bands.high_count, problem.counted)
    leaving = entering = 0
    for b in range(problem.n_brokers):
        here = (start.placement == b).any(1)
        own = problem.arriving_bytes[here & problem.movable]
        if problem.leaves[b]:
            leaving += int(own.sum())
            continue
        leaving += _cheapest(own, int(above[b]), int(spare[b]))
        entering += _cheapest(problem.arriving_bytes[~here & problem.movable], int(below[b]), int(short[b]))
    return max(leaving, entering)


def _cheapest(sizes: I64, bytes_: int, number: int) -> int:
    """Smallest sum of sizes that reaches these bytes with this number of replicas; the sum of all if none does."""
    if bytes_ <= 0 and number <= 0:
        return 0
    sums, counts = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for size in sizes.tolist():
        sums, counts = np.concatenate((sums, sums + size)), np.concatenate((counts, counts + 1))
    enough = (sums >= bytes_) & (counts >= number)
    return int(sums[enough].min()) if enough.any() else int(sizes.sum())
