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
from math import inf
from typing import Final

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.routing.recent_bytes import RecentBytes

_LITTLE_BYTES: Final = 65_536
"""Chosen, not tuned, and not critical. In a model (a buffer of 4 MiB; three brokers of 100 MB/s and one of 1 MB/s) the
slow broker got 0.35, 0.5 and 0.5 MB with half, once and twice of it, 0.75 MB with four times; the times of equal
brokers with stalls of 30 or 100 ms were within 2%. Not varied on real brokers (2026-11)."""
_LONGER: Final = 2
"""How many times the wait of the others is too long."""
_NOTICEABLE_S: Final = 0.05
"""Chosen, not tuned. In the same model the slow broker got 0.35, 0.5 and 0.5 MB with half, once and twice of it, and
0.75 MB with four times; equal brokers with stalls of 30 ms, during which others can be used, took 6% less time with
half of it and 8% more with twice. Not varied on real brokers (2026-11)."""
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
        self._settled = RecentBytes(clock, _MEMORY_S)
        self._leader: I32 = np.zeros(0, np.int32)
        self.mean_acknowledged_bytes = inf
        """By broker, lately; infinite before the first look."""

    def held_back(self, sent: I64 | F64, settled: I64 | F64, leader: I32) -> Bools:
        """bool, shape (n_partitions,): whether the broker that leads the partition is held back.

        Parameters
        ----------
        sent, settled
            shape (n_partitions,): bytes since the start, and how many of them were acknowledged or given up.
        leader
            int32, shape (n_partitions,): broker that leads it, -1 if none does.
        """
        if leader is not self._leader:
            self._use_leaders(leader)
        self._settled.count(settled)
        lately = np.bincount(self._row, self._settled.by_partition).tolist()
        in_flight = np.bincount(self._row, np.maximum(sent - settled, 0)).tolist()
        waits_s = [in_flight[row] / (lately[row] + _LITTLE_BYTES) * self._settled.span_s for row in self._led]
        self.mean_acknowledged_bytes = sum(lately) / len(waits_s)
        others_s = sorted(waits_s)[(len(waits_s) - 1) // 2]
        longest_s = max(_LONGER * others_s, _NOTICEABLE_S)
        if max(waits_s) <= longest_s:
            return self._none
        held = np.zeros(len(lately), np.bool_)
        held[self._led] = [
            wait_s > longest_s and in_flight[row] > _LITTLE_BYTES
            for row, wait_s in zip(self._led, waits_s, strict=True)
        ]
        of_partition: Bools = held[self._row]
        return of_partition

    def _use_leaders(self, leader: I32) -> None:
        """Number the brokers, from 1; 0 is for partitions without a leader."""
        self._leader = leader
        self._row = leader.astype(np.intp) + 1
        self._led: list[int] = np.unique(self._row[leader >= 0]).tolist()
        self._none = np.zeros(len(leader), np.bool_)
