"""The latest value of every metric that clients push, for display and for programs that store them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from kafkabal.telemetry.otlp_metrics import MetricSample

_MOST_METRICS = 100_000
"""A Java producer pushes some hundred, so a thousand clients fit."""


@dataclass(frozen=True, slots=True)
class ClientMetric:
    """A client's metric, as last pushed."""

    client: str
    name: str
    value: float
    """NaN if the client sent no value."""
    attributes: tuple[tuple[str, str], ...]
    """Sorted by name."""


class ClientMetrics:
    """Keeps the latest values; above a limit, new metrics are ignored and counted."""

    def __init__(self) -> None:
        self.ignored = 0
        """Number of values dropped because of the limit."""
        self._lock = Lock()
        self._latest: dict[tuple[str, str, tuple[tuple[str, str], ...]], float] = {}

    def take(self, client: str, samples: Sequence[MetricSample]) -> None:
        """Process a push."""
        with self._lock:
            for sample in samples:
                key = client, sample.name, tuple(sorted(sample.attributes.items()))
                if key in self._latest or len(self._latest) < _MOST_METRICS:
                    self._latest[key] = sample.value
                else:
                    self.ignored += 1

    def metrics(self, prefix: str = "") -> tuple[ClientMetric, ...]:
        """Metrics whose name begins with a prefix, by client and name."""
        with self._lock:
            found = sorted((key, value) for key, value in self._latest.items() if key[1].startswith(prefix))
        return tuple(ClientMetric(client, name, value, attributes) for (client, name, attributes), value in found)
