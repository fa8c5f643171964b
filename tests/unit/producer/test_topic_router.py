"""The single code path from the records of a topic to their partitions."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.producer.topic_router import TopicRouter
from kafkabal.routing.policy_protocol import About, Context, PolicyBase, RecordBatch
from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import RoutingView, view_of
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster


def view(partitions: int) -> RoutingView:
    """A topic with this many partitions."""
    return view_of(build_workload_cluster(WorkloadCluster(brokers=3, partitions=partitions)), TOPIC)


def test_a_block_goes_where_its_records_would_go_one_by_one() -> None:
    """Routing a block picks the same partitions as routing its records one by one."""
    sizes = [100 + 37 * (i % 11) for i in range(5000)]
    together, each = (
        TopicRouter(TOPIC, load_policy("score").create(Context(seed=3)), lambda _: None) for _ in range(2)
    )
    for router in (together, each):
        router.show(view(8), 0)

    assert together.pick_batch(np.array(sizes), 0.0).tolist() == [each.pick(None, size_bytes) for size_bytes in sizes]


def test_a_partition_that_is_new_can_settle_as_soon_as_the_policy_knows_it() -> None:
    """A new partition has its counter before the policy can pick it, since another thread picks for records."""

    class Eager(PolicyBase):
        """Sends to the last partition while it receives a view."""

        about: ClassVar = About(name="eager", meaning="", source="test", asks_what_settled=True)

        def refresh(self, view: RoutingView) -> None:
            """Settle a record."""
            router.settle(view.n_partitions - 1, 10)

        def pick(self, key: bytes | None, size_bytes: int) -> int:
            """Never called."""
            raise AssertionError

        def pick_batch(self, records: RecordBatch, out: object) -> None:
            """Never called."""
            raise AssertionError

    router = TopicRouter(TOPIC, Eager(Context()), lambda _: None)
    router.show(view(4), 0)
    router.show(view(6), 0)
    router.begin_reading()
    router.show(view(6), 0)

    assert router.view is not None
    assert router.view.settled_bytes is not None
    assert router.view.settled_bytes.tolist() == [0, 0, 0, 10, 0, 10]
