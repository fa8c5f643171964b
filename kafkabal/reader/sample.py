"""A record as the trainer gets it."""

from __future__ import annotations

from typing import Any

import msgspec

from kafkabal.clusters.kafka import Headers, unpack_headers
from kafkabal.sources import LABEL_HEADER, PATH_HEADER
from kafkabal.wording import counted_noun


class Sample(msgspec.Struct, eq=False):
    """A record, and what was made of it; headers are unpacked when they are asked for.

    A struct of msgspec, since a class of Python takes five times as long to make, and one is made for every record.
    """

    partition: int
    offset: int
    timestamp: int
    """In milliseconds."""
    key: bytes | None
    value: bytes
    """Empty for a record without value."""
    packed_headers: bytes
    """As they are in the record."""
    decoded: Any = None
    """What the decoder returned, None without one."""

    def __repr__(self) -> str:
        return f"Sample({self.partition}@{self.offset}, {counted_noun(len(self.value), 'byte')})"

    @property
    def headers(self) -> Headers:
        """Names and values, in the order of the record; a name may occur twice."""
        return unpack_headers(self.packed_headers)

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
