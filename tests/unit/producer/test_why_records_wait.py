"""Why brokers acknowledge no records."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.producer.why_records_wait import why_records_wait
from kafkabal.testing.cluster_builders import brokers, cluster, partition


@pytest.mark.parametrize(
    ("waiting", "min_in_sync", "why"),
    [
        ([0], 1, "no response yet from broker 1"),
        ([1], 2, "fewer replicas in sync than min.insync.replicas=2: partition 1 (out of sync: broker 3)"),
        ([1], 1, "no response yet from broker 2"),
        # brokers require no more replicas than there are
        ([0], 4, "no response yet from broker 1"),
        ([2], 1, "no leader: partition 2"),
        # partitions that were added since, and records that have none yet
        ([4, -1], 1, ""),
        (
            [3, 2, 1, 0],
            2,
            (
                "no leader: partition 2; "
                "fewer replicas in sync than min.insync.replicas=2: partitions 1, 3 (out of sync: broker 3); "
                "no response yet from broker 1"
            ),
        ),
    ],
)
def test_reasons_name_partitions_and_brokers(waiting: list[int], min_in_sync: int, why: str) -> None:
    """Each waiting partition has one reason: no leader, too few replicas in sync, or a broker that does not respond."""
    partitions = [
        partition(0, [1, 2]),
        replace(partition(1, [2, 3]), isr=[2]),
        partition(2, [3, 1], leader=-1),
        replace(partition(3, [1, 3]), isr=[1]),
    ]
    state = cluster(brokers(3), [TopicRow(topic="images", partitions=partitions)])

    assert why_records_wait(state, "images", waiting, min_in_sync) == why
