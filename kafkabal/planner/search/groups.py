"""Small questions about entries that fall into groups, answered without a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kafkabal.model.state import I32, I64, Bools


def running_sum(group: I32 | I64, value: I64) -> I64:
    """Sum of the values so far within each group, each entry's own included."""
    order = np.argsort(group, kind="stable")
    ordered, sums = group[order], np.cumsum(value[order])
    start = np.searchsorted(ordered, ordered)
    result = np.empty_like(sums)
    result[order] = sums - (sums - value[order])[start]
    return result


def running_count(group: I32 | I64) -> I64:
    """Position of each entry within its group, from 0."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    return rank


def is_first(key: I64) -> Bools:
    """Whether each entry is the first with its key."""
    first = np.zeros(len(key), np.bool_)
    first[np.unique(key, return_index=True)[1]] = True
    return first


def sorted_distinct(value: I64) -> I64:
    """The values in order, each once; for short columns faster than a set of them."""
    ordered = np.sort(value)
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]
