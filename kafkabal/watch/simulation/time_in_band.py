"""How long scores are inside the outer band, of the time that counts."""

from __future__ import annotations


class TimeInBand:
    """Adds up the time between two findings by what the first of them says."""

    def __init__(self) -> None:
        self._since_s = self._counted_s = self._in_band_s = 0.0
        self._is_counted = self._is_in_band = True

    def find(self, at_s: float, *, is_counted: bool, is_in_band: bool) -> None:
        """End the time of the last finding, and begin that of this one.

        Parameters
        ----------
        at_s
            Seconds since the beginning, never before the last finding.
        """
        if self._is_counted:
            self._counted_s += at_s - self._since_s
            self._in_band_s += (at_s - self._since_s) * self._is_in_band
        self._since_s, self._is_counted, self._is_in_band = at_s, is_counted, is_in_band

    @property
    def fraction(self) -> float:
        """Time inside the band over the time that counts, up to the last finding; 1 if none counts."""
        return self._in_band_s / self._counted_s if self._counted_s else 1.0
