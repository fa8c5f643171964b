"""Sizes of replicas: what is known, and what is estimated from other copies."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.replica_sizes import is_estimated, replica_bytes
from kafkabal.testing.cluster_builders import brokers, cluster, partition


@pytest.mark.parametrize(
    ("sizes", "estimated", "counted"),
    [
        ([5, 5], [False, False], [5, 5]),
        ([0, 0], [False, False], [0, 0]),  # empty is known
        ([5, None], [False, True], [5, 5]),
        ([None, 5], [True, False], [5, 5]),
        ([None, None], [True, True], [0, 0]),
    ],
)
def test_an_unknown_size_is_that_of_another_copy(
    sizes: list[int | None], estimated: list[bool], counted: list[int]
) -> None:
    """It is marked as an estimate, and 0 if no copy has a known size."""
    rows = [replace(partition(0, (1, 2)), sizes=sizes)]
    state = cluster(brokers(2), [TopicRow(topic="t", partitions=rows)])
    assert is_estimated(state).tolist() == estimated
    assert replica_bytes(state).tolist() == counted
