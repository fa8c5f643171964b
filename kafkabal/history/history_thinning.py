"""Which of many moments are kept: the older, the farther apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log2
from typing import Final

KEPT_S: Final = 90 * 86400.0
"""A season of twelve weeks: growth of a week is compared with that of others, older data describes another cluster."""
PARTS_OF_AGE: Final = 8
"""A moment is kept for each stretch of time between a sixteenth and an eighth of its age: every 4 to 8 minutes after an
hour, every 1.5 to 3 hours after a day, weekly after 90 days; however much is recorded, under 250 moments are left."""


def kept(times_s: Sequence[float], now_s: float) -> list[float]:
    """The moments to keep of these, oldest first; the newest and the oldest within 90 days always stay.

    Stretches are aligned to the epoch, and their width is a power of two: as they grow, two become one, and the older
    of their moments stays. Measured from the newest instead, each moment would go as soon as the next came.
    """
    found: dict[tuple[int, int], float] = {}
    recent = sorted(t for t in times_s if now_s - t <= KEPT_S)
    for t in recent:
        exponent = floor(log2(max((now_s - t) / PARTS_OF_AGE, 1.0)))
        found.setdefault((exponent, int(t // 2**exponent)), t)
    return sorted({*found.values(), *recent[-1:]})


def kept_within(sizes: Sequence[tuple[float, int]], now_s: float, most_bytes: int) -> list[float]:
    """As :func:`kept`, with moments and the bytes that each takes: where all take too many, the closest ones go first.

    The newest and the oldest always stay.
    """
    bytes_of = dict(sizes)
    left = kept([t for t, _ in sizes], now_s)
    total = sum(bytes_of[t] for t in left)
    while total > most_bytes and len(left) > 2:
        # the one whose going leaves the smallest gap for its age
        i = min(range(1, len(left) - 1), key=lambda i: (left[i + 1] - left[i - 1]) / (now_s - left[i] + 1))
        total -= bytes_of[left.pop(i)]
    return left
