"""Leaves partitions unchanged that would keep a replica on a dead broker or in an offline log dir.

::

    repeat until nothing changes
        send back all replicas of partitions that keep an offline replica
        send back arrivals from brokers that this fills beyond their limits, those for balance first, then the largest
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import I64, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.grouped_array_operations import running_count, running_sum
from kafkabal.planner.search.keep_within_budget import send_back
from kafkabal.planner.search.solution import Solution


def leave_unrepaired(solution: Solution) -> None:
    """Send back what must not move because its partition stays broken, and what no longer has room then.

    Kafka completes a reassignment once all replicas of its target are in sync, so it would complete none of these; and
    the copy that moves may be the last.
    """
    p, k = _to_return(solution)
    while p.size:
        send_back(solution, p, k)
        p, k = _to_return(solution)


def _to_return(solution: Solution) -> tuple[I64, I64]:
    p, k = _in_vain(solution)
    return (p, k) if p.size else _beyond_limits(solution)


def _in_vain(solution: Solution) -> tuple[I64, I64]:
    """Moved replicas of partitions that keep an offline replica."""
    rows = np.flatnonzero(solution.keeps_offline())
    row, k = np.nonzero(solution.moved()[rows])
    return rows[row], k


def _beyond_limits(solution: Solution) -> tuple[I64, I64]:
    """Arrivals at brokers that end beyond their limits of bytes, or of replicas and beyond the number held before.

    No copy starts on a volume that stays beyond its limit, even if more leaves it than arrives.
    """
    problem = solution.problem
    held = problem.previous[problem.previous >= 0]
    p, k = np.nonzero(problem.lost & solution.stays())
    elsewhere = np.bincount(solution.placement[p, k], problem.held_bytes[p, k], problem.n_brokers).astype(np.int64)
    bytes_over = solution.used - elsewhere - problem.limit_bytes
    count_over = solution.count - np.maximum(problem.limit_replicas, np.bincount(held, minlength=problem.n_brokers))
    full: Bools = (bytes_over > 0) | (count_over > 0)
    p, k = np.nonzero(solution.moved())
    over = full[solution.placement[p, k]]
    p, k = p[over], k[over]
    broker, bytes_ = solution.placement[p, k], problem.arriving_bytes[p]
    order = np.lexsort((p, -bytes_, solution.why[p, k] >= MoveCause.RACK, broker))
    p, k, broker, bytes_ = p[order], k[order], broker[order], bytes_[order]
    before = running_sum(broker, bytes_) - bytes_
    needed = ((before < bytes_over[broker]) & (bytes_ > 0)) | (running_count(broker) < count_over[broker])
    return p[needed], k[needed]
