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
    ends = np.cumsum(size_bytes)
    view = ends.data
    cuts = []
    at, base = 0, 0
    reach = 4 + int(4 * batch_bytes * len(ends) / max(1, int(ends[-1]) if len(ends) else 1))
    while True:
        if room_bytes > 0:
            near = at + reach
            high = near if near < len(view) and view[near - 1] >= base + room_bytes else len(view)
            at = bisect_left(view, base + room_bytes, at, high) + 1
        if at >= len(view):
            break
        cuts.append(at)
        base = view[at - 1] if at else 0
        room_bytes = batch_bytes
    last = int(ends[-1]) if len(ends) else 0
    # a batch that its last record filled is full, whether or not another follows
    return np.array(cuts, np.int64), base + room_bytes - last


def cuts_by_time(at_s: F64, opened_s: float, linger_s: float) -> tuple[I64, float]:
    """Cut before each record that comes more than ``linger_s`` after its predecessors' batch was opened.

    Returns
    -------
    int64, float
        Positions of the records that open a batch, and when the last one was opened.
    """
    view = at_s.data
    cuts = []
    at = bisect_right(view, opened_s + linger_s)
    while at < len(view):
        cuts.append(at)
        opened_s = view[at]
        at = bisect_right(view, opened_s + linger_s, at)
    return np.array(cuts, np.int64), opened_s
