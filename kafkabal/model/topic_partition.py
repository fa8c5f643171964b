"""The identity of a partition in all modules: the topic's name and the partition's number."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition by name; its text is ``topic-partition``, as in Kafka's own tools."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
