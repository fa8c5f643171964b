"""Which log dirs Kafka lets be chosen, and what may stay on a broker that takes nothing."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.eligibility import can_choose_log_dir, room_for_replicas, with_choosable_log_dir
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


@pytest.mark.parametrize(
    ("length", "number", "can"), [(213, 0, True), (213, 9, True), (213, 10, False), (214, 0, False), (1, 10**6, True)]
)
def test_no_log_dir_is_chosen_for_the_longest_names(length: int, number: int, can: bool) -> None:
    """A name that leaves no room for the folder of a copy between log dirs, alone and in the columns of a cluster."""
    name = "x" * length
    assert can_choose_log_dir(name, number) is can
    rows = [TopicRow(topic=name, partitions=[partition(number, [1], 0)])]
    assert np.array_equal(with_choosable_log_dir(cluster(brokers(1), rows)), [can])


@pytest.mark.parametrize(("placed_in", "total_gb", "stays_gb"), [(0, 1000, 3), (-1, 1000, 3), (-1, 2, 1)])
def test_what_a_cordoned_broker_holds_may_stay(placed_in: int, total_gb: int, stays_gb: int) -> None:
    """A replica of unknown size counts as the other copy does, in whichever dir it is; no dir goes over its limit."""
    first, second = brokers(2, dir_bytes=total_gb * GB)
    second = msgspec.structs.replace(
        second, log_dirs=[msgspec.structs.replace(d, state="cordoned") for d in second.log_dirs]
    )
    unknown = msgspec.structs.replace(partition(0, [1, 2], 2 * GB), sizes=[2 * GB, -1], log_dirs=[0, placed_in])
    rows = [TopicRow(topic="t", partitions=[unknown, partition(1, [1, 2], GB)])]

    assert room_for_replicas(cluster([first, second], rows), 0.5)[1] == stays_gb * GB
