"""Which history points are kept: the older they are, the farther apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log2
from typing import Final

from kafkabal.units import DAY_S

KEPT_S: Final = 90 * DAY_S
"""A season of twelve weeks: the growth of a week can be compared with that of others; older data describes another
cluster."""
PARTS_OF_AGE: Final = 8
"""One point is kept per stretch of time between a sixteenth and an eighth of its age: every 4 to 8 minutes after an
hour, every 1.5 to 3 hours after a day, weekly after 90 days. However often points are recorded, fewer than 250 are
kept."""
GAP_S: Final = 7 * DAY_S
"""Without a point for so long, the clock may have been set: the default window of ``--growth``, whose figures then need
none from before. Thinning leaves gaps of up to a third of the age of a point; those do not count."""


def kept(times_s: Sequence[float], now_s: float) -> list[float]:
    """The times to keep, oldest first; the newest one, and the oldest one within 90 days, always stay.

    A clock that is set ahead by mistake must not cost the history: points before a gap stay as they were when it
    began, until 90 days of points have come after it.
    """
    times = sorted(times_s)
    ends = [i for i, t in enumerate(times[1:], 1) if t - times[i - 1] > max(GAP_S, (now_s - times[i - 1]) / 2)]
    if not ends or now_s - times[ends[-1]] > KEPT_S:
        return _kept_of_one_clock(times, now_s)
    before, after = times[: ends[-1]], times[ends[-1] :]
    return [*_kept_of_one_clock(before, before[-1]), *_kept_of_one_clock(after, now_s)]


def _kept_of_one_clock(times_s: Sequence[float], now_s: float) -> list[float]:
    """The times to keep, oldest first, by their age.

    Stretches are aligned to the epoch, and their width is a power of two: as they widen, two merge into one, and the
    older of their points stays. If they were measured from the newest point instead, each point would be dropped as
    soon as the next one came.
    """
    found: dict[tuple[int, int], float] = {}
    recent = [t for t in times_s if now_s - t <= KEPT_S]
    for t in recent:
        exponent = floor(log2(max((now_s - t) / PARTS_OF_AGE, 1.0)))
        found.setdefault((exponent, int(t // 2**exponent)), t)
    return sorted({*found.values(), *recent[-1:]})


def kept_within(sizes: Sequence[tuple[float, int]], now_s: float, most_bytes: int) -> list[float]:
    """Like :func:`kept`, with the bytes of each point: if all take too many, the most closely spaced ones are dropped
    first.

    The newest and the oldest always stay.
    """
    bytes_of = dict(sizes)
    left = kept([t for t, _ in sizes], now_s)
    total = sum(bytes_of[t] for t in left)
    while total > most_bytes and len(left) > 2:
        # the one whose removal leaves the smallest gap relative to its age
        i = min(range(1, len(left) - 1), key=lambda i: (left[i + 1] - left[i - 1]) / (now_s - left[i] + 1))
        total -= bytes_of[left.pop(i)]
    return left
