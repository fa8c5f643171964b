"""Messages of Kafka's protocol that kafka-python lacks; the JSON files in this folder describe them."""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


# kafka-python is untyped, and takes the package of the description as a class keyword
class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg,misc]
    """Asks a coordinator for the progress of share groups (KIP-932)."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg,misc]
    """The start offset of every share partition: all records before it are done."""


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg,misc]
    """Asks a coordinator for the members of groups of the consumer protocol (KIP-848)."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg,misc]
    """Every member with its client, host and rack."""
