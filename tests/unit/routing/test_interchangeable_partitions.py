"""Groups of partitions that are the same to all brokers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kafkabal.routing.interchangeable_partitions import interchangeable_partitions
from kafkabal.routing.routing_view import RoutingView


def test_a_group_has_one_leader_and_one_set_of_replicas(view_over: Callable[..., RoutingView]) -> None:
    """Two partitions are in one group exactly if their leaders and their sets of replicas are equal."""
    view = view_over(brokers=5, partitions=200, replication_factor=2)
    group = interchangeable_partitions(view)
    assert group is not None
    replicas = [frozenset(view.replica_broker[view.replica_partition == p].tolist()) for p in range(200)]
    named = list(zip(view.leader.tolist(), replicas, strict=True))
    assert len(set(zip(group.tolist(), named, strict=True))) == len(set(named)) == len(set(group.tolist()))
    assert sorted(set(group.tolist())) == list(range(group.max() + 1))


def test_a_partition_without_a_leader_is_in_no_group(view_over: Callable[..., RoutingView]) -> None:
    """It gets no records, whatever its replicas are."""
    view = view_over(brokers=3, partitions=120)
    leader = np.where(np.arange(120) == 7, -1, view.leader).astype(np.int32)
    group = interchangeable_partitions(replace(view, leader=leader))
    assert group is not None
    assert np.flatnonzero(group < 0).tolist() == [7]


def test_few_partitions_and_small_groups_do_not_pay_off(view_over: Callable[..., RoutingView]) -> None:
    """A hundred partitions soon have batches of all; on 40 brokers, each of 120 partitions is nearly alone."""
    assert interchangeable_partitions(view_over(brokers=3, partitions=100)) is None
    assert interchangeable_partitions(view_over(brokers=40, partitions=120, replication_factor=3)) is None
