"""The report on whether brokers can be drained."""

from __future__ import annotations

import pytest

from kafkabal.planner import check_drain
from kafkabal.reporting.drain_report import drain_report
from kafkabal.testing.cluster_builders import brokers, cluster, topic


@pytest.mark.parametrize(
    ("drained", "headline"),
    [({3}, "broker 3: holds no replicas"), ({3, 4}, "brokers 3, 4: hold no replicas")],
)
def test_brokers_without_replicas(drained: set[int], headline: str) -> None:
    """One broker or several: the verb agrees."""
    found = check_drain(cluster(brokers(4), [topic("t", [1, 2])]), drained, throttle_bytes_per_s=1.0)
    assert drain_report(found, 1.0, is_assumed=False).headline == headline
