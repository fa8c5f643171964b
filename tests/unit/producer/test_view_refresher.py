"""What routers see of a cluster that is read repeatedly."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from kafkabal.clusters.cluster_protocol import Reading, ReadRequest
from kafkabal.errors import OperationError
from kafkabal.model import I32, ClusterState, TopicRow
from kafkabal.producer.topic_router import TopicRouter
from kafkabal.producer.view_refresher import ViewRefresher
from kafkabal.routing.policy_protocol import About, Context, PolicyBase, RecordBatch
from kafkabal.routing.routing_view import RoutingView
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster
from kafkabal.testing import cluster_builders


class Asking(PolicyBase):
    """A policy that asks which of its records had reached the brokers, and keeps the views."""

    about: ClassVar = About(name="asking", meaning="", source="test", asks_what_settled=True)

    def __init__(self) -> None:
        super().__init__(Context())
        self.settled: list[list[float]] = []

    def refresh(self, view: RoutingView) -> None:
        """Keep the settled records of the view."""
        assert view.settled_bytes is not None
        self.settled.append(view.settled_bytes.tolist())

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """The first."""
        return 0

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """The first."""
        out[:] = 0


class Reader:
    """A cluster whose topic has this many partitions of this many bytes."""

    partitions = 2

    def __init__(self, partition_bytes: int = 0) -> None:
        self.partition_bytes = partition_bytes

    def read(self, request: ReadRequest) -> Reading:
        """The current state."""
        held = dict.fromkeys((1, 2, 3), self.partition_bytes)
        cluster = WorkloadCluster(brokers=3, partitions=self.partitions, own_existing_bytes=held)
        return Reading(build_workload_cluster(cluster))


def refresher_of(router: TopicRouter) -> ViewRefresher:
    """A refresher that has read nothing yet."""
    return ViewRefresher(Reader, lambda: (router,), (), refresh_s=60, clock=lambda: 0.0, failed=lambda _: None)


def test_records_settled_after_a_reading_are_not_in_its_view() -> None:
    """A view with only newer latencies has the log dirs of the last reading, so later records are not in it."""
    policy = Asking()
    router = TopicRouter(TOPIC, policy, lambda _: None)
    refresher = refresher_of(router)

    refresher.refresh()
    router.settle(1, 100)
    refresher._show_latencies()
    refresher.refresh()

    assert policy.settled == [[0, 0], [0, 0], [0, 100]]


def test_a_topic_that_fails_does_not_keep_the_others_from_their_views() -> None:
    """If one topic fails, the routers of all others get their views before the error is raised."""
    gone, policy = TopicRouter("gone", Asking(), lambda _: None), Asking()
    router = TopicRouter(TOPIC, policy, lambda _: None)
    refresher = ViewRefresher(
        Reader, lambda: (gone, router), (), refresh_s=60, clock=lambda: 0.0, failed=lambda _: None
    )

    with pytest.raises(Exception, match="unknown topic: 'gone'"):
        refresher.refresh()

    assert policy.settled == [[0, 0]]


def test_a_topic_that_fails_does_not_keep_one_that_may_be_growing_from_its_views() -> None:
    """If one topic fails, another that may be growing is still read twice and shown before the error is raised."""

    class Failing(Asking):
        def refresh(self, view: RoutingView) -> None:
            raise OperationError("no leader")

    failing, policy = TopicRouter(TOPIC, Failing(), lambda _: None), Asking()
    router = TopicRouter(TOPIC, policy, lambda _: None)
    reader = Reader(10**6)
    refresher = ViewRefresher(
        lambda: reader, lambda: (failing, router), (), refresh_s=60, clock=lambda: 0.0, failed=lambda _: None
    )

    with pytest.raises(OperationError, match="no leader"):
        refresher.refresh()

    assert len(policy.settled) == 2
    assert router.view is not None


@pytest.mark.parametrize(("partition_bytes", "views"), [(0, 1), (10**6, 2), (10**10, 1)])
def test_a_topic_that_may_be_growing_is_read_twice_before_it_is_routed(partition_bytes: int, views: int) -> None:
    """The policy sees the growth between two readings; a topic that is empty or far too large is read once."""
    policy = Asking()
    router = TopicRouter(TOPIC, policy, lambda _: None)
    reader = Reader(partition_bytes)
    refresher = ViewRefresher(
        lambda: reader, lambda: (router,), (), refresh_s=60, clock=lambda: 0.0, failed=lambda _: None
    )

    refresher.refresh()
    at_first = len(policy.settled)
    refresher.refresh()

    assert (at_first, len(policy.settled)) == (views, views + 1)


class Changing:
    """A cluster that shows these states one after the other, and the last one from then on."""

    def __init__(self, *states: ClusterState) -> None:
        self._states = list(states)

    def read(self, request: ReadRequest) -> Reading:
        """The next state."""
        return Reading(self._states.pop(0) if len(self._states) > 1 else self._states[0])


class Counting(Changing):
    """Counts its readings."""

    readings = 0

    def read(self, request: ReadRequest) -> Reading:
        """The next state."""
        self.readings += 1
        return super().read(request)


class AskedClient:
    """A client that has sent all its records, and notes for which topics it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __len__(self) -> int:
        return 0

    def list_topics(self, topic: str, _timeout_s: float) -> Any:
        """Ask brokers for a topic."""
        self.asked.append(topic)


def cluster_with(*topics: TopicRow) -> ClusterState:
    """A cluster of two brokers."""
    return cluster_builders.cluster(cluster_builders.brokers(2), topics)


def topic_led_by(*leaders: int, topic: str = TOPIC) -> TopicRow:
    """An empty topic with these leaders, -1 for none."""
    rows = [cluster_builders.partition(p, [max(b, 1)], 0, leader=b) for p, b in enumerate(leaders)]
    return TopicRow(topic=topic, partitions=rows)


def refreshed_in_thread(
    reader: Changing, refreshes: int, sleep: Callable[[float], None] = lambda _: None
) -> tuple[Asking, AskedClient]:
    """A topic's policy and its client, after so many refreshes of a thread that refreshes hourly."""
    policy, client, done = Asking(), AskedClient(), Event()
    router = TopicRouter(TOPIC, policy, lambda _: None)
    left = list(range(refreshes))

    def note_refresh(_faults: object) -> None:
        del left[:1]
        if not left:
            done.set()

    refresher = ViewRefresher(
        lambda: reader,
        lambda: (router,),
        (),
        refresh_s=3600,
        clock=lambda: 0.0,
        refreshed=note_refresh,
        failed=lambda _: None,
        sleep=sleep,
    )
    refresher.start(lambda: client)
    refresher.wake()
    assert done.wait(20)
    refresher.close()
    return policy, client


def test_a_new_topic_that_brokers_do_not_know_yet_is_read_again_at_once() -> None:
    """A topic that is being created has a view after the refresh that its first record asked for."""
    pauses: list[float] = []
    created = cluster_with(topic_led_by(1, 2))
    reader = Changing(cluster_with(), cluster_with(), created)

    policy, client = refreshed_in_thread(reader, 1, pauses.append)

    assert client.asked == [TOPIC, TOPIC]
    assert len(pauses) == 2
    assert len(policy.settled) == 1


@pytest.mark.parametrize(
    ("later_s", "topics", "readings"),
    [(4.0, ["images", "texts"], 1), (6.0, ["images", "texts"], 2), (0.0, ["images"], 2)],
    ids=["recent", "old", "before the topic"],
)
def test_a_new_topic_is_routed_by_a_recent_reading(later_s: float, topics: list[str], readings: int) -> None:
    """A program that begins to write to hundreds of topics does not wait for a reading for each of them."""
    both = [topic_led_by(1, 2, topic=topic) for topic in ("images", "texts")]
    first = cluster_with(*(row for row in both if row.topic in topics))
    reader = Counting(first, cluster_with(*both))
    now_s, shown = [0.0], Event()
    routers: list[TopicRouter] = []

    class Noting(Asking):
        def refresh(self, view: RoutingView) -> None:
            shown.set()

    refresher = ViewRefresher(
        lambda: reader, lambda: tuple(routers), (), refresh_s=3600, clock=lambda: now_s[0], failed=lambda _: None
    )
    refresher.start(lambda: None)
    for topic in ("images", "texts"):
        routers.append(TopicRouter(topic, Noting(), lambda _: None))
        refresher.add(routers[-1])
        assert shown.wait(20)
        shown.clear()
        now_s[0] += later_s
    refresher.close()

    assert reader.readings == readings


def test_a_topic_that_does_not_exist_is_asked_for_a_few_times_only() -> None:
    """The refresh ends, and with it the wait of a record, if no broker learns of the topic; later ones do not wait."""
    pauses: list[float] = []

    policy, client = refreshed_in_thread(Changing(cluster_with()), 2, pauses.append)

    assert len(client.asked) == len(pauses) == 4
    assert policy.settled == []


def test_a_topic_has_a_second_view_soon_after_its_first() -> None:
    """An hourly refresh soon reads it again, to see whether others write to it."""
    policy, _ = refreshed_in_thread(Changing(cluster_with(topic_led_by(1, 2))), 2)

    assert len(policy.settled) >= 2


def test_a_second_view_follows_a_first_that_was_read_before_the_thread_began() -> None:
    """A sender reads the cluster before its first record; an hourly refresh then soon reads it again, too."""
    policy, twice = Asking(), Event()
    router = TopicRouter(TOPIC, policy, lambda _: None)
    refresher = ViewRefresher(
        lambda: Changing(cluster_with(topic_led_by(1, 2))),
        lambda: (router,),
        (),
        refresh_s=3600,
        clock=lambda: 0.0,
        refreshed=lambda _: twice.set(),
        failed=lambda _: None,
    )
    refresher.refresh()
    refresher.start(lambda: None)
    assert twice.wait(20)
    refresher.close()

    assert len(policy.settled) >= 2


def test_partitions_without_leaders_are_soon_looked_at_again() -> None:
    """An hourly refresh is repeated within a second if a partition had no leader."""
    reader = Changing(cluster_with(topic_led_by(1, -1)), cluster_with(topic_led_by(1, 2)))

    policy, _ = refreshed_in_thread(reader, 2)

    assert len(policy.settled) >= 2


def hourly_refresher(router: TopicRouter, sleep: Callable[[float], None]) -> ViewRefresher:
    """Reads a cluster whose topic has two partitions."""
    return ViewRefresher(
        lambda: Changing(cluster_with(topic_led_by(1, 2))),
        lambda: (router,),
        (),
        refresh_s=3600,
        clock=lambda: 0.0,
        failed=lambda _: None,
        sleep=sleep,
    )


def test_a_client_that_does_not_know_new_partitions_yet_is_asked_again() -> None:
    """The broker that it asks may learn of them after the one that was read."""
    pauses: list[float] = []
    known = [1, 1, 2]

    class Slow(AskedClient):
        def list_topics(self, topic: str, _timeout_s: float) -> Any:
            self.asked.append(topic)
            return SimpleNamespace(topics={topic: SimpleNamespace(partitions=range(known.pop(0)))})

    client, policy = Slow(), Asking()
    router = TopicRouter(TOPIC, policy, lambda _: None)
    router.needs_known_partitions = True
    refresher = hourly_refresher(router, pauses.append)
    refresher.start(lambda: client)
    refresher.refresh()
    refresher.close()

    assert len(policy.settled) == 1
    assert len(pauses) == 2


def test_a_client_may_be_closed_once_it_is_released() -> None:
    """A call in flight is awaited, and no other one follows: to close a client during one crashes confluent-kafka
    2.13."""
    asked, may_answer, released = Event(), Event(), Event()
    states: list[str] = []

    class Slow(AskedClient):
        def list_topics(self, topic: str, timeout_s: float) -> Any:
            super().list_topics(topic, timeout_s)
            asked.set()
            may_answer.wait(20)
            states.append("closed" if released.is_set() else "open")

    client = Slow()
    router = TopicRouter("unknown", Asking(), lambda _: None)
    refresher = hourly_refresher(router, lambda _: None)
    refresher.start(lambda: client)
    refresher.wake()
    assert asked.wait(20)

    def release() -> None:
        refresher.release_client()
        released.set()

    thread = Thread(target=release)
    thread.start()
    assert not released.wait(0.2)
    may_answer.set()
    thread.join(20)
    assert released.is_set()
    refresher.close(20)
    assert states == ["open"]
    assert client.asked == ["unknown"]
