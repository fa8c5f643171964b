"""Producer settings that follow from the topic."""

from __future__ import annotations

from math import inf
from pathlib import Path
from time import monotonic

import pytest
from confluent_kafka import Producer

from kafkabal.producer.produce_session import ProduceOrder, policy_context, topic_settings
from kafkabal.producer.topic_facts import TopicFacts
from kafkabal.routing import load_policy
from kafkabal.sources import FolderSource, Listing, Part


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


def test_the_policy_knows_how_much_a_data_set_has(tmp_path: Path) -> None:
    """All bytes of its files, so that brokers are even after the last one; of a stream nothing is known."""
    order = ProduceOrder(
        topic="t", source=FolderSource(tmp_path), policy=load_policy("score"), client={}, refresh_s=5.0, seed=3
    )
    files, stream = [Part(name="a", size_bytes=100), Part(name="b", size_bytes=20)], [Part(name="-")]
    contexts = [policy_context(order, Listing(parts), monotonic) for parts in (files, stream)]
    assert [context.expected_bytes for context in contexts] == [120, inf]
    assert {context.seed for context in contexts} == {3}
