"""Flapping brokers, such as in a crash loop: each absence alone may be shorter than ``--dead-after``.

The absences of a broker add up, less half of the time for which it is there in between::

    absent = 0                           at first
    missing: grows by 1 s a second       is dropped if the broker was only unreachable, not dead
    there:   falls by 0.5 s a second     from no more than ``--dead-after`` down to 0

A broker is *flapping* from an absence that begins above 0 until it is back and at 0 again: it is repaired once
``absent`` reaches ``--dead-after``, and nothing is copied to it. So one that is missing for a third of the time or more
is repaired at last, and a restart is forgotten after twice its time.

The ledger keeps this for a watch that is started again. While no watch runs, ``absent`` of a broker that was there
falls, and that of a missing one stays: it may have been there in between.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

_FORGOTTEN_AFTER = 2.0
"""Times its length. In simulated loops of 40 minutes away and 30 to 45 there, 1 would fill the broker at each return,
copy twice as much, and leave the bands for a fifth of four days instead of 6 to 8%; 4 and 8 would fill
it one and three hours later once it stays."""


class BrokerPresence(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger keeps of a broker that left or came back."""

    is_there: bool
    for_s: float
    """For how long it had been there, or missing, when this was kept."""
    absent_s: float
    """``absent`` when it came or left."""
    was_dead: bool
    is_flapping: bool = msgspec.field(name="comes_and_goes")


@dataclass(slots=True)
class _Broker:
    """What is remembered of one broker since it left or came back last."""

    is_there: bool = True
    since_s: float = 0.0
    absent_s: float = 0.0
    """``absent`` at ``since_s``."""
    was_dead: bool = False
    is_flapping: bool = False

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

    def update(self, there: Collection[int], unreachable: Collection[int], dead: Collection[int], at_s: float) -> bool:
        """Process one observation at a monotonic time; returns whether a broker has left, died or come back.

        A broker that is in none of these is still missing: it was repaired, and holds no replica any more.
        """
        for broker in {*unreachable, *dead} - self._brokers.keys():
            self._brokers[broker] = _Broker()
        changes = [self._observe(known, b in there, b in dead, at_s) for b, known in self._brokers.items()]
        return any(changes)

    def kept(self, at_s: float) -> dict[int, BrokerPresence]:
        """What a watch that is started later should know, by broker."""
        return {
            broker: BrokerPresence(
                is_there=known.is_there,
                for_s=at_s - known.since_s,
                absent_s=known.absent_s,
                was_dead=known.was_dead,
                is_flapping=known.is_flapping,
            )
            for broker, known in self._brokers.items()
            if not known.is_there or known.absent_at_s(at_s) > 0
        }

    def restore(self, kept: Mapping[int, BrokerPresence], ago_s: float, at_s: float) -> None:
        """Continue from what was kept some time ago; brokers that are not in it stay as they are known."""
        for broker, each in kept.items():
            # with a shorter --dead-after than before, a broker that is back must not be distrusted for longer
            absent_s = min(each.absent_s, self._dead_after_s) if each.is_there else each.absent_s
            since_s = at_s - each.for_s - (ago_s if each.is_there else 0.0)
            self._brokers[broker] = _Broker(each.is_there, since_s, absent_s, each.was_dead, each.is_flapping)

    def _observe(self, known: _Broker, is_there: bool, is_dead: bool, at_s: float) -> bool:
        before = known.is_there, known.was_dead
        if is_there != known.is_there:
            absent_s = known.absent_at_s(at_s)
            if is_there:
                absent_s = min(absent_s, self._dead_after_s) if known.was_dead else known.absent_s
            known.is_there, known.since_s, known.absent_s, known.was_dead = is_there, at_s, absent_s, False
            known.is_flapping = known.is_flapping and absent_s > 0
        if is_dead:
            known.was_dead = True
            known.is_flapping = known.is_flapping or known.absent_s > 0
        return before != (known.is_there, known.was_dead)

    def missing(self, at_s: float) -> dict[int, float]:
        """Brokers that are not there, and for how many seconds."""
        return {b: at_s - known.since_s for b, known in self._brokers.items() if not known.is_there}

    def flapping(self, at_s: float) -> dict[int, float]:
        """Flapping brokers, and ``absent`` of each in seconds."""
        absent_s = {b: known.absent_at_s(at_s) for b, known in self._brokers.items() if known.is_flapping}
        return {b: for_s for b, for_s in absent_s.items() if for_s > 0}
