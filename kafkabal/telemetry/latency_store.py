"""Produce latencies of brokers: the latest figure of each broker, until it is stale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from threading import Lock
from typing import Protocol, TypeVar

from kafkabal.telemetry.client_latency import produce_latencies_s
from kafkabal.telemetry.otlp_metrics import MetricSample

_K = TypeVar("_K")
_V = TypeVar("_V")
_BROKER_IDS = range(2**31)


class BrokerLatencies(Protocol):
    """Produce latencies of brokers, as far as they are known."""

    def latencies_s(self) -> Mapping[int, float]:
        """Mean seconds of a produce request by broker id; brokers without recent measurements are missing."""


@dataclass(frozen=True, slots=True)
class _Figure:
    mean_s: float
    at_s: float


class LatencyTable:
    """Mean latency by broker over all clients, each counting the same; thread-safe.

    No client reports its number of requests to a broker: the metrics of KIP-714 have only the mean.

    Parameters
    ----------
    max_age_s
        An older figure is dropped: the broker is then unknown, not fast.
    max_clients, max_brokers
        Limits of clients per broker, and of brokers; above them the one updated longest ago is dropped.
    clock
        Seconds, monotonic.
    """

    def __init__(
        self, *, max_age_s: float, clock: Callable[[], float], max_clients: int = 10_000, max_brokers: int = 10_000
    ) -> None:
        self.first_pushes = 0
        """Number of first pushes that did not count, since they also cover how the client connected."""
        self._max_age_s = max_age_s
        self._max_clients = max_clients
        self._max_brokers = max_brokers
        self._clock = clock
        self._lock = Lock()
        self._figures: dict[int, dict[str, _Figure]] = {}
        self._heard_of: dict[str, bool] = {}

    def put(self, client: str, broker: int, mean_s: float) -> None:
        """Store the latest figure of a client for a broker.

        Ignored if it is not a number or has an invalid broker id.
        """
        if broker not in _BROKER_IDS or not (math.isfinite(mean_s) and mean_s >= 0):
            return
        with self._lock:
            clients = self._figures.pop(broker, {})
            _put_last(self._figures, broker, clients, self._max_brokers)
            _put_last(clients, client, _Figure(mean_s, self._clock()), self._max_clients)

    def take(self, client: str, samples: Sequence[MetricSample]) -> None:
        """Store what a client's push reports about brokers."""
        with self._lock:
            is_first = client not in self._heard_of
            _put_last(self._heard_of, client, True, self._max_clients)
        found = produce_latencies_s(samples, is_first=is_first)
        if is_first and not found and produce_latencies_s(samples):
            self.first_pushes += 1
        for broker, mean_s in found.items():
            self.put(client, broker, mean_s)

    def latencies_s(self) -> Mapping[int, float]:
        """See :meth:`BrokerLatencies.latencies_s`."""
        oldest = self._clock() - self._max_age_s
        with self._lock:
            for broker, figures in list(self._figures.items()):
                fresh = {client: figure for client, figure in figures.items() if figure.at_s >= oldest}
                if fresh:
                    self._figures[broker] = fresh
                else:
                    del self._figures[broker]
            return {b: fmean(figure.mean_s for figure in figures.values()) for b, figures in self._figures.items()}


def _put_last(newest_last: dict[_K, _V], key: _K, value: _V, at_most: int) -> None:
    """Set a value, and drop the one that was set longest ago if there are too many."""
    newest_last.pop(key, None)
    newest_last[key] = value
    if len(newest_last) > at_most:
        del newest_last[next(iter(newest_last))]
