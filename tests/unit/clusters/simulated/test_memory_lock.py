"""Locks of the simulated cluster: one holder per purpose."""

from __future__ import annotations

import pytest

from kafkabal.clusters import LockRequest
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import BusyError
from kafkabal.testing.cluster_builders import brokers, cluster, topic


@pytest.fixture
def memory() -> InMemoryCluster:
    """Three brokers."""
    return InMemoryCluster.of(cluster(brokers(3), [topic("t", (1, 2))]))


def test_purposes_do_not_keep_each_other_out(memory: InMemoryCluster) -> None:
    """A watch leaves the right to change the cluster to runs; two holders of one purpose exclude each other."""
    watching, changing = memory.lock(LockRequest("a", 30, "watch")), memory.lock(LockRequest("b", 30))

    assert watching.is_held()
    assert changing.is_held()
    with pytest.raises(BusyError):
        memory.lock(LockRequest("c", 30, "watch"))
    watching.release()
    assert memory.lock(LockRequest("c", 30, "watch")).is_held()
    assert changing.is_held()


def test_response_times_are_those_of_live_brokers(memory: InMemoryCluster) -> None:
    """A hanging broker has none, and a dead one is not listed."""
    memory.kafka.pause(2)
    memory.kafka.kill(3)

    found = memory.response_times(5.0)

    assert found[1] == (pytest.approx(0.002), 0.0)
    assert found.get(2) is None
    assert 3 not in found
