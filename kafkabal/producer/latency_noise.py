"""Tells slow brokers from noise: differences of a millisecond do not justify routing around a broker.

::

    centre = lower median of the brokers' latencies now
    band   = 3 standard deviations of consecutive measurements of brokers inside the band,
             at least a fifth of the centre; the whole centre during the first few measurements
    a broker below the upper edge of the band counts as the centre

Brokers above the band keep their measured latency and do not feed the statistics: a broker that becomes slow is routed
around at once, and does not widen the band it is judged by.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

# standard deviation over mean absolute deviation, for normal noise
_DEVIATIONS: Final = 3 * 1.2533
# the same fifth by which `watch` calls a broker slow
_MIN_BAND_PART: Final = 0.2
_MIN_MEASUREMENTS: Final = 5
"""Until there are this many measurements the deviation is unreliable, and differences up to the centre count as
noise."""
# weight of the newest measurement: about the last ten count
_NEWEST_WEIGHT: Final = 0.2


class LatencyNoise:
    """Learns how much the latency of a healthy broker varies, from one measurement of the whole cluster after
    another."""

    def __init__(self) -> None:
        self._mean_s: dict[int, float] = {}
        self._deviation_s: dict[int, float] = {}
        self._measurements = 0

    def remove_from(self, latencies_s: Mapping[int, float]) -> Mapping[int, float]:
        """Latencies by broker; those that differ only by noise are made equal."""
        if not latencies_s:
            return latencies_s
        centre_s = _lower_median(latencies_s.values())
        highest_s = centre_s + self._band_s(centre_s)
        self._measurements += 1
        for broker, latency_s in latencies_s.items():
            if latency_s <= highest_s:
                self._learn(broker, latency_s)
        return {broker: s if s > highest_s else centre_s for broker, s in latencies_s.items()}

    def _band_s(self, centre_s: float) -> float:
        if self._measurements < _MIN_MEASUREMENTS:
            return centre_s
        return max(_MIN_BAND_PART * centre_s, _DEVIATIONS * _lower_median(self._deviation_s.values()))

    def _learn(self, broker: int, latency_s: float) -> None:
        mean_s = self._mean_s.get(broker, latency_s)
        deviation_s = abs(latency_s - mean_s)
        self._mean_s[broker] = mean_s + _NEWEST_WEIGHT * (latency_s - mean_s)
        before_s = self._deviation_s.get(broker, deviation_s)
        self._deviation_s[broker] = before_s + _NEWEST_WEIGHT * (deviation_s - before_s)


def _lower_median(values: Collection[float]) -> float:
    return sorted(values)[(len(values) - 1) // 2]
