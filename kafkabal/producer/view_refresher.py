"""Keeps the views of a producer's topics fresh: a thread reads the cluster every few seconds and shows it to the
routers.

No record waits for it. If the cluster cannot be read, records are routed by the last view.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import Any, Final

from confluent_kafka import KafkaException

from kafkabal.config import DEFAULT_REFRESH_S, REFRESHES_TO_FORGET
from kafkabal.errors import OperationError
from kafkabal.producer.librdkafka_errors import error_of
from kafkabal.producer.periodic_thread import CLOSING_S, PeriodicThread
from kafkabal.producer.routing_view_reader import StateReader, ViewReader
from kafkabal.producer.topic_router import TopicRouter
from kafkabal.routing import About, Input, early_pauses_s
from kafkabal.scoring import Need, WeightedScore
from kafkabal.telemetry import BrokerLatencies, LatencyTable, StatisticsReader

STATISTICS_S: Final = 0.05
"""Seconds between two statistics texts of the client if latencies count: often enough to notice a slow broker before it
fills the client's queue."""
_WRITTEN_DURING_READING_BYTES: Final = 1e9
"""The most that producers write while a cluster is read. A smaller topic may look unbalanced because the first reading
missed part of a burst: four producers that sent 10 MB each at once ended at 1.05 to 1.15 of the mean in three of ten
runs, because the last to start saw on some brokers only what the first had just sent."""
_METADATA_S: Final = 5.0
"""As long as a refresh: whatever is unknown by then, the next refresh asks for."""
_UNTIL_CREATED_S: Final = (0.05, 0.1, 0.2, 0.4)
"""Pauses before a new topic or partition counts as unknown: brokers learn of them one after the other. Of forty topics
whose records came without waiting for their creation, brokers did not know 33 at the first reading (2026-11)."""
_ASKING_S: Final = 0.5
"""Long enough: the cluster is read again anyway. A client that is closed meanwhile waits for the answer."""
_RECENT_S: Final = DEFAULT_REFRESH_S
"""A new topic is routed by a reading of at most this age: to read the cluster for each of 300 topics took a program
four minutes of waiting (2026-11)."""
_SOONEST_S: Final = 0.25
"""Until the next refresh after one that leaves a topic without a view or a partition without a leader: that is usually
over within a second. The wait doubles each time, up to the usual interval."""


class ViewRefresher:
    """Reads a cluster and shows its topics to their routers, in a thread of its own once started.

    Parameters
    ----------
    open_cluster
        Called by the refresh thread before the first reading.
    routers
        The routers of all topics produced to.
    scores
        What the views show.
    refresh_s
        Seconds between two readings.
    latency
        Source of produce latencies; None uses the client's own statistics, by :attr:`read_statistics`.
    prometheus
        Value of the configured query by broker id.
    clock
        Seconds; the clock that the policies were given.
    refreshed
        Called by the refresh thread after each reading, with the errors of topics that got no new view.
    failed
        Called by the refresh thread with the error of a reading; records are routed by the last view meanwhile.
    sleep
        Waits between readings.
    """

    def __init__(
        self,
        open_cluster: Callable[[], StateReader],
        routers: Callable[[], Iterable[TopicRouter]],
        scores: Iterable[WeightedScore],
        *,
        refresh_s: float,
        latency: BrokerLatencies | None = None,
        prometheus: Callable[[], Mapping[int, float]] | None = None,
        clock: Callable[[], float],
        refreshed: Callable[[Mapping[str, Exception]], None] = lambda _: None,
        failed: Callable[[Exception], None],
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._open_cluster = open_cluster
        self._client: Callable[[], Any] = lambda: None
        self._is_client_released = False
        self._using_client = Lock()
        """Held during each call of the client: confluent-kafka 2.13 crashes if it is closed meanwhile."""
        self._routers = routers
        self._scores = tuple(scores)
        self._refresh_s = refresh_s
        self._prometheus = prometheus
        self._clock = clock
        self._refreshed = refreshed
        self._failed = failed
        self._sleep = sleep
        self._again_s = _SOONEST_S
        self._early_pauses_s: Iterator[float] = iter(())
        """Until the next refreshes, while a topic is new."""
        self._lacks_leaders = False
        self._added: deque[TopicRouter] = deque()
        self._awaited_topics: set[str] = set()
        """Topics that count as unknown at once if they are."""
        self._views: ViewReader | None = None
        self._thread: PeriodicThread | None = None
        self.measured = LatencyTable(max_age_s=REFRESHES_TO_FORGET * refresh_s, clock=clock)
        """Produce latencies by the client's own statistics."""
        self.read_statistics = StatisticsReader(self.measured, backlogged=self._revise_if_needed)
        """Receives the client's statistics texts."""
        self._latency = latency or self.measured

    def needs_latency(self, about: About) -> bool:
        """Whether the policy or a score needs produce latencies."""
        return Input.LATENCY in about.inputs or self._is_latency_scored

    def start(self, client: Callable[[], Any]) -> None:
        """Start refreshing periodically, unless that has begun.

        Parameters
        ----------
        client
            The librdkafka client, None once it is gone; asked for its queue length and for metadata.
        """
        self._client = client
        if self._thread is None:
            self._thread = PeriodicThread(
                self._refresh_in_thread, self._refresh_s, revise=self._revise, failed=self._failed
            )
            self._follow_new_topics(any(router.view is not None for router in self._routers()), 0.0)
        self._thread.start()

    def release_client(self) -> None:
        """Call the client no more: once this returns, it may be closed."""
        self._is_client_released = True
        with self._using_client:
            pass

    def wake(self) -> None:
        """Refresh now instead of at the end of the interval."""
        if self._thread is not None:
            self._thread.wake()

    def add(self, router: TopicRouter) -> None:
        """Show a new router the last reading if that is recent and has its topic, else refresh now."""
        self._added.append(router)
        if self._thread is not None:
            self._thread.revise()

    def reload(self, scores: Iterable[WeightedScore] | None) -> None:
        """Read the next view at once, and show these scores from then on; None keeps the current ones."""
        if scores is not None:
            self._scores = tuple(scores)
        self.wake()

    def close(self, wait_s: float = CLOSING_S) -> None:
        """Stop, and wait up to ``wait_s`` for a reading in flight; routers keep their last views."""
        if self._thread is not None:
            self._thread.close(wait_s)

    def refresh(self) -> None:
        """Read the cluster, and show it to all routers.

        Raises
        ------
        KafkabalError
            If the cluster cannot be read, does not supply what a score needs, or a topic is unknown.
        """
        for fault in self._refresh().values():
            raise fault

    def _refresh(self) -> Mapping[str, Exception]:
        """Read the cluster, and show it to all routers; returns the errors of topics that could not be shown."""
        if self._views is None:
            cluster = self._open_cluster()
            self._views = ViewReader(cluster, latency=self._latency, prometheus=self._prometheus, clock=self._clock)
        routers = tuple(self._routers())
        self._read(self._views, routers)
        self._read_until_created(self._views, routers)
        growing = [router for router in routers if router.view is None and self._preview_if_small(self._views, router)]
        if growing:
            self._read(self._views, routers)
        return self._show(self._views, routers)

    def _read(self, views: ViewReader, routers: Iterable[TopicRouter]) -> None:
        for router in routers:
            router.begin_reading()
        views.read(self._scores)

    def _read_until_created(self, views: ViewReader, routers: Iterable[TopicRouter]) -> None:
        """Read again while brokers do not know the topic of a new router, which is perhaps being created: otherwise the
        client's own partitioner would take its records until the next refresh."""
        new = {router.topic for router in routers if router.view is None} - self._awaited_topics
        for pause_s in _UNTIL_CREATED_S:
            unknown = [topic for topic in new if not views.has(topic)]
            if not unknown:
                break
            self._ask_for(unknown)
            self._sleep(pause_s)
            self._read(views, routers)
        self._awaited_topics |= new

    def _ask_for(self, topics: Iterable[str]) -> None:
        """Ask for topics as the client does for their first records: brokers then create them, if they are set to."""
        # the client may be closed meanwhile
        with suppress(KafkaException, RuntimeError):
            for topic in topics:
                self._call_client(partial(_metadata_of, topic, _ASKING_S))

    def _preview_if_small(self, views: ViewReader, router: TopicRouter) -> bool:
        """Preview a small topic, which may look unbalanced only because records arrived during the reading; False if it
        is not one."""
        try:
            view = views.view(router.topic, self._scores)
            if not 0 < float(view.partition_bytes.sum()) < _WRITTEN_DURING_READING_BYTES:
                return False
            router.preview(view)
        except Exception:  # noqa: BLE001 - raised again where it is shown
            return False
        return True

    def _refresh_in_thread(self) -> None:
        new, began_s = [router for router in self._routers() if router.view is None], self._clock()
        faults = self._refresh()
        self._refreshed(faults)
        self._follow_new_topics(any(router.view is not None for router in new), self._clock() - began_s)
        self._refresh_soon_if_needed(bool(faults) or self._lacks_leaders)

    def _follow_new_topics(self, is_any_new: bool, took_s: float) -> None:
        """Refresh soon while a topic is new, but rest at least as long as a refresh of a large cluster takes."""
        if is_any_new:
            self._early_pauses_s = iter(early_pauses_s(self._refresh_s))
        pause_s = next((pause_s for pause_s in self._early_pauses_s if pause_s >= took_s), None)
        if pause_s is not None and self._thread is not None:
            self._thread.refresh_within(pause_s)

    def _refresh_soon_if_needed(self, is_needed: bool) -> None:
        if is_needed and self._thread is not None:
            self._thread.refresh_within(self._again_s)
        self._again_s = min(2 * self._again_s, self._refresh_s) if is_needed else _SOONEST_S

    def _revise(self) -> None:
        self._show_added_topics()
        if self._is_latency_scored:
            self._show_latencies()

    def _show_added_topics(self) -> None:
        added = [self._added.popleft() for _ in range(len(self._added))]
        if not added or self._thread is None:
            return
        if self._views is not None and self._views.age_s() <= min(_RECENT_S, self._refresh_s):
            known = [router for router in added if router.view is None and self._views.has(router.topic)]
            # an error of a topic is reported by the refresh
            self._show(self._views, known)
            if self._lacks_leaders:
                self._refresh_soon_if_needed(True)
        if any(router.view is None for router in added):
            self._thread.refresh_within(0)

    def _show_latencies(self) -> None:
        """Route by the current latencies: a slow broker fills the client's queue long before the next reading."""
        if self._views is not None:
            self._views.update_latencies()
            # an error of a topic is reported by the next refresh
            self._show(self._views, [router for router in self._routers() if router.view is not None])

    def _show(self, views: ViewReader, routers: Iterable[TopicRouter]) -> Mapping[str, Exception]:
        """Show each topic to its router; returns the errors of those that could not be shown."""
        waiting = self._call_client(len) or 0
        faults: dict[str, Exception] = {}
        self._lacks_leaders = False
        for router in routers:
            try:
                view = views.view(router.topic, self._scores)
                self._lacks_leaders |= bool((view.leader < 0).any())
                if _is_new_to_client(router, view.n_partitions):
                    # a topic that is routed goes on by its view: nothing waits, since revisions come here, too
                    pauses_s = _UNTIL_CREATED_S if router.view is None else ()
                    self._fetch_new_partitions(router.topic, view.n_partitions, pauses_s)
                router.show(view, waiting)
            except Exception as error:  # noqa: BLE001 - the other topics are shown theirs
                faults[router.topic] = error
        return faults

    def _fetch_new_partitions(self, topic: str, n_partitions: int, pauses_s: Iterable[float]) -> None:
        """Make the client fetch metadata of added partitions: it cannot send to partitions that it does not know.

        Parameters
        ----------
        pauses_s
            Before it is asked again.

        Raises
        ------
        KafkabalError
            If the client does not learn of all of them; the previous view stays in use until the next one.
        """
        try:
            for pause_s in (*pauses_s, 0.0):
                metadata = self._call_client(partial(_metadata_of, topic, _METADATA_S))
                if metadata is None or len(metadata.topics[topic].partitions) >= n_partitions:
                    return
                self._sleep(pause_s)
        except KafkaException as error:
            raise error_of(error.args[0], topic) from error
        raise OperationError(f"topic {topic}: not all brokers know all of its partitions yet ({n_partitions})")

    def _call_client(self, call: Callable[[Any], Any]) -> Any:
        """What a call returns; None if the client is gone or released."""
        with self._using_client:
            client = None if self._is_client_released else self._client()
            return None if client is None else call(client)

    @property
    def _is_latency_scored(self) -> bool:
        return any(Need.TELEMETRY in weighted.score.needs for weighted in self._scores)

    def _revise_if_needed(self) -> None:
        if self._is_latency_scored and self._thread is not None:
            self._thread.revise()


def _is_new_to_client(router: TopicRouter, n_partitions: int) -> bool:
    if router.view is None:
        return router.needs_known_partitions
    return n_partitions > router.view.n_partitions


def _metadata_of(topic: str, timeout_s: float, client: Any) -> Any:
    return client.list_topics(topic, timeout_s)
