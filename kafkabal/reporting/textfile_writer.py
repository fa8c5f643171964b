"""Writes a Prometheus textfile repeatedly, for callers that must not fail because of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkabal.atomic_files import replacing
from kafkabal.errors import OutputError

if TYPE_CHECKING:  # a run without a textfile does not load it
    from prometheus_client.core import Metric

_EVERY_S: Final = 5.0
"""Interval between writes: scrapes come every fifteen seconds or less often."""


def is_due(now_s: float, written_s: float) -> bool:
    """Whether to write again, by the wall clock; even after that has been set back."""
    return abs(now_s - written_s) >= _EVERY_S


class TextfileWriter:
    """Replaces a textfile as a whole; :meth:`write` never raises.

    Parameters
    ----------
    path
        Read by node exporter's textfile collector.
    labels
        Labels of every metric, by name: mainly the cluster.
    wall_clock
        Seconds since the epoch.
    warn
        Called once per series of failed writes; the next write may succeed again.
    """

    def __init__(
        self, path: Path, labels: Mapping[str, str], wall_clock: Callable[[], float], warn: Callable[[str], None]
    ) -> None:
        self._path, self.labels, self.wall_clock = path, labels, wall_clock
        self._warn, self._is_warned = warn, False

    def write(self, gauges: Iterable[tuple[str, str, float]], families: Iterable[Metric] = ()) -> None:
        """Write gauges, by name, meaning and value, and other metrics; if that fails, the previous file stays."""
        from prometheus_client.core import GaugeMetricFamily  # costly to import, and seldom needed

        from kafkabal.reporting.render_prometheus import text_of

        listed = [*families]
        for name, meaning, value in gauges:
            family = GaugeMetricFamily(name, meaning, labels=[*self.labels])
            family.add_metric([*self.labels.values()], float(value))
            listed.append(family)
        try:
            with replacing(self._path) as file:
                file.write(text_of(listed))
        except OutputError as error:
            if not self._is_warned:
                self._warn(error.message)
            self._is_warned = True
        else:
            self._is_warned = False
