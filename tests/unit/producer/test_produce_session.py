"""Producer settings that follow from the topic."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from kafkabal.producer.produce_session import topic_settings
from kafkabal.producer.topic_facts import TopicFacts


@pytest.mark.parametrize("compression", [None, "lz4", "none"])
def test_records_are_compressed_as_the_topic_keeps_them(compression: str | None) -> None:
    """The producer uses the topic's compression, so that brokers need not compress again."""
    facts = TopicFacts(
        cluster_id="c",
        topic="t",
        topic_id="T",
        partitions=1,
        max_record_bytes=1_000_000,
        is_compacted=False,
        compression=compression,
    )
    assert topic_settings(facts).get("compression.type") == compression


@pytest.mark.parametrize("max_record_bytes", [0, 500, 2**31 - 1])
def test_a_topic_may_allow_records_beyond_the_range_of_the_client(max_record_bytes: int) -> None:
    """librdkafka accepts the settings whatever max.message.bytes the topic has."""
    facts = TopicFacts(
        cluster_id="c",
        topic="t",
        topic_id="T",
        partitions=1,
        max_record_bytes=max_record_bytes,
        is_compacted=False,
    )
    Producer({**topic_settings(facts), "log_level": 0})
