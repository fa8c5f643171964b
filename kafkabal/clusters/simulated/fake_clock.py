"""A clock that only moves when advanced, so that hours of a run pass in milliseconds, deterministically."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_START = datetime(2026, 1, 1, tzinfo=UTC)
"""Wall time at the monotonic time 0."""


class FakeClock:
    """Monotonic and wall time that :meth:`sleep` advances; scheduled callbacks run at their time on the way."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._scheduled: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        """Number of callbacks so far: those of one time run in the order in which they were scheduled. Not an iterator,
        since Python 3.14 can no longer pickle those, and worlds with this clock are."""

    def monotonic(self) -> float:
        """Seconds since the clock was created."""
        return self._now_s

    def utc_now(self) -> datetime:
        """Wall time, UTC."""
        return _START + timedelta(seconds=self._now_s)

    def sleep(self, seconds: float) -> None:
        """Advance the time at once; callbacks see the time they were scheduled for."""
        end = self._now_s + max(seconds, 0.0)
        while self._scheduled and self._scheduled[0][0] <= end:
            at, _, action = heapq.heappop(self._scheduled)
            self._now_s = max(self._now_s, at)
            action()
        self._now_s = max(self._now_s, end)

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Call ``action`` when the monotonic time reaches ``seconds``."""
        self._number += 1
        heapq.heappush(self._scheduled, (seconds, self._number, action))
