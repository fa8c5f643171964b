"""How long the oldest record has waited for a broker, from how many were handed over and how many acknowledged.

Measured latencies are those of completed requests; they show a growing queue too late. Records in flight divided by
the rate of acknowledgements would predict too much: a broker that acknowledged ten records in 50 ms because it had got
no more takes a thousand in the same time, in one request.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple


class _Look(NamedTuple):
    at_s: float
    handed_over: int
    """Records handed over since the start."""


class Backlog:
    """One client's records in flight to one broker, which acknowledges them in order."""

    def __init__(self) -> None:
        self._looks: deque[_Look] = deque()
        """The last look at which all records were acknowledged by now, and those after it."""

    def wait_s(self, at_s: float, in_flight: int, done: int) -> float:
        """Seconds since the oldest unacknowledged record was handed over; 0 if there is none, and at the first call.

        Parameters
        ----------
        at_s
            Now; must not go backwards between calls.
        in_flight
            Records handed over and not acknowledged.
        done
            Records acknowledged since the start.
        """
        looks, now = self._looks, _Look(at_s, in_flight + done)
        if looks and now.handed_over < looks[-1].handed_over:
            # records were given up, or the broker lost a partition: earlier counts no longer compare
            looks.clear()
        if len(looks) > 1 and looks[-2].handed_over == now.handed_over:
            # a broker may not respond for hours
            looks.pop()
        looks.append(now)
        while len(looks) > 1 and looks[1].handed_over <= done:
            looks.popleft()
        if not in_flight or len(looks) < 2:
            return 0.0
        return at_s - self._handed_over_at_s(done)

    def _handed_over_at_s(self, done: int) -> float:
        """When the record after the first ``done`` ones was handed over, if records come evenly between two looks; not
        before the first look."""
        before, after = self._looks[0], self._looks[1]
        if before.handed_over > done:
            return before.at_s
        part = (done + 1 - before.handed_over) / (after.handed_over - before.handed_over)
        return before.at_s + part * (after.at_s - before.at_s)
