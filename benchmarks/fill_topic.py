"""Fills topics that are read or written to afterwards; nothing of it is measured."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import Producer


def fill_topic(producer: Producer, topic: str, records: Iterable[tuple[bytes, int]]) -> None:
    """Send values, each to its partition, and wait until brokers have them."""
    for value, partition in records:
        while True:
            try:
                producer.produce(topic, value, partition=partition)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()
