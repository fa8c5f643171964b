"""Brokers that come and go, such as in a crash loop: each absence alone may be shorter than ``--dead-after``.

The absences of a broker add up, less half of the time for which it is there in between::

    absent = 0                           at first
    missing: grows by 1 s a second       is dropped if the broker was only unreachable, not dead
    there:   falls by 0.5 s a second     from no more than ``--dead-after`` down to 0

A broker *comes and goes* from an absence that begins above 0 until it is back and at 0 again: it is repaired once
``absent`` reaches ``--dead-after``, and nothing is copied to it. So one that is missing for a third of the time or more
is repaired at last, and a restart is forgotten after twice its time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

_FORGOTTEN_AFTER = 2.0
"""Times its length. In simulated loops of 40 minutes away and 30 to 45 there, 1 would fill the broker at each return,
copy twice as much, and leave the bands for a fifth of four days instead of 6 to 8 %; 4 and 8 would fill
it one and three hours later once it stays."""


@dataclass(slots=True)
class _Broker:
    """What is remembered of one broker since it left or came back last."""

    is_there: bool = True
    since_s: float = 0.0
    absent_s: float = 0.0
    """``absent`` at ``since_s``."""
    was_dead: bool = False
    comes_and_goes: bool = False

    def absent_at_s(self, at_s: float) -> float:
        """``absent`` at a later time."""
        passed_s = at_s - self.since_s
        return max(self.absent_s - passed_s / _FORGOTTEN_AFTER, 0.0) if self.is_there else self.absent_s + passed_s


class RepeatedAbsences:
    """Tracks all brokers that have ever been missing.

    Parameters
    ----------
    dead_after_s
        Time after which a dead broker is repaired. However long it was away, it has to stay for only twice as long
        until it is filled again.
    """

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._brokers: dict[int, _Broker] = {}

    def update(self, there: Collection[int], unreachable: Collection[int], dead: Collection[int], at_s: float) -> None:
        """Process one observation at a monotonic time.

        A broker that is in none of these is still missing: it was repaired, and holds no replica any more.
        """
        for broker in {*unreachable, *dead} - self._brokers.keys():
            self._brokers[broker] = _Broker()
        for broker, known in self._brokers.items():
            self._observe(known, broker in there, broker in dead, at_s)

    def _observe(self, known: _Broker, is_there: bool, is_dead: bool, at_s: float) -> None:
        if is_there != known.is_there:
            absent_s = known.absent_at_s(at_s)
            if is_there:
                absent_s = min(absent_s, self._dead_after_s) if known.was_dead else known.absent_s
            known.is_there, known.since_s, known.absent_s, known.was_dead = is_there, at_s, absent_s, False
            known.comes_and_goes = known.comes_and_goes and absent_s > 0
        if is_dead:
            known.was_dead = True
            known.comes_and_goes = known.comes_and_goes or known.absent_s > 0

    def that_come_and_go(self, at_s: float) -> dict[int, float]:
        """Brokers that come and go, and ``absent`` of each in seconds."""
        absent_s = {b: known.absent_at_s(at_s) for b, known in self._brokers.items() if known.comes_and_goes}
        return {b: for_s for b, for_s in absent_s.items() if for_s > 0}
