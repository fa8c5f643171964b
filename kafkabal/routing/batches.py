"""Where a sequence of records is cut when a batch is full or has waited long enough."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I64


def cuts_by_bytes(size_bytes: I64, room_bytes: int, batch_bytes: int) -> tuple[I64, int]:
    """Cut after each record that fills a batch.

    Parameters
    ----------
    room_bytes
        What the batch that is open at the start still takes; 0 or less if it is full.

    Returns
    -------
    int64, int
        Positions of the records that open a batch, and the room that is left in the last one.
    """
    n = len(size_bytes)
    before = np.zeros(n + 1, np.int64)
    np.cumsum(size_bytes, out=before[1:])
    # where a batch ends depends on where it began: one is found after the other, most within a few records
    reach = 2 + 2 * batch_bytes * n // max(1, int(before[n]))
    bytes_before = before.tolist()
    cuts, full_bytes = [], room_bytes
    at = bisect_left(bytes_before, full_bytes)
    while at < n:
        cuts.append(at)
        full_bytes = bytes_before[at] + batch_bytes
        near = at + reach
        end = near if near < n and bytes_before[near] >= full_bytes else n + 1
        at = bisect_left(bytes_before, full_bytes, at + 1, end)
    return np.array(cuts, np.int64), full_bytes - bytes_before[n]


def cuts_by_time(at_s: F64, opened_s: float, linger_s: float) -> tuple[I64, float]:
    """Cut before each record that comes more than ``linger_s`` after its predecessors' batch was opened.

    Returns
    -------
    int64, float
        Positions of the records that open a batch, and when the last one was opened.
    """
    times = at_s.data
    cuts = []
    at = bisect_right(times, opened_s + linger_s)
    while at < len(times):
        cuts.append(at)
        opened_s = times[at]
        at = bisect_right(times, opened_s + linger_s, at)
    return np.array(cuts, np.int64), opened_s
