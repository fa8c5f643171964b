"""The routing of all topics of one producer: a background thread that reads the cluster and shows it to their routers.

No record waits for it, apart from the first one of a topic, and that one not for long. A cluster that cannot be read
leaves records flowing: by the last view, or by the client's own partitioner where there was none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Lock
from time import monotonic
from typing import Any, Final, Protocol

from kafkabal.errors import OperationError
from kafkabal.producer.background_refresher import BackgroundRefresher
from kafkabal.producer.producer_options import RoutingOptions
from kafkabal.producer.routing_view_source import StateReader, ViewSource
from kafkabal.producer.topic_router import RoutingStatus, TopicRouter
from kafkabal.routing import Context, Input
from kafkabal.scoring import Need
from kafkabal.telemetry import LatencyTable, StatisticsReader

LOG: Final = logging.getLogger("kafkabal.producer")
_REFRESHES_TO_FORGET: Final = 6
"""Half a minute by default: a broker that is sent little is measured rarely, and one that died must not look fast for
long."""
_METADATA_S: Final = 5.0
"""As long as a refresh: what is not known by then is asked for by the next one."""
_CLOSING_S: Final = 0.2
"""A program that flushes its last record ends at once; the connections that are read over are closed next."""


class ClosableReader(StateReader, Protocol):
    """A cluster that is read."""

    def close(self) -> None:
        """Drop connections."""


class LiveRouting:
    """Routers by topic, and the thread that renews their views.

    Parameters
    ----------
    open_cluster
        Called by the thread, before the first view.
    client
        The librdkafka client, None once it is gone; asked how much waits in it, and for metadata.
    """

    def __init__(
        self,
        options: RoutingOptions,
        open_cluster: Callable[[], ClosableReader],
        client: Callable[[], Any],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._options = options
        self._open_cluster = open_cluster
        self._client = client
        self._clock = clock
        self._lock = Lock()
        self._routers: Mapping[str, TopicRouter] = {}
        self._wait_until_s: dict[str, float] = {}
        self._cluster: ClosableReader | None = None
        self._views: ViewSource | None = None
        self._refresher: BackgroundRefresher | None = None
        self._fault: str | None = None
        self._latencies = LatencyTable(max_age_s=_REFRESHES_TO_FORGET * options.refresh_s, clock=clock)
        self.read_statistics = StatisticsReader(
            self._latencies, memory_s=options.refresh_s, backlogged=self._backlogged
        )
        """Takes the client's statistics where :attr:`needs_statistics`."""

    @property
    def needs_statistics(self) -> bool:
        """Whether records are routed by what the client itself measures."""
        return Input.LATENCY in self._options.policy.about.inputs or self._scores_latency

    def router(self, topic: str) -> TopicRouter:
        """The router of a topic; at first its view is waited for, as long as the options allow."""
        router = self._routers.get(topic) or self._added_router(topic)
        if not router.first_look.is_set():
            router.first_look.wait(max(0.0, self._wait_until_s[topic] - self._clock()))
        return router

    def status(self) -> tuple[RoutingStatus, ...]:
        """Of each topic that was produced to, by name."""
        return tuple(router.status() for _, router in sorted(self._routers.items()))

    def close(self) -> None:
        """Stop reading; routing continues by the last views."""
        if self._refresher is not None:
            # what it reads meanwhile ends with the connections
            self._refresher.close(_CLOSING_S)
        if self._cluster is not None:
            self._cluster.close()

    def _added_router(self, topic: str) -> TopicRouter:
        with self._lock:
            router = self._routers.get(topic)
            if router is None:
                router = self._new_router(topic)
                self._wait_until_s[topic] = self._clock() + self._options.first_view_s
                self._routers = {**self._routers, topic: router}
                if self._refresher is None:
                    self._refresher = BackgroundRefresher(
                        self._refresh, self._options.refresh_s, revise=self._revise, failed=self._failed
                    )
                self._refresher.wake()
            return router

    def _new_router(self, topic: str) -> TopicRouter:
        options = self._options
        return TopicRouter(
            topic,
            options.policy.create(Context(seed=options.seed, clock=self._clock, rack=options.rack)),
            any_key_order=options.any_key_order,
            clock=self._clock,
            failed=self._failed,
        )

    @property
    def _scores_latency(self) -> bool:
        return any(Need.TELEMETRY in weighted.score.needs for weighted in self._options.scores)

    def _backlogged(self) -> None:
        """A broker falls behind: that fills the buffer long before the next view."""
        if self._scores_latency and self._refresher is not None:
            self._refresher.revise()

    def _refresh(self) -> None:
        if self._views is None:
            self._cluster = self._open_cluster()
            self._views = ViewSource(self._cluster, latency=self._latencies, prometheus=None, clock=self._clock)
        routers = list(self._routers.values())
        settled = [router.settled() for router in routers]
        self._views.read(self._options.scores)
        self._show(self._views, routers, settled)
        if self._fault is not None:
            LOG.info("the cluster can be read again")
            self._fault = None
        for status in self.status():
            self._options.metrics(status)

    def _revise(self) -> None:
        if self._views is None:
            return
        routers = [router for router in self._routers.values() if router.view is not None]
        self._views.measure()
        self._show(self._views, routers, [router.settled() for router in routers])

    def _show(self, views: ViewSource, routers: list[TopicRouter], settled: list[list[int] | None]) -> None:
        client = self._client()
        waiting = 0 if client is None else len(client)
        fault: Exception | None = None
        for router, own in zip(routers, settled, strict=True):
            try:
                view = views.view(router.topic, self._options.scores)
                if router.view is not None and view.n_partitions > router.view.n_partitions:
                    _meet_partitions(client, router.topic, view.n_partitions)
                router.show(view, own, waiting)
            except Exception as error:  # noqa: BLE001 - the other topics are shown theirs
                fault = error
        if fault is not None:
            raise fault

    def _failed(self, error: Exception) -> None:
        """Say it once, until it is over or another error; no record waits any longer."""
        for router in self._routers.values():
            router.first_look.set()
        if str(error) != self._fault:
            self._fault = str(error)
            LOG.warning("cannot refresh the view of the cluster, routing by the last one: %s", error)


def _meet_partitions(client: Any, topic: str, n_partitions: int) -> None:
    """Make the client know partitions that were added: it refuses those that it has not heard of.

    Raises
    ------
    OperationError
        If it does not hear of all of them; the view before stays in force until the next one.
    """
    if client is not None and len(client.list_topics(topic, _METADATA_S).topics[topic].partitions) < n_partitions:
        raise OperationError(f"topic {topic}: not all brokers know all of its partitions yet ({n_partitions})")
