"""The two thresholds of a watch: a broker filled up to the inner one is inside the outer one."""

from __future__ import annotations

import pytest

from kafkabal.inspection import inspect_cluster
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.watch.state_findings import find


@pytest.mark.parametrize(("on_first", "is_found"), [(11, False), (12, True)])
def test_a_topic_has_two_thresholds(on_first: int, is_found: bool) -> None:
    """Four brokers may hold 11 of 40 replicas; when a fifth joins that is one too many, which may not cause a move."""
    rows = [(1,)] * on_first + [(2 + n % 4,) for n in range(40 - on_first)]
    state = cluster(brokers(5), [topic("t", *rows)])
    by_inner = {s.score.name for s in inspect_cluster(state, tolerance=0.20).scored if s.evaluation.outside.any()}

    assert "topic-spread" in by_inner
    assert ("topic-spread" in find(state, 0.20).imbalanced) is is_found
