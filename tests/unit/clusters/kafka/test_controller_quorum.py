"""What the controllers of a cluster report of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.admin import DescribeQuorumRequest, DescribeQuorumResponse

from kafkabal.clusters.kafka.cluster import KafkaCluster
from tests.unit.clusters.kafka.conftest import VERSIONS

_TOPIC = DescribeQuorumResponse.TopicData


def _quorum(caught_up_ms: dict[int, int], leader: int = 4, error_code: int = 0) -> Callable[[Any], Any]:
    """The answer of a cluster whose voters caught up at these times."""
    partition = _TOPIC.PartitionData
    voters = [
        partition.ReplicaState(replica_id=voter, last_caught_up_timestamp=at_ms, last_fetch_timestamp=at_ms)
        for voter, at_ms in caught_up_ms.items()
    ]
    found = partition(partition_index=0, error_code=error_code, leader_id=leader, current_voters=voters, observers=[])
    return lambda request: DescribeQuorumResponse(
        error_code=0, topics=[_TOPIC(topic_name="__cluster_metadata", partitions=[found])], nodes=[]
    )


@pytest.fixture
def cluster(fake_cluster: Any) -> Any:
    """A broker of a cluster in KRaft mode."""
    return fake_cluster(1)


def test_the_voters_are_named(cluster: Any) -> None:
    """All of them; none are known if the quorum cannot be described."""
    cluster.answer("DescribeQuorum", _quorum({4: 1, 5: 1, 6: -1}))
    with KafkaCluster(cluster.settings()) as kafka:
        assert kafka.quorum_voters() == {4, 5, 6}
        cluster.answer("DescribeQuorum", _quorum({4: 1}, error_code=29))
        assert kafka.quorum_voters() is None


def test_the_time_of_the_controller_is_that_of_the_leading_voter(cluster: Any) -> None:
    """The others lag behind it; -1 stands for a time that is not known."""
    cluster.answer("DescribeQuorum", _quorum({5: 1_000, 4: 9_000, 6: 2_000}))
    with KafkaCluster(cluster.settings()) as kafka:
        assert kafka.controller_time_s() == 9.0
        cluster.answer("DescribeQuorum", _quorum({4: -1}))
        assert kafka.controller_time_s() is None


def test_a_cluster_without_a_quorum_reports_neither(fake_cluster: Any) -> None:
    """A cluster with ZooKeeper does not know the request."""
    before = {key: known for key, known in VERSIONS.items() if key != DescribeQuorumRequest.API_KEY}
    with KafkaCluster(fake_cluster(1, versions=before).settings()) as kafka:
        assert (kafka.quorum_voters(), kafka.controller_time_s()) == (None, None)
