"""How far brokers are outside their bands: what the local search reduces step by step."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import fair_shares

CONVEXITY = 4.0
"""For bands out of reach: with this weight, brokers that are outside by a tenth of a fair share more than others are
levelled with them, since a byte moved, at its price of 0.8, then takes as much from the squares."""
LIMIT_WEIGHT = 1e3
"""What a load beyond a limit of the user weighs beside one beyond a band: no band is worth as much."""
LEAST_GAIN = 1e-13
"""Larger than rounding errors of float64; 1e-10 gives the same plans."""


class Violation:
    """How far brokers are outside their bands, in fair shares, weighted by the scores.

    Parameters
    ----------
    convexity
        What the square counts beside it: above 0 two brokers that are outside by the same are better than one that is
        outside by twice as much, so that where bands are out of reach the largest excess is made small first.
    limit_weight
        What loads beyond a limit of the user weigh in addition, in shares of a mean broker.
    """

    def __init__(self, solution: Solution, convexity: float = 0.0, limit_weight: float = LIMIT_WEIGHT) -> None:
        problem = solution.problem
        self.solution = solution
        self.convexity = convexity
        self.least_gain = LEAST_GAIN
        """Least reduction of the violation by a step."""
        rows = problem.weighed
        mean = solution.due.mean_bytes(solution.used, rows)
        self.fair_bytes: F64 = np.maximum(mean * solution.due.byte_weight, 1.0)
        mean_count = max(1.0, float(solution.count[problem.counted].mean())) if problem.counted.any() else 1.0
        self.fair_count: F64 = mean_count * solution.due.count_weight
        weight = {s.score.name: s.weight for s in problem.scores}
        self.per_byte: F64 = fair_shares(weight.get("disk", 1.0), self.fair_bytes)
        self.per_replica: F64 = fair_shares(weight.get("replicas", 1.0), self.fair_count)
        self.limit_weight = limit_weight if problem.is_limited.any() else 0.0
        self.mean_bytes = max(1.0, float(solution.used[problem.counted].mean())) if problem.counted.any() else 1.0
        self.mean_count = mean_count

    def byte_shares(self, bytes_: I64) -> F64:
        """Bytes of every broker in fair shares."""
        return fair_shares(bytes_, self.fair_bytes)

    def count_shares(self, count: I64) -> F64:
        """Replicas of every broker in fair shares."""
        return fair_shares(count, self.fair_count)

    def of(self, broker: I64 | int, bytes_: I64, count: I64) -> F64:
        """Violation of brokers if they held these loads."""
        bands = self.solution.bands
        out = np.maximum(bytes_ - bands.high_bytes[broker], 0) + np.maximum(bands.low_bytes[broker] - bytes_, 0)
        miss = np.maximum(count - bands.high_count[broker], 0) + np.maximum(bands.low_count[broker] - count, 0)
        outside = out * self.per_byte[broker] + miss * self.per_replica[broker]
        if self.convexity:
            outside = outside + self.convexity * outside**2
        if self.limit_weight:
            outside = outside + self.limit_weight * self.beyond_limits(broker, bytes_, count)
        return np.where(self.solution.problem.counted[broker], outside, 0.0)

    def beyond_limits(self, broker: I64 | int, bytes_: I64, count: I64) -> F64:
        """How far brokers would be beyond the limits of the user if they held these loads, in shares of a mean one."""
        problem = self.solution.problem
        over = fair_shares(np.maximum(bytes_ - problem.asked_bytes[broker], 0), self.mean_bytes)
        return over + fair_shares(np.maximum(count - problem.limit_replicas[broker], 0), self.mean_count)

    def now(self) -> F64:
        """Current violation of every broker."""
        everyone = np.arange(len(self.fair_bytes))
        return self.of(everyone, self.solution.used, self.solution.count)

    def change(self, broker: I64 | int, bytes_: I64, count: I64 | int) -> F64:
        """By how much arriving (or, if negative, leaving) bytes and replicas change the violation."""
        used, number = self.solution.used[broker], self.solution.count[broker]
        return self.of(broker, used + bytes_, number + count) - self.of(broker, used, number)


def beyond_limits(solution: Solution) -> float:
    """How far all brokers are beyond the limits of the user, in shares of a mean broker."""
    if not solution.problem.is_limited.any():
        return 0.0
    rows = np.flatnonzero(solution.problem.counted)
    return float(Violation(solution).beyond_limits(rows, solution.used[rows], solution.count[rows]).sum())


def merit_of(solution: Solution) -> tuple[float, int]:
    """What is outside the bands, then bytes: less is better."""
    return float(Violation(solution, CONVEXITY).now().sum()), solution.moved_bytes()


def is_within_limits(found: Solution, solution: Solution) -> bool:
    """Whether no broker exceeds its limits, beyond what it held in a placement that is known to be allowed."""
    problem = found.problem
    full = found.used > np.maximum(problem.limit_bytes, solution.used)
    return not bool((full | (found.count > np.maximum(problem.limit_replicas, solution.count))).any())
