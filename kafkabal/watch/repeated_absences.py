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

from dataclasses import dataclass

from kafkabal.watch.broker_health import BrokerHealth, HealthChange

NOT_THERE = frozenset({BrokerHealth.UNREACHABLE, BrokerHealth.DEAD})
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
    comes_and_goes: bool = False

    def absent_at_s(self, at_s: float) -> float:
        """``absent`` at a later time."""
        passed_s = at_s - self.since_s
        return max(self.absent_s - passed_s / _FORGOTTEN_AFTER, 0.0) if self.is_there else self.absent_s + passed_s


class RepeatedAbsences:
    """Tracks all brokers that have ever changed, also those that were repaired and hold no replica any more.

    Parameters
    ----------
    dead_after_s
        Time after which a dead broker is repaired. However long it was away, it has to stay for only twice as long
        until it is filled again.
    """

    def __init__(self, dead_after_s: float) -> None:
        self._dead_after_s = dead_after_s
        self._brokers: dict[int, _Broker] = {}

    def update(self, change: HealthChange, at_s: float) -> None:
        """Process a change of the health of a broker at a monotonic time."""
        broker = self._brokers.setdefault(change.broker, _Broker())
        is_there = change.after not in NOT_THERE
        if is_there != broker.is_there:
            absent_s = broker.absent_at_s(at_s)
            if is_there and change.before is not BrokerHealth.DEAD:
                absent_s = broker.absent_s
            broker.is_there, broker.since_s, broker.absent_s = is_there, at_s, min(absent_s, self._dead_after_s)
            broker.comes_and_goes = broker.comes_and_goes and absent_s > 0
        if change.after is BrokerHealth.DEAD and broker.absent_s > 0:
            broker.comes_and_goes = True

    def that_come_and_go(self, at_s: float) -> dict[int, float]:
        """Brokers that come and go, and ``absent`` of each in seconds."""
        absent_s = {b: known.absent_at_s(at_s) for b, known in self._brokers.items() if known.comes_and_goes}
        return {b: for_s for b, for_s in absent_s.items() if for_s > 0}
