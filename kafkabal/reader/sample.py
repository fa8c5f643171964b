"""A record as the trainer gets it."""

from __future__ import annotations

from typing import Any

from kafkabal.clusters.kafka import Headers, RawRecord, unpack_headers
from kafkabal.sources import LABEL_HEADER, PATH_HEADER


class Sample:
    """A record, and what was made of it; headers are unpacked when they are asked for."""

    __slots__ = ("_packed_headers", "decoded", "key", "offset", "partition", "timestamp", "value")

    def __init__(self, partition: int, record: RawRecord) -> None:
        self.partition = partition
        self.offset, self.timestamp, self.key, value, self._packed_headers = record
        self.value: bytes = value or b""
        """Empty for a record without value."""
        self.decoded: Any = None
        """What the decoder returned, None without one."""

    def __repr__(self) -> str:
        return f"Sample({self.partition}@{self.offset}, {len(self.value)} bytes)"

    @property
    def headers(self) -> Headers:
        """Names and values, in the order of the record; a name may occur twice."""
        return unpack_headers(self._packed_headers)

    @property
    def path(self) -> str | None:
        """Path of the file within its data set, where ``kafkabal produce`` sent it."""
        return self._text(PATH_HEADER)

    @property
    def label(self) -> str | None:
        """First folder of the path."""
        return self._text(LABEL_HEADER)

    def _text(self, name: str) -> str | None:
        found = next((value for header, value in self.headers if header == name), None)
        return None if found is None else found.decode("utf-8", "surrogateescape")
