"""Estimates how long a record sent now will wait for a broker, from what is in flight and the throughput.

By Little's law, the number in flight divided by the throughput is the time that each spends in the system. Measured
latencies are those of completed requests; they show a growing queue too late.
"""

from __future__ import annotations

import math

_MEMORY_S = 1.0
"""Requests take milliseconds to tenths of a second: one second smooths them, and soon shows a broker that becomes
slow."""


class Backlog:
    """One client's records in flight to one broker.

    Parameters
    ----------
    memory_s
        Seconds after which an observation of the rate has a weight of one third, > 0.
    """

    def __init__(self, memory_s: float = _MEMORY_S) -> None:
        self._memory_s = memory_s
        self._at_s = math.nan
        self._done = self._in_flight = 0
        self._through = 0.0
        self._span_s = 0.0

    def wait_s(self, at_s: float, in_flight: int, done: int) -> float:
        """Seconds that a record sent now will take; 0 at the first call.

        Parameters
        ----------
        at_s
            Now; must not go backwards between calls.
        in_flight
            Records handed over and not acknowledged.
        done
            Records acknowledged since the start.
        """
        elapsed_s = at_s - self._at_s
        if elapsed_s > 0:
            acknowledged = max(0, done - self._done)
            if 0 < self._in_flight >= acknowledged:
                kept = math.exp(-elapsed_s / self._memory_s)
                self._through = kept * self._through + acknowledged
                self._span_s = kept * self._span_s + elapsed_s
            else:
                # it was idle for a part of the time, so its rate says little about how fast it is: a broker that had
                # acknowledged one record in 50 ms counted as slow once a burst of a thousand came
                self._through = self._span_s = 0.0
        self._at_s, self._done, self._in_flight = at_s, done, in_flight
        if not self._through:
            # the rate is unknown; a record waits at least as long as the first one has
            return self._span_s if in_flight else 0.0
        # nothing was acknowledged recently: less than one record
        return in_flight * self._span_s / max(self._through, 1.0)
