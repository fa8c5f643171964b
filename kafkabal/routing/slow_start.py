"""Holds back brokers that acknowledge too slowly for what is in flight to them, long before a latency is measured.

::

    in flight to a broker   its bytes that are not acknowledged
    expected wait           in flight / (acknowledged lately + a little)
    a broker is held back   while it has more than a little in flight,
                            and its expected wait is twice the lower median of all brokers, and noticeable

As in TCP's slow start, a broker may have only a little in flight until it acknowledges something, and then the more,
the more it acknowledges: but only if others do better, because records cannot wait for a partition.

Source: V. Jacobson, Congestion Avoidance and Control, SIGCOMM 1988.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf
from typing import Final

import numpy as np

from kafkabal.model import F64, I32, Bools
from kafkabal.routing.routing_view import fitted_to

_LITTLE_BYTES: Final = 65_536
_LONGER: Final = 2
"""How many times the wait of the others is too long."""
_NOTICEABLE_S: Final = 0.05
_MEMORY_S: Final = 1.0
"""Seconds after which an acknowledged byte counts a third: requests take milliseconds to tenths of a second."""


class SlowStart:
    """The brokers of one topic that should get no more for now; used by one thread at a time.

    Parameters
    ----------
    clock
        Seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._at_s = clock()
        self._span_s = 0.0
        self._settled: F64 = np.zeros(0)
        self._lately: F64 = np.zeros(0)
        self.mean_acknowledged_bytes = inf
        """By broker, lately; infinite before the first look."""

    def held_back(self, sent: F64, settled: F64, leader: I32) -> Bools:
        """bool, shape (n_partitions,): whether the broker that leads the partition is held back.

        Parameters
        ----------
        sent, settled
            float64, shape (n_partitions,): bytes since the start, and how many of them were acknowledged or given up.
        leader
            int32, shape (n_partitions,): broker that leads it, -1 if none does.
        """
        self._count(settled)
        broker, led = np.maximum(leader, 0), np.unique(leader[leader >= 0])
        self.mean_acknowledged_bytes = float(self._lately.sum()) / len(led)
        in_flight = np.bincount(broker, np.maximum(sent - settled, 0.0))
        waits_s = in_flight / (np.bincount(broker, self._lately) + _LITTLE_BYTES) * self._span_s
        of_leaders = np.sort(waits_s[led])
        others_s = of_leaders[(len(of_leaders) - 1) // 2]
        held: Bools = (in_flight > _LITTLE_BYTES) & (waits_s > max(_LONGER * others_s, _NOTICEABLE_S))
        return held[broker]

    def _count(self, settled: F64) -> None:
        now_s, n = self._clock(), len(settled)
        elapsed_s, self._at_s = max(0.0, now_s - self._at_s), now_s
        kept = exp(-elapsed_s / _MEMORY_S)
        acknowledged = np.maximum(settled - fitted_to(self._settled, n), 0.0)
        self._lately = kept * fitted_to(self._lately, n) + acknowledged
        self._span_s = kept * self._span_s + elapsed_s
        self._settled = settled.copy()
