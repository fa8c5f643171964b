"""What routers see of a cluster that is read repeatedly."""

from __future__ import annotations

from typing import ClassVar

import pytest

from kafkabal.clusters.cluster_protocol import Reading, ReadRequest
from kafkabal.errors import OperationError
from kafkabal.model.cluster_state import I32
from kafkabal.producer.topic_router import TopicRouter
from kafkabal.producer.view_refresher import ViewRefresher
from kafkabal.routing.policy_protocol import About, Context, PolicyBase, RecordBatch
from kafkabal.routing.routing_view import RoutingView
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster


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
    refresher._revise()
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
