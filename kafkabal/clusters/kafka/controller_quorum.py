"""Which nodes vote for the controller (KRaft, KIP-595): a broker among them does more than store data."""

from __future__ import annotations

from kafka.protocol.admin import DescribeQuorumRequest

from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.errors import KafkabalError

_TOPIC = "__cluster_metadata"


def quorum_voters(client: KafkaClient) -> frozenset[int] | None:
    """Node ids; None if the cluster has no such quorum (ZooKeeper), or does not report it."""
    if not client.supports(DescribeQuorumRequest):
        return None
    try:
        response = client.call_any(quorum_request())
    except KafkabalError:
        return None
    voters = [
        voter.replica_id
        for found in response.topics or ()
        for partition in found.partitions
        if not partition.error_code
        for voter in partition.current_voters
    ]
    return frozenset(voters) if voters and not response.error_code else None


def quorum_request() -> DescribeQuorumRequest:
    """The request for the quorum of the cluster's metadata."""
    topic = DescribeQuorumRequest.TopicData
    return DescribeQuorumRequest(topics=[topic(topic_name=_TOPIC, partitions=[topic.PartitionData(partition_index=0)])])
