"""Subscriptions to metrics of clients (KIP-714), listed as KIP-1142 does."""

from __future__ import annotations

from kafka.protocol.admin import ListConfigResourcesRequest

from kafkabal.clusters.kafka.error_mapping import check
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.errors import MissingCapabilityError

_CLIENT_METRICS = 16


def client_metrics_subscriptions(client: KafkaClient) -> tuple[str, ...]:
    """Names of all subscriptions, sorted.

    Raises
    ------
    MissingCapabilityError
        If the brokers are older than Kafka 3.7, or run with ZooKeeper.
    NotAuthorizedError
        If the principal may not describe the cluster's configs.
    """
    if not client.supports(ListConfigResourcesRequest, 0):
        raise MissingCapabilityError(
            "client metrics subscriptions not supported by these brokers",
            hint="they require Kafka 3.7 or later in KRaft mode",
        )
    response = client.call_any(ListConfigResourcesRequest(resource_types=[_CLIENT_METRICS]))
    check(response.error_code, "list the subscriptions to client metrics", permission="DESCRIBE_CONFIGS on the cluster")
    return tuple(sorted(resource.resource_name for resource in response.config_resources))
