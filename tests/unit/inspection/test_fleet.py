"""The figures of a cluster beside others."""

from __future__ import annotations

from kafkabal.inspection.fleet import cluster_figures
from kafkabal.inspection.inspection import inspect_cluster
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def test_a_topic_of_one_partition_is_not_the_worst_of_a_balanced_cluster() -> None:
    """Its replicas are on some brokers and not on others: the skew shown is that of the amounts."""
    data = topic("data", *[(1, 2), (2, 3), (3, 1)] * 4, size_bytes=10**9)
    figures = cluster_figures(inspect_cluster(cluster(brokers(3), [data, topic("single", (1,), size_bytes=10**7)])))

    assert figures.worst_score != "topic-spread"
    assert figures.skew is not None
    assert figures.skew < 0.1
