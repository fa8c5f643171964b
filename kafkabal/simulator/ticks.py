"""Points in time, of which only the last one passed counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


class Ticks:
    """Times after some early pauses, and then at intervals without end; the first one comes after a pause, too.

    Taking them costs the same however many pass between two records.
    """

    def __init__(self, interval_s: float, early_pauses_s: Sequence[float] = ()) -> None:
        self._interval_s = interval_s
        self._early_s = [0.0, *accumulate(early_pauses_s)]
        self._turn = 1

    @property
    def next_s(self) -> float:
        """The next one."""
        return self._at_s(self._turn)

    def take(self, until_s: float) -> float | None:
        """Pass all up to and including a time; returns the last one passed, None if there is none."""
        if self.next_s > until_s:
            return None
        regular = int(max(0.0, until_s - self._early_s[-1]) / self._interval_s)
        last = max(self._turn, len(self._early_s) - 2 + regular) if regular else self._turn
        # quotients are rounded, so the sum decides
        while self._at_s(last + 1) <= until_s:
            last += 1
        self._turn = last + 1
        return self._at_s(last)

    def _at_s(self, turn: int) -> float:
        n_early = len(self._early_s)
        if turn < n_early:
            return self._early_s[turn]
        return self._early_s[-1] + (turn - n_early + 1) * self._interval_s
