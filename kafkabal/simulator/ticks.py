"""Equidistant points in time, of which only the last one passed counts."""

from __future__ import annotations


class Ticks:
    """Times ``first * interval_s``, ``(first + 1) * interval_s`` and so on, without end.

    Taking them costs the same however many pass between two records.
    """

    def __init__(self, interval_s: float, first: int = 0) -> None:
        self._interval_s = interval_s
        self._turn = first

    @property
    def next_s(self) -> float:
        """The next one."""
        return self._turn * self._interval_s

    def take(self, until_s: float) -> float | None:
        """Pass all up to and including a time; returns the last one passed, None if there is none."""
        if self.next_s > until_s:
            return None
        last = max(self._turn, int(until_s / self._interval_s) - 1)
        # quotients are rounded, so the product decides
        while (last + 1) * self._interval_s <= until_s:
            last += 1
        self._turn = last + 1
        return last * self._interval_s
