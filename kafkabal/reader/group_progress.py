"""How far the readers are, as offsets of a consumer group, so that lag and rates show where operators look for them."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, TopicPartition

from kafkabal.config import ConnectionSettings, librdkafka_settings
from kafkabal.reader.manifest import Manifest


class GroupProgress:
    """Commits the same part of every partition; shuffled readers are nowhere in particular in any of them."""

    def __init__(self, connection: ConnectionSettings, group: str, manifest: Manifest) -> None:
        settings = {**librdkafka_settings(connection), "group.id": group, "enable.auto.commit": False, "log_level": 2}
        self._consumer = Consumer(settings)
        self._manifest = manifest

    def commit(self, share: float) -> None:
        """Commit that this part of the epoch is done, 0 to 1; a commit that fails changes nothing for the reader."""
        offsets = [
            TopicPartition(self._manifest.topic, p.partition, p.begin + round((p.end - p.begin) * share))
            for p in self._manifest.partitions
        ]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException:
            return

    def close(self) -> None:
        """Send what is in flight, and leave."""
        self._consumer.close()
