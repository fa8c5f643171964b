"""A single topic as brokers describe it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.metadata import MetadataResponse

from kafkabal.clusters.cluster_protocol import TopicDescription
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.errors import NotAuthorizedError, UnreachableError, unknown_topic

_TOPIC_ID = UUID("fb4f1c2e-9a3b-4cfe-bf7d-3e1a0c5b7ffe")
_AS_KAFKA_WRITES_IT = "-08cLpo7TP6_fT4aDFt__g"


def topic_of(name: str, error_code: int = 0) -> Any:
    """A topic of two partitions, as metadata has it."""
    kind = MetadataResponse.MetadataResponseTopic
    partitions = [
        kind.MetadataResponsePartition(partition_index=p, leader_id=1, replica_nodes=[1], isr_nodes=[1])
        for p in range(0 if error_code else 2)
    ]
    return kind(error_code=error_code, name=name, topic_id=_TOPIC_ID, partitions=partitions)


@pytest.mark.parametrize("dead", [1, 2, 3])
def test_any_live_broker_describes_a_topic(fake_cluster: Callable[..., Any], dead: int) -> None:
    """Id, partitions and cluster are known whichever broker is down, before or after the first request."""
    cluster = fake_cluster(3)
    cluster.topics = [topic_of("images")]
    with KafkaCluster(cluster.settings()) as asked_before, KafkaCluster(cluster.settings()) as asked_first:
        expected = TopicDescription(cluster_id="fake", topic_id=_AS_KAFKA_WRITES_IT, partitions=2)
        assert asked_before.describe_topic("images", 2.0) == expected
        cluster.controller = dead
        cluster.brokers[dead].close()
        assert asked_before.describe_topic("images", 2.0) == expected
        assert asked_first.describe_topic("images", 2.0) == expected


@pytest.mark.parametrize("error_code", [3, 17])
def test_a_missing_topic_is_not_an_error(fake_cluster: Callable[..., Any], error_code: int) -> None:
    """Brokers that know the cluster say that the topic does not exist, or that its name is invalid."""
    cluster = fake_cluster(1)
    cluster.strangers = [topic_of("images", error_code=error_code)]
    with KafkaCluster(cluster.settings()) as kafka:
        assert kafka.describe_topic("images", 2.0) is None


@pytest.mark.parametrize("name", ["\udc80", "a\0b", "x" * 40_000])
def test_a_name_that_no_topic_can_have_is_not_sent(fake_cluster: Callable[..., Any], name: str) -> None:
    """It may not fit into a request; the error names it, and is one line of bearable length."""
    with KafkaCluster(fake_cluster(1).settings()) as kafka:
        assert kafka.describe_topic(name, 2.0) is None
    error = unknown_topic(name)
    assert len(error.message.encode()) < 300
    assert len(error.hint or "") < 100


def test_topics_are_not_taken_from_a_broker_that_knows_no_brokers_yet(fake_cluster: Callable[..., Any]) -> None:
    """A broker that has just started and knows nothing yet does not make a topic disappear."""
    cluster = fake_cluster(1)
    cluster.answer("Metadata", lambda request: MetadataResponse(brokers=[], topics=[topic_of("images", error_code=3)]))
    with (
        KafkaCluster(cluster.settings()) as kafka,
        pytest.raises(UnreachableError, match="has no cluster metadata yet"),
    ):
        kafka.describe_topic("images", 2.0)


def test_a_topic_that_may_not_be_described_is_an_error(fake_cluster: Callable[..., Any]) -> None:
    """A missing permission is reported as such, and not as a deleted topic."""
    cluster = fake_cluster(1)
    cluster.strangers = [topic_of("images", error_code=29)]
    with (
        KafkaCluster(cluster.settings()) as kafka,
        pytest.raises(NotAuthorizedError, match="cannot describe topic images"),
    ):
        kafka.describe_topic("images", 2.0)
