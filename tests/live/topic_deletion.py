"""Deletes a topic reliably for a test."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient

from kafkabal.sandbox import WaitLimit


def delete_topic(servers: str, topic: str) -> None:
    """Delete a topic, and return once every broker knows: until then some still serve its records."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([topic])[topic].result()
    assert WaitLimit(deadline_s=60.0).until(
        lambda: not any(_is_known_to(address, topic) for address in servers.split(","))
    )


def _is_known_to(address: str, topic: str) -> bool:
    # a new client queries the only broker that it knows
    return topic in AdminClient({"bootstrap.servers": address}).list_topics(timeout=30).topics
