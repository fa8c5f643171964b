"""The identity of a partition, the same in every room: the topic's name and the partition's number."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition by name; as text ``topic-partition``, as Kafka's own tools write it."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
