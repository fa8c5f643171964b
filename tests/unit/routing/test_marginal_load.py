"""What one more byte adds to each holder, and what each is due of it."""

from __future__ import annotations

import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.routing.marginal_load import loads_by_score
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.cluster_builders import brokers, cluster, partition, topic


def test_bytes_of_internal_topics_do_not_decide_what_brokers_are_due() -> None:
    """Brokers 1 and 4 share a rack, so each is due half of what the others are, though only one holds an offset."""
    internal = TopicRow(topic="__offsets", partitions=[partition(0, (1, 2, 3), 1000)], internal=True)
    state = cluster(brokers(4, racks=3), [internal, topic("t", (1, 2, 3), (4, 2, 3), size_bytes=1)])
    (disk,) = load_scores(["disk"])

    due = loads_by_score(disk, state).of_topic(1, 3).capacity
    assert (due / due[0]).tolist() == pytest.approx([1, 2, 2, 1])


def test_bytes_that_followers_have_yet_to_fetch_count_on_them() -> None:
    """A follower that lags has the load that it will have once it has caught up: its leader's copy already shows those
    bytes, so they count as written nowhere else."""
    (disk,) = load_scores(["disk"])
    caught_up = partition(0, (1, 2), 3000)
    lagging = partition(0, (1, 2), 3000)
    lagging.sizes[1] = 1000
    other = topic("other", (3, 1), size_bytes=500)

    loads = [
        loads_by_score(disk, cluster(brokers(3), [other, TopicRow(topic="t", partitions=[row])])).of_topic(1, 2).load
        for row in (caught_up, lagging)
    ]
    assert loads[1].tolist() == pytest.approx(loads[0].tolist())
