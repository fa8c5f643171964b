"""Which log dirs Kafka lets be chosen."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.eligibility import can_choose_log_dir, with_choosable_log_dir
from kafkabal.testing.cluster_builders import brokers, cluster, partition


@pytest.mark.parametrize(
    ("length", "number", "can"), [(213, 0, True), (213, 9, True), (213, 10, False), (214, 0, False), (1, 10**6, True)]
)
def test_no_log_dir_is_chosen_for_the_longest_names(length: int, number: int, can: bool) -> None:
    """A name that leaves no room for the folder of a copy between log dirs, alone and in the columns of a cluster."""
    name = "x" * length
    assert can_choose_log_dir(name, number) is can
    rows = [TopicRow(topic=name, partitions=[partition(number, [1], 0)])]
    assert np.array_equal(with_choosable_log_dir(cluster(brokers(1), rows)), [can])
