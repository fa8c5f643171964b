"""The routers of all topics that a program produces to; each is created with the first record of its topic.

No record waits for the cluster, except briefly the first one of a topic. If the cluster cannot be read, records are
routed by the last view, or by the client's own partitioner if there is none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from threading import RLock, get_ident
from time import monotonic
from typing import Any, Final, Protocol

from kafkabal.config import is_topic_name
from kafkabal.errors import one_line
from kafkabal.producer.plugin_router import PluginRouter
from kafkabal.producer.producer_options import RoutingOptions
from kafkabal.producer.reentered_locks import is_reentered
from kafkabal.producer.routing_plugin import RoutingPlugin, is_available
from kafkabal.producer.routing_view_reader import StateReader
from kafkabal.producer.slot_router import RoutingStatus, SlotRouter
from kafkabal.producer.view_refresher import ViewRefresher
from kafkabal.routing import Context, RoutingView, SlotPolicy

LOG: Final = logging.getLogger("kafkabal.producer")
_CLOSING_S: Final = 0.2
"""A program that has flushed its last record should end at once; the connections of the reader are closed next."""


class ClosableReader(StateReader, Protocol):
    """A cluster reader that can be closed."""

    def close(self) -> None:
        """Close its connections."""


class TopicRouters:
    """Routers by topic, and the thread that refreshes their views.

    Parameters
    ----------
    open_cluster
        Called by the refresh thread before the first view.
    client
        The librdkafka client, None once it is gone; asked for its queue length and for metadata.
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
        self._lock = RLock()
        self._routers: Mapping[str, SlotRouter] = {}
        self._wait_until_s: dict[str, float] = {}
        self._waiting_threads: set[int] = set()
        self._cluster: ClosableReader | None = None
        self._fault: str | None = None
        self._topic_faults: Mapping[str, str] = {}
        """Why topics have no new view, as logged."""
        self._metrics_fault: str | None = None
        self._plugin: RoutingPlugin | None = None
        self._is_closed = False
        self._refresher = ViewRefresher(
            self._open,
            self._all_routers,
            options.scores,
            refresh_s=options.refresh_s,
            clock=clock,
            refreshed=self._on_refreshed,
            failed=self._on_failed,
        )
        self.read_statistics = self._refresher.read_statistics
        """Receives the client's statistics if :attr:`needs_statistics`."""

    @property
    def needs_statistics(self) -> bool:
        """Whether records are routed by the client's own statistics."""
        return self._refresher.needs_latency(self._options.policy.about)

    def plug_into(self, client: dict[str, Any]) -> RoutingPlugin | None:
        """Route inside librdkafka if it can load the plug-in and the policy has slots; to be called first.

        Parameters
        ----------
        client
            The settings of the client, which are changed so that it loads the plug-in. It must be created within the
            plug-in's ``with`` block.
        """
        choice = self._options.policy
        if is_available(client) and isinstance(choice.create(Context()), SlotPolicy):
            routes_keys = self._options.any_key_order or choice.about.keeps_key_order
            self._plugin = RoutingPlugin(self._plan_slots, client, routes_keys=routes_keys)
        return self._plugin

    def router(self, topic: str) -> SlotRouter | None:
        """The router of a topic; a new one waits for its first view, as long as the options allow.

        None for an invalid topic name: the client refuses its records. None, too, while this thread is adding a router,
        and after :meth:`close`.
        """
        if self._is_closed:
            return None
        router = self._routers.get(topic)
        if router is None:
            if not is_topic_name(topic) or is_reentered(self._lock):
                return None
            router = self._added_router(topic)
        if not router.first_reading.is_set():
            self._wait_for_first_reading(router)
        return router

    def status(self) -> tuple[RoutingStatus, ...]:
        """Routing status of each topic produced to, by name."""
        return tuple(router.status() for _, router in sorted(self._routers.items()))

    def release_client(self) -> None:
        """Call the client no more: once this returns, it may be closed."""
        self._refresher.release_client()

    def close(self) -> None:
        """Stop reading the cluster and routing; the client's own partitioner takes what is produced after this.

        Called when a program ends, too, where threads may still produce: Python ends such a thread at its next step,
        and the whole process with it if that is inside numpy.
        """
        self._is_closed = True
        for router in self._routers.values():
            router.await_other_threads(_CLOSING_S)
        # a reading in flight ends with its connections
        self._refresher.close(_CLOSING_S)
        if self._cluster is not None:
            self._cluster.close()

    def _plan_slots(self, topic: str, size_bytes: int) -> None:
        """Called by the plug-in."""
        if self._is_closed:
            router: SlotRouter | None = self._routers.get(topic)
            if isinstance(router, PluginRouter):
                router.leave_unrouted()
            return
        router = self.router(topic)
        if isinstance(router, PluginRouter):
            router.plan_slots(size_bytes)

    def _wait_for_first_reading(self, router: SlotRouter) -> None:
        thread = get_ident()
        # a signal's handler that produces meanwhile: an event's own lock cannot be taken twice
        if thread in self._waiting_threads:
            return
        try:
            self._waiting_threads.add(thread)
            router.first_reading.wait(max(0.0, self._wait_until_s[router.topic] - self._clock()))
        finally:
            self._waiting_threads.discard(thread)

    def _added_router(self, topic: str) -> SlotRouter:
        with self._lock:
            router = self._routers.get(topic)
            if router is None:
                router = self._new_router(topic)
                self._wait_until_s[topic] = self._clock() + self._options.first_view_s
                # before the topic is known: a signal's handler may raise between any two lines
                self._refresher.start(self._client)
                self._refresher.add(router)
                self._routers = {**self._routers, topic: router}
            return router

    def _all_routers(self) -> tuple[SlotRouter, ...]:
        """Called by the refresh thread; with the lock, so that it sees a router whose addition has woken it."""
        with self._lock:
            return tuple(self._routers.values())

    def _new_router(self, topic: str) -> SlotRouter:
        options = self._options
        policy = options.policy.create(Context(seed=options.seed, clock=self._clock, rack=options.rack))
        recreated = partial(self._replace_router, topic)
        if self._plugin is not None:
            replaced = self._routers.get(topic)
            lane = self._plugin.add_lane(topic, replaced.lane if isinstance(replaced, PluginRouter) else None)
            return PluginRouter(topic, policy, lane, clock=self._clock, failed=self._on_failed, recreated=recreated)
        return SlotRouter(
            topic,
            policy,
            any_key_order=options.any_key_order,
            hears_of_deliveries=options.hears_of_deliveries,
            clock=self._clock,
            failed=self._on_failed,
            recreated=recreated,
        )

    def _replace_router(self, topic: str, view: RoutingView, waiting_records: int) -> None:
        router = self._new_router(topic)
        router.show(view, waiting_records)
        with self._lock:
            self._routers = {**self._routers, topic: router}

    def _open(self) -> ClosableReader:
        self._cluster = self._open_cluster()
        return self._cluster

    def _on_refreshed(self, faults: Mapping[str, Exception]) -> None:
        if self._fault is not None:
            LOG.info("the cluster can be read again")
            self._fault = None
        # one at a time: a topic that is not created yet must not delay the others
        before, self._topic_faults = self._topic_faults, {topic: one_line(error) for topic, error in faults.items()}
        for topic, text in self._topic_faults.items():
            self._routers[topic].first_reading.set()
            if before.get(topic) != text:
                LOG.warning(
                    "topic %s: no new view, routing by the last one or by the default partitioner: %s", topic, text
                )
        try:
            for status in self.status():
                self._options.metrics(status)
        except Exception as error:
            if str(error) != self._metrics_fault:
                self._metrics_fault = str(error)
                LOG.exception("kafkabal.metrics_cb failed")

    def _on_failed(self, error: Exception) -> None:
        """Log an error once, until it is over or changes; records stop waiting for a first view."""
        for router in self._routers.values():
            router.first_reading.set()
        if one_line(error) != self._fault:
            self._fault = one_line(error)
            LOG.warning(
                "cannot refresh the view of the cluster, routing by the last one or by the default partitioner: %s",
                self._fault,
            )
