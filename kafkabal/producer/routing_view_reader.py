"""Reads a live cluster repeatedly, and makes the views that policies see, with the data that the scores need."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Protocol

from kafkabal.clusters import Cluster, InFlight, Reading, ReadRequest
from kafkabal.config import Settings, with_profile_disks
from kafkabal.model import PRODUCE_LATENCY, PROMETHEUS_VALUE, ClusterState
from kafkabal.producer.latency_noise import LatencyNoise
from kafkabal.routing import ClusterViews, RoutingView
from kafkabal.scoring import Need, WeightedScore, require, supplied
from kafkabal.telemetry import BrokerLatencies, with_rates

_NEEDS_MET_LATER = frozenset({Need.CAPACITY, Need.RATES, Need.TELEMETRY})
"""Needs that are not met at the first reading: an assumption, a second sample or the first sent records meet them."""
_NEEDS_NOT_AWAITED = frozenset({Need.CAPACITY, Need.TELEMETRY})
"""The ones among them that a view can do without."""


class StateReader(Protocol):
    """Reads the state of a cluster; every :class:`~kafkabal.clusters.cluster_protocol.Cluster` does."""

    def read(self, request: ReadRequest) -> Reading:
        """The whole state."""


class ClusterWithDisks:
    """A cluster read with the volumes and capacities that a profile states."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        self._cluster = cluster
        self._settings = settings
        self.close = cluster.close

    def read(self, request: ReadRequest) -> Reading:
        """The whole state."""
        reading = self._cluster.read(request)
        return replace(reading, state=with_profile_disks(reading.state, self._settings))


_PAUSES_S = (0.1, 0.4, 1.0)
"""Pauses before brokers that report no log dirs count as never reporting any: a broker that has just started reports
within a second."""


class ViewReader:
    """Reads a cluster and makes views of its topics; used by one thread at a time.

    A score is left out of the view until the rates or latencies it needs are known.

    Parameters
    ----------
    latency
        Produce latencies, as far as they are known.
    prometheus
        Gives the value of the configured query by broker id; None if no Prometheus is configured.
    clock
        Seconds; the policies' clock.
    sleep
        Waits between requests to a busy broker.
    """

    def __init__(
        self,
        cluster: StateReader,
        *,
        latency: BrokerLatencies,
        prometheus: Callable[[], Mapping[int, float]] | None,
        clock: Callable[[], float],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._cluster = cluster
        self._latency = latency
        self._noise = LatencyNoise()
        self._prometheus = prometheus
        self._clock = clock
        self._sleep = sleep
        self._before: tuple[float, ClusterState] | None = None
        self._latest: tuple[float, ClusterState] | None = None
        self._took_s = 0.0
        self._views: tuple[ClusterState, tuple[WeightedScore, ...], ClusterViews] | None = None
        """Of a state, by these scores."""

    def read(self, scores: Iterable[WeightedScore]) -> None:
        """Read the cluster again, and the latencies.

        Raises
        ------
        KafkabalError
            Whatever the cluster or Prometheus raises.
        """
        at_s = self._clock()
        self._latest = at_s, self._read(at_s, frozenset(need for weighted in scores for need in weighted.score.needs))
        self._took_s = self._clock() - at_s
        self.update_latencies()

    def update_latencies(self) -> None:
        """Combine the latencies of now with the last reading, however old it is.

        Raises
        ------
        KafkabalError
            Whatever Prometheus raises.
        """
        assert self._latest is not None
        at_s, state = self._latest
        self._latest = at_s, self._with_measurements(state)

    def age_s(self) -> float:
        """Seconds since the last reading began; infinite before the first one."""
        return inf if self._latest is None else self._clock() - self._latest[0]

    def has(self, topic: str) -> bool:
        """Whether the last reading found this topic."""
        assert self._latest is not None
        _, state = self._latest
        return state.topics.index_of(topic) >= 0

    def view(self, topic: str, scores: Iterable[WeightedScore]) -> RoutingView:
        """A topic as of the last reading.

        Raises
        ------
        UsageError
            If the topic is unknown, or the cluster can never supply what a score needs.
        """
        assert self._latest is not None
        at_s, state = self._latest
        return self._views_of(state, tuple(scores)).view(
            topic, at_s=at_s, took_s=self._took_s, latency_s=state.measured[PRODUCE_LATENCY]
        )

    def _views_of(self, state: ClusterState, scores: tuple[WeightedScore, ...]) -> ClusterViews:
        """The views of all topics: a program may produce to hundreds."""
        if self._views is None or self._views[0] is not state or self._views[1] != scores:
            known = supplied(state)
            for weighted in scores:
                if not weighted.score.needs <= known | _NEEDS_MET_LATER:
                    require(weighted.score, state)
            # a score whose latencies are not measured yet would change no weight, and would claim that bytes need not
            # be even
            ready = [w for w in scores if w.score.needs <= known | _NEEDS_NOT_AWAITED]
            self._views = state, scores, ClusterViews(state, ready, supplied=_NEEDS_NOT_AWAITED)
        return self._views[2]

    def _read(self, at_s: float, needs: frozenset[Need]) -> ClusterState:
        sampled = Need.RATES in needs
        # a policy does not use them, and producers must not depend on a controller
        request = ReadRequest(offsets=sampled, group_offsets=sampled, in_flight=InFlight.OMITTED)
        state = self._read_until_log_dirs_known(request, needs)
        before, self._before = self._before, (at_s, state) if sampled else None
        if before is None or not sampled:
            return state
        return with_rates(before[1], state, at_s - before[0], group_offsets=True)

    def _read_until_log_dirs_known(self, request: ReadRequest, needs: frozenset[Need]) -> ClusterState:
        """Ask brokers again if they were too busy to report their log dirs."""
        state = self._cluster.read(request).state
        for pause_s in _PAUSES_S:
            if Need.LOG_DIRS not in needs - supplied(state):
                break
            self._sleep(pause_s)
            state = self._cluster.read(request).state
        return state

    def _with_measurements(self, state: ClusterState) -> ClusterState:
        column_of = state.brokers.column_of
        measured = {PRODUCE_LATENCY: column_of(self._noise.remove_from(self._latency.latencies_s()))}
        if self._prometheus is not None:
            measured[PROMETHEUS_VALUE] = column_of(self._prometheus())
        return state.replace(measured=measured)
