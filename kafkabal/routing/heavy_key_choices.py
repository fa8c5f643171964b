"""How many partitions a heavy key needs: solves the constraint of D-Choices.

References
----------
Nasir et al., *When Two Choices Are not Enough*, ICDE 2016 (arXiv 1510.05714), section IV.

Notes
-----
With n partitions, head keys of frequencies p_1 >= p_2 >= ... and d choices for each, the first h head keys reach about
``b_h = 1 - ((n - 1) / n)^(h d)`` of the partitions. For every h, those partitions must have room for all that falls
only on them: the h keys, the share of the other head keys whose d choices are all among them, and the share of the tail
whose two choices both are::

    sum(p_1..p_h) + b_h^d sum(p_h+1..) + b_h^2 tail <= b_h + epsilon
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.routing.compiled_kernels import kernel

_EPSILON = 1e-4
"""Imbalance that a number of choices may leave, as in the paper."""


@kernel
def choices_needed(counts: Sequence[int], head: int, total: int, n: int) -> int:
    """Least d from 2 to n that satisfies the constraint.

    Parameters
    ----------
    counts
        Ascending; the last ``head`` of them belong to head keys.
    total
        Number of records counted.
    """
    d = max(2, int(counts[len(counts) - 1] * n / total))
    while d < n and not _are_enough(counts, head, total, n, d):
        d += 1
    return min(d, n)


@kernel
def _are_enough(counts: Sequence[int], head: int, total: int, n: int, d: int) -> bool:
    in_head = 0
    for i in range(len(counts) - head, len(counts)):
        in_head += counts[i]
    tail = max(0.0, 1.0 - in_head / total)
    missed = 1.0
    each = _power((n - 1) / n, d)
    first = 0
    for h in range(1, head + 1):
        first += counts[len(counts) - h]
        missed *= each
        reached = 1.0 - missed
        rest = (in_head - first) / total
        if first / total + _power(reached, d) * rest + reached * reached * tail > reached + _EPSILON:
            return False
    return True


@kernel
def _power(base: float, exponent: int) -> float:
    """Repeated multiplication, which every machine rounds alike."""
    result = 1.0
    for _ in range(exponent):
        result *= base
    return result
