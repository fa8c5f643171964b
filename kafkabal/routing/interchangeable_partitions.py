"""Groups the partitions of a topic that are the same to all brokers: one leader, and one set of replicas."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.routing.routing_view import RoutingView

_MANY_PARTITIONS = 100
"""The most partitions that are not grouped: a topic of so few soon has batches of all of them anyway."""
_LEAST_PER_GROUP = 4
"""Partitions per group, in the mean, for groups to be worth it: slots of groups are shorter than those of brokers."""


def interchangeable_partitions(view: RoutingView) -> I32 | None:
    """The group of each partition, numbered from 0, and -1 for one without a leader; None if groups do not pay off."""
    if view.n_partitions <= _MANY_PARTITIONS:
        return None
    # equal sets have equal sums of random numbers, others do not: 62 bits
    number: I64 = np.random.default_rng(0).integers(2**62, size=(2, view.n_brokers), dtype=np.int64)
    sums = np.zeros(view.n_partitions, np.int64)
    np.add.at(sums, view.replica_partition, number[0, view.replica_broker])
    led = view.leader >= 0
    found, group_of_led = np.unique((sums + number[1, view.leader])[led], return_inverse=True)
    if _LEAST_PER_GROUP * len(found) > view.n_partitions:
        return None
    group = np.full(view.n_partitions, -1, np.int32)
    group[led] = group_of_led
    return group


def sums_by(group: I32, values: F64) -> F64:
    """float64, shape (n_groups,): sums over the partitions of each group."""
    led = group >= 0
    return np.bincount(group[led], values[led]).astype(np.float64)
