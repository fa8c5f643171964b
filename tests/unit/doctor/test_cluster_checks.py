"""What the checks of a live cluster conclude from what its brokers respond."""

from __future__ import annotations

import pytest

from kafkabal.clusters.kafka.broker_reachability import BrokerReachability
from kafkabal.doctor.cluster_checks import _check_versions
from kafkabal.errors import UnreachableError


def _broker(release: str) -> BrokerReachability:
    """A broker that responds; an empty release stands for one that does not."""
    if not release:
        return BrokerReachability(address="b:9092", response_s=None, versions={}, error=UnreachableError("hangs"))
    return BrokerReachability(address="b:9092", response_s=0.01, release=release, versions={3: (0, int(release[-1]))})


@pytest.mark.parametrize(
    ("releases", "detail"),
    [
        (["4.1", "4.1"], "all brokers run Kafka 4.1"),
        (["4.1", "", "4.1"], "2 of 3 brokers responded; they run Kafka 4.1"),
        (["4.0", "", "4.1"], "brokers run different versions: Kafka 4.0, 4.1"),
        ([""], "no broker responds"),
    ],
)
def test_versions_are_stated_of_brokers_that_responded(releases: list[str], detail: str) -> None:
    """During a rolling upgrade, the broker that does not respond may be the one with another version."""
    assert _check_versions([_broker(release) for release in releases]).detail == detail
