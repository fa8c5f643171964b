"""Bounds the bytes in flight by what the brokers took recently, however slow they are.

librdkafka gives up a record that is not acknowledged in time, counted from when it was queued. Behind a quota of
400 kB/s, the last record of a queue that a fast cluster empties in a second would wait for ten minutes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

_RECENT_S: Final = 10.0
"""What was taken in this time may be in flight: a twelfth of the delivery timeout, and a hundred times what a batch
takes, so no connection runs empty."""
_LEAST_BYTES: Final = 8_000_000
"""Always allowed, as at the start: acknowledged in time at 70 kB/s, and 400 MB/s if that takes 20 ms."""


class _HandedOver(NamedTuple):
    end: int
    """Number after the last record."""
    total_bytes: int
    """Of this and all earlier records of the run."""


class _Taken(NamedTuple):
    at_s: float
    total_bytes: int


class SendWindow:
    """What a run has in flight, counted from the first record that is not acknowledged, since that waits the longest.

    A broker that takes nothing holds up the others only if many records wait for it: a policy may route around it.

    Parameters
    ----------
    clock
        Seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._handed_over: deque[_HandedOver] = deque()
        self._handed_over_records = self._handed_over_bytes = 0
        self._taken: deque[_Taken] = deque([_Taken(clock(), 0)])

    def add(self, end: int, records: int, size_bytes: int) -> None:
        """Note that so many more records, the last of them just before number ``end``, were handed over."""
        self._handed_over_records += records
        self._handed_over_bytes += size_bytes
        self._handed_over.append(_HandedOver(end, self._handed_over_bytes))

    def has_room(self, through: int, in_flight: int) -> bool:
        """Whether more records may be handed over: all below ``through`` are acknowledged, ``in_flight`` are not."""
        now_s, taken_bytes = self._clock(), self._taken[-1].total_bytes
        while self._handed_over and self._handed_over[0].end <= through:
            taken_bytes = self._handed_over.popleft().total_bytes
        if taken_bytes > self._taken[-1].total_bytes:
            self._taken.append(_Taken(now_s, taken_bytes))
        while len(self._taken) > 1 and self._taken[1].at_s <= now_s - _RECENT_S:
            self._taken.popleft()
        recent_bytes = taken_bytes - self._taken[0].total_bytes
        return (
            in_flight * self._handed_over_bytes <= _LEAST_BYTES * self._handed_over_records
            or self._handed_over_bytes - taken_bytes <= recent_bytes
        )
