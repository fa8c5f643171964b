"""What must be known of a topic before records are sent to it: its id, partitions and limits."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from kafkabal.clusters import ConfigResource, ConfigValue, Fault, ResourceKind, TopicDescription
from kafkabal.config import ANSWER_S
from kafkabal.errors import UnreachableError, unknown_topic
from kafkabal.model import CLEANUP_POLICY, COMPRESSION_TYPE, MAX_MESSAGE_BYTES, MIN_INSYNC_REPLICAS

_CHECK_TIMEOUT_S = 2.0
"""Timeout of a check during sending, which must not be delayed; the next check follows within seconds."""
_DEFAULT_MAX_BYTES = 1_048_588
"""Kafka's default of max.message.bytes: 1 MiB plus the 12 bytes in front of a batch."""
# compression.type of a topic: brokers recompress, at their own cost, whatever is compressed otherwise
_COMPRESSIONS = {name: name for name in ("gzip", "snappy", "lz4", "zstd")} | {"uncompressed": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """The current state of a topic."""

    cluster_id: str
    topic: str
    topic_id: str
    partitions: int
    max_record_bytes: int
    """``max.message.bytes``, or Kafka's default if it cannot be read."""
    is_compacted: bool
    min_in_sync: int = 1
    """``min.insync.replicas``, or Kafka's default if it cannot be read."""
    compression: str | None = None
    """The topic's compression, by librdkafka's name; None leaves it to the producer."""


class TopicDescriber(Protocol):
    """Connections to live brokers; any of them can describe a topic."""

    def describe_topic(self, topic: str, deadline_s: float) -> TopicDescription | None:
        """A topic as described by whichever broker responds; None if it does not exist."""

    def topic_names(self) -> Collection[str]:
        """The topics that there are."""

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Values of some keys, and the resources that did not respond."""


def topic_facts(brokers: TopicDescriber, topic: str) -> TopicFacts:
    """The current state of the topic.

    Raises
    ------
    UsageError
        If the topic is unknown.
    KafkabalError
        If no broker responds, or they refuse.
    """
    described = brokers.describe_topic(topic, ANSWER_S)
    if described is None:
        raise unknown_topic(topic, brokers.topic_names())
    configs = _configs(brokers, topic)
    return TopicFacts(
        cluster_id=described.cluster_id,
        topic=topic,
        topic_id=described.topic_id,
        partitions=described.partitions,
        max_record_bytes=int(configs.get(MAX_MESSAGE_BYTES) or _DEFAULT_MAX_BYTES),
        min_in_sync=int(configs.get(MIN_INSYNC_REPLICAS) or 1),
        is_compacted="compact" in configs.get(CLEANUP_POLICY, ""),
        compression=_COMPRESSIONS.get(configs.get(COMPRESSION_TYPE, "")),
    )


def current_topic_id(brokers: TopicDescriber, topic: str) -> str | None:
    """The current id of the topic, None if it does not exist; asked during sending, so it waits for seconds only.

    Raises
    ------
    KafkabalError
        If no broker responds, or they refuse.
    """
    described = brokers.describe_topic(topic, _CHECK_TIMEOUT_S)
    return None if described is None else described.topic_id


def _configs(brokers: TopicDescriber, topic: str) -> Mapping[str, str]:
    """The settings needed here; none if the principal may write but not describe them."""
    resource = ConfigResource(ResourceKind.TOPIC, topic)
    keys = [MAX_MESSAGE_BYTES, CLEANUP_POLICY, COMPRESSION_TYPE, MIN_INSYNC_REPLICAS]
    found, faults = brokers.configs([resource], keys)
    if resource in faults and faults[resource].retriable:
        raise UnreachableError(f"topic {topic}: cannot read its configs: {faults[resource]}")
    return {key: config.value or "" for key, config in found.get(resource, {}).items()}
