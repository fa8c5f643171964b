"""The name that each record carries in a header, by which a later run finds it in the topic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kafkabal.producer.send_manifest import SendManifest

if TYPE_CHECKING:
    from confluent_kafka import Message

RECORD_HEADER: Final = "kafkabal-record"
"""Header that names a record: the id of its manifest, a slash, and its number."""

# names of records are made a thousand at a time
_THOUSAND = [b"%03d" % number for number in range(1000)]


def found_records(manifest: SendManifest, messages: Iterable[Message]) -> dict[int, int]:
    """Numbers of the records of this manifest among some messages, each with the hash of its value in this process."""
    prefix = f"{manifest.header.id}/"
    found = {}
    for message in messages:
        for name, value in list(message.headers() or ()):
            text = value.decode("ascii", "replace") if isinstance(value, bytes) else ""
            if name == RECORD_HEADER and text.startswith(prefix):
                found[int(text.removeprefix(prefix))] = hash(message.value())
    return found


def record_names(prefix: bytes, numbers: Sequence[int]) -> list[bytes]:
    """The prefix and the number of each record, in decimal."""
    first, end = numbers[0], numbers[-1] + 1
    if end - first != len(numbers):
        return [b"%b%d" % (prefix, number) for number in numbers]
    names = [b"%b%d" % (prefix, number) for number in range(first, min(end, 1000))]
    for thousand in range(max(first, 1000) // 1000, (end + 999) // 1000):
        head, below = b"%b%d" % (prefix, thousand), 1000 * thousand
        names += [head + tail for tail in _THOUSAND[max(first - below, 0) : end - below]]
    return names
