"""A record as the trainer gets it."""

from __future__ import annotations

from typing import Any

import msgspec

from kafkabal.clusters.kafka import Headers, unpack_headers
from kafkabal.sources import LABEL_HEADER, PATH_HEADER
from kafkabal.wording import counted_noun


class Sample(msgspec.Struct, eq=False):
    """A record and its decoded value; headers are unpacked on access.

    A msgspec struct, because a Python class takes five times as long to create, and there is one per record.
    """

    partition: int
    offset: int
    timestamp: int
    """In milliseconds."""
    key: bytes | None
    value: bytes
    """Empty for a record without a value."""
    packed_headers: bytes
    """As they are in the record."""
    decoded: Any = None
    """What the decoder returned; None without a decoder."""

    def __repr__(self) -> str:
        return f"Sample({self.partition}@{self.offset}, {counted_noun(len(self.value), 'byte')})"

    @property
    def headers(self) -> Headers:
        """Names and values in record order; a name may occur twice."""
        return unpack_headers(self.packed_headers)

    @property
    def path(self) -> str | None:
        """Path of the file in its data set, if ``kafkabal produce`` sent it."""
        return self._text(PATH_HEADER)

    @property
    def label(self) -> str | None:
        """First folder of the path."""
        return self._text(LABEL_HEADER)

    def _text(self, name: str) -> str | None:
        found = next((value for header, value in self.headers if header == name), None)
        return None if found is None else found.decode("utf-8", "surrogateescape")
