"""The fraction of the time in which every score is inside the outer band."""

from __future__ import annotations


class TimeInBand:
    """Adds up time by what the beginning of each stretch shows; times in seconds since the beginning."""

    def __init__(self) -> None:
        self._at_s = self._inside_s = 0.0
        self.counted_s = 0.0
        self._is_counted = self._is_inside = True

    def note(self, at_s: float, *, is_counted: bool, is_inside: bool) -> None:
        """What is so from a time on.

        Parameters
        ----------
        is_counted
            Whether every broker is there.
        """
        if self._is_counted:
            self.counted_s += at_s - self._at_s
            self._inside_s += (at_s - self._at_s) * self._is_inside
        self._at_s, self._is_counted, self._is_inside = at_s, is_counted, is_inside

    @property
    def fraction(self) -> float:
        """Of the counted time; 1 if none is."""
        return self._inside_s / self.counted_s if self.counted_s else 1.0
