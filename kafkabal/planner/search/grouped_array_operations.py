"""Small questions about entries that fall into groups, answered without a loop."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64, Bools


def by_group(group: I32 | I64) -> I64:
    """An order in which groups follow each other, those of a larger number later, and entries of one keep theirs.

    Numbers of up to 16 bits are sorted by their digits, several times as fast as longer ones.
    """
    # -1 becomes the largest number of the type
    return np.argsort(group.astype(np.min_scalar_type(int(group.max(initial=0)) + 1)), kind="stable")


def running_sum(group: I32 | I64, value: I64) -> I64:
    """Sum of the values so far within each group, each entry's own included."""
    order = by_group(group)
    ordered, sums = group[order], np.cumsum(value[order])
    start = np.searchsorted(ordered, ordered)
    result = np.empty_like(sums)
    result[order] = sums - (sums - value[order])[start]
    return result


def any_of_row(matrix: Bools) -> Bools:
    """``matrix.any(1)``, in a fraction of the time where rows are short."""
    found = matrix[:, 0].copy()
    for column in range(1, matrix.shape[1]):
        found |= matrix[:, column]
    return found


def running_count(group: I32 | I64) -> I64:
    """Index of each entry within its group, from 0."""
    order = by_group(group)
    ordered = group[order]
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return rank


def is_first(key: I32 | I64) -> Bools:
    """Whether each entry is the first with its key."""
    order = np.argsort(key, kind="stable")
    first = np.ones(len(key), np.bool_)
    first[order[1:]] = key[order[1:]] != key[order[:-1]]
    return first


def stable_order(key: I64 | F64) -> I64:
    """The order that a stable sort gives; for keys nearly all of which differ, in a third of its time."""
    order = np.argsort(key)
    ordered = key[order]
    same = ordered[1:] == ordered[:-1]
    if same.any():
        tied = np.append(same, False)
        tied[1:] |= same
        at = np.flatnonzero(tied)
        # runs of equal keys follow each other: one sort of whole numbers puts each of them in order
        run = np.cumsum(np.append(True, ~same)[at]) * len(key)
        order[at] = np.sort(run + order[at]) - run
    return order


def sorted_distinct(value: I64) -> I64:
    """The values in order, each once; for short columns faster than a set of them."""
    ordered = np.sort(value)
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]
