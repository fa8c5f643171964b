"""The response to a fetch request for one topic, parsed in place: the records stay where they were received."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from kafkabal.clusters.kafka.error_mapping import NO_ERROR

OLDEST_VERSION: Final = 7
NEWEST_VERSION: Final = 17
_FIRST_FLEXIBLE, _FIRST_WITH_IDS, _FIRST_WITH_REPLICA = 12, 13, 11

_HEAD = struct.Struct(">ihi")
_PARTITION = struct.Struct(">ihqqq")
_ABORTED = struct.Struct(">qq")
_ID_BYTES, _REPLICA_BYTES = 16, 4


@dataclass(frozen=True, slots=True)
class PartitionResponse:
    """What a broker returns for a partition."""

    error_code: int
    records: memoryview
    aborted: tuple[tuple[int, int], ...] = ()
    """Producer id and first offset of the aborted transactions in it, by offset."""
    throttle_ms: int = 0
    """How long the broker ignores further requests on this connection, because a quota is exceeded."""


def fetch_response(frame: memoryview, version: int) -> PartitionResponse:
    """The response for the only partition that was requested; see :func:`fetch_responses`."""
    found = fetch_responses(frame, version)
    return next(iter(found.partitions.values()), found.whole)


@dataclass(frozen=True, slots=True)
class TopicResponse:
    """What a broker returns for several partitions of a topic."""

    whole: PartitionResponse
    """What applies to all of them, such as a throttle; without records."""
    partitions: dict[int, PartitionResponse]


def fetch_responses(frame: memoryview, version: int) -> TopicResponse:
    """Parse a response of version 7 (Kafka 1.1) to 17; layout: ``FetchResponse.json`` of Apache Kafka.

    Raises
    ------
    struct.error, IndexError
        If it is malformed.
    """
    cursor = _Cursor(frame, 4, flexible=version >= _FIRST_FLEXIBLE)
    cursor.tags()
    throttle_ms, error_code, _ = cursor.take(_HEAD)
    whole = PartitionResponse(error_code, frame[:0], throttle_ms=throttle_ms)
    if error_code != NO_ERROR or not cursor.length():
        return TopicResponse(whole, {})
    cursor.skip(_ID_BYTES if version >= _FIRST_WITH_IDS else cursor.length(of_text=True))
    return TopicResponse(whole, dict(_partition(cursor, frame, version, throttle_ms) for _ in range(cursor.length())))


def _partition(cursor: _Cursor, frame: memoryview, version: int, throttle_ms: int) -> tuple[int, PartitionResponse]:
    partition, error_code, _, _, _ = cursor.take(_PARTITION)
    aborted = []
    for _ in range(cursor.length()):
        producer, first = cursor.take(_ABORTED)
        aborted.append((producer, first))
        cursor.tags()
    if version >= _FIRST_WITH_REPLICA:
        cursor.skip(_REPLICA_BYTES)
    size = cursor.length()
    records = frame[cursor.at : cursor.at + size]
    cursor.skip(size)
    cursor.tags()
    by_offset = tuple(sorted(aborted, key=lambda each: each[1]))
    return partition, PartitionResponse(error_code, records, by_offset, throttle_ms)


class _Cursor:
    """The read position in a frame."""

    def __init__(self, frame: memoryview, at: int, *, flexible: bool) -> None:
        self._frame = frame
        self._flexible = flexible
        self.at = at

    def take(self, layout: struct.Struct) -> tuple[int, ...]:
        """Read fixed-size fields."""
        found: tuple[int, ...] = layout.unpack_from(self._frame, self.at)
        self.at += layout.size
        return found

    def skip(self, size: int) -> None:
        """Skip this many bytes."""
        self.at += size

    def length(self, *, of_text: bool = False) -> int:
        """Read the length of an array, text or bytes; 0 if it is null."""
        if self._flexible:
            return max(0, self._varint() - 1)
        (count,) = self.take(struct.Struct(">h" if of_text else ">i"))
        return max(0, count)

    def tags(self) -> None:
        """Skip tagged fields, which older versions do not have."""
        for _ in range(self._varint() if self._flexible else 0):
            self._varint()
            self.skip(self._varint())

    def _varint(self) -> int:
        number, shift = 0, 0
        while True:
            b = self._frame[self.at]
            self.at += 1
            number |= (b & 0x7F) << shift
            if b < 0x80:
                return number
            shift += 7
