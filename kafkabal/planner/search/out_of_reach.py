"""Shows by counting replicas that no placement is inside all bands, so that a search for one need not go on.

::

    every broker needs at least the m largest partitions to reach its lower edge, and holds at most the M smallest
    out of reach: a partition is above every upper edge, or there are fewer replicas than the sum of all m, or more
        than the sum of all M
"""

from __future__ import annotations

import numpy as np

from kafkabal.planner.search.solution import Solution


def is_out_of_reach(solution: Solution) -> bool:
    """Whether counting shows that the bands of bytes are out of reach; all copies of a partition are of one size."""
    problem, bands, rows = solution.problem, solution.bands, solution.problem.weighed
    placed, size = solution.placement >= 0, solution.problem.arriving_bytes
    if not rows.any():
        return False
    if int(size[placed.any(1) & problem.movable].max(initial=0)) > bands.high_bytes[problem.counted].max():
        return True
    # a broker holds a partition once at most
    ascending = np.sort(size[placed.any(1)])
    upward, downward = np.cumsum(ascending), np.cumsum(ascending[::-1])
    low, high = bands.low_bytes[rows], bands.high_bytes[rows]
    needed = np.where(low > 0, np.searchsorted(downward, low) + 1, 0)
    fitting = np.searchsorted(upward, high, side="right")
    here = problem.weighed[solution.placement] & placed
    return bool(needed.sum() > placed.sum() or (fitting.sum() < here.sum() and (rows == problem.counted).all()))
