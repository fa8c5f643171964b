"""A clock that only moves when it is advanced, so that hours of a run pass in milliseconds, always in the same way."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

_START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """Monotonic and wall time that :meth:`sleep` moves on; what was scheduled happens at its time on the way.

    Parameters
    ----------
    start
        Wall time at the monotonic time 0.
    """

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        self._now_s = 0.0
        self._scheduled: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._now_s

    def utc_now(self) -> datetime:
        """Wall time, UTC."""
        return self._start + timedelta(seconds=self._now_s)

    def sleep(self, seconds: float) -> None:
        """Let time pass at once; callbacks see the time that they were put down for."""
        end = self._now_s + max(seconds, 0.0)
        while self._scheduled and self._scheduled[0][0] <= end:
            at, _, action = heapq.heappop(self._scheduled)
            self._now_s = max(self._now_s, at)
            action()
        self._now_s = max(self._now_s, end)

    def at(self, seconds: float, action: Callable[[], None]) -> None:
        """Call ``action`` when the monotonic time reaches ``seconds``."""
        heapq.heappush(self._scheduled, (seconds, next(self._order), action))
