"""Producer settings that follow from the topic."""

from __future__ import annotations

import pytest

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
