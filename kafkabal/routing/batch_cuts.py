"""Finds where a sequence of records is cut into batches, because one is full or has lingered long enough.

Where a batch ends depends on where it began, so batches would have to be found one after the other. Long batches are:
each end is searched for, usually nearby. For short batches, an array points from every record to the one that would
open the next batch if this record opened one. The pointers are doubled a few times, one chain is followed in long
steps, and shorter steps fill in the rest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, Literal

import numpy as np

from kafkabal.model import F64, I32, I64

# batches of fewer records are found all at once, if there are at least this many
_SHORT, _MANY = 32, 100
# a chain is followed one step at a time for about this many steps
_STEPS = 256
_NEAR = 40
"""Records each one is compared with before a search is faster: with 20, finding batches of ten records takes twice as
long, with 80 no less time (2026-11)."""


def cuts_by_bytes(size_bytes: I64, room_bytes: int, batch_bytes: int) -> tuple[I64, int]:
    """Cut after each record that fills a batch.

    Parameters
    ----------
    room_bytes
        Room left in the batch that is open at the start; 0 or less if it is full.

    Returns
    -------
    int64, int
        Positions of the records that open a batch, and the room left in the last one.
    """
    n = len(size_bytes)
    before = np.zeros(n + 1, np.int64)
    np.cumsum(size_bytes, out=before[1:])
    total_bytes = int(before[n])
    # one record may be as long as many batches
    about = min(total_bytes // batch_bytes, n)
    if _are_batches_long(n, about):
        return _search_full_batches(before, room_bytes, batch_bytes)
    first_byte = before[:n]
    following = _next_cuts(first_byte, first_byte + batch_bytes, "left")
    cuts = _follow_pointers(following, int(np.searchsorted(first_byte, room_bytes)), about)
    full_bytes = int(first_byte[cuts[-1]]) + batch_bytes if len(cuts) else room_bytes
    return cuts, full_bytes - total_bytes


def cuts_by_time(at_s: F64, opened_s: float, linger_s: float) -> tuple[I64, float]:
    """Cut before each record that arrives more than ``linger_s`` after the open batch was opened.

    Parameters
    ----------
    linger_s
        Must be above 0.

    Returns
    -------
    int64, float
        Positions of the records that open a batch, and when the last one was opened.
    """
    n = len(at_s)
    lingers = float(at_s[-1] - at_s[0]) / linger_s if n else 0.0
    # no more cuts than records or linger times
    about = int(min(lingers, n))
    if _are_batches_long(n, about):
        return _search_lingered_batches(at_s, opened_s, linger_s)
    following = _next_cuts(at_s, at_s + linger_s, "right")
    cuts = _follow_pointers(following, int(np.searchsorted(at_s, opened_s + linger_s, "right")), about)
    return cuts, float(at_s[cuts[-1]]) if len(cuts) else opened_s


def fill_batches(current: int, drawn: I32, cuts: I64, out: I32) -> int:
    """Write the partition of every record, ``current`` up to the first cut; returns the last record's partition.

    Parameters
    ----------
    drawn
        int32, same shape as ``cuts``: partition of each batch that a cut opens.
    """
    partitions = np.empty(len(cuts) + 1, np.int32)
    partitions[0], partitions[1:] = current, drawn
    records = np.empty(len(cuts) + 1, np.int64)
    records[:-1], records[-1] = cuts, len(out)
    records[1:] -= cuts
    out[:] = partitions.repeat(records)
    return int(partitions[-1])


def _are_batches_long(n: int, batches: int) -> bool:
    return batches < max(_MANY, n // _SHORT)


def _search_full_batches(before: I64, full_bytes: int, batch_bytes: int) -> tuple[I64, int]:
    """See :func:`cuts_by_bytes`; ``before`` has the bytes before each record, and last the bytes of all."""
    n = len(before) - 1
    reach = 2 + 2 * batch_bytes * n // max(1, int(before[n]))
    bytes_before = before.tolist()
    cuts = []
    at = bisect_left(bytes_before, full_bytes)
    while at < n:
        cuts.append(at)
        full_bytes = bytes_before[at] + batch_bytes
        near = at + reach
        end = near if near < n and bytes_before[near] >= full_bytes else n + 1
        at = bisect_left(bytes_before, full_bytes, at + 1, end)
    return np.array(cuts, np.int64), full_bytes - bytes_before[n]


def _search_lingered_batches(at_s: F64, opened_s: float, linger_s: float) -> tuple[I64, float]:
    """See :func:`cuts_by_time`."""
    times = at_s.data
    cuts = []
    at = bisect_right(times, opened_s + linger_s)
    while at < len(times):
        cuts.append(at)
        opened_s = times[at]
        at = bisect_right(times, opened_s + linger_s, at)
    return np.array(cuts, np.int64), opened_s


def _next_cuts(place: Any, until: Any, side: Literal["left", "right"]) -> I64:
    """int64, shape (n + 1,): which record opens the next batch if this one opens one; n if none does.

    Parameters
    ----------
    place
        Shape (n,), ascending: position of each record.
    until
        Same shape: where the record's batch would end; ``side`` says whether a record exactly there belongs to it.
    """
    n = len(place)
    if n > _NEAR and (place[_NEAR:] > until[:-_NEAR]).all():
        nearest = _count_near(place, until, side)
    else:
        nearest = np.searchsorted(place, until, side)
    return np.append(nearest, n)


def _count_near(place: Any, until: Any, side: Literal["left", "right"]) -> I64:
    """See :func:`_next_cuts`; faster than a search if batches have fewer than :data:`_NEAR` records."""
    belongs = np.less if side == "left" else np.less_equal
    records = np.ones(len(place), np.uint8)
    for distance in range(1, _NEAR):
        also = belongs(place[distance:], until[:-distance])
        if not also.any():
            break
        records[:-distance] += also.view(np.uint8)
    return np.arange(len(place)) + records


def _follow_pointers(following: I64, first: int, about: int) -> I64:
    """``first``, ``following[first]`` and so on, ascending, up to the last value, which points to itself.

    Parameters
    ----------
    about
        Approximate length, at most the number of records.
    """
    n = len(following) - 1
    steps = [following]
    for _ in range((about // _STEPS).bit_length()):
        steps.append(steps[-1].take(steps[-1], mode="clip"))
    found = _follow_one_by_one(steps.pop(), first)
    while steps:
        found = np.stack((found, steps.pop().take(found, mode="clip")), axis=1).ravel()
    return found[: int(np.searchsorted(found, n))]


def _follow_one_by_one(following: I64, at: int) -> I64:
    links, end = following.data, len(following) - 1
    found = []
    while at < end:
        found.append(at)
        at = links[at]
    return np.array(found, np.int64)
