"""Records in columns: lists of values, keys and headers, with their sizes and checksum."""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple

import msgspec

from kafkabal.sources.record_headers import header_bytes
from kafkabal.sources.source_protocol import Headers


class RecordParts(NamedTuple):
    """Values, keys and headers of records, in lists of equal length."""

    values: list[bytes]
    keys: list[bytes | None] | None
    """None if no record has one."""
    headers: list[Headers] | None
    """None if no record has one."""
    joined: bytes | None = None
    """The values, each followed by a line break, where they are known like that, without keys and headers."""

    def sizes(self) -> list[int]:
        """Size of each record, including key and headers."""
        sizes = list(map(len, self.values))
        if self.keys is not None:
            sizes = [n + len(key or b"") for n, key in zip(sizes, self.keys, strict=True)]
        if self.headers is not None:
            sizes = [n + header_bytes(of_row) for n, of_row in zip(sizes, self.headers, strict=True)]
        return sizes

    def first(self, count: int) -> RecordParts:
        """The first ``count`` records."""
        return RecordParts(
            self.values[:count],
            None if self.keys is None else self.keys[:count],
            None if self.headers is None else self.headers[:count],
        )

    def add_to(self, digest: Any) -> None:
        """Add the records to a checksum; the result does not depend on how rows are cut into blocks."""
        if self.joined is not None:
            digest.update(self.joined)
            return
        by_row = [self.values]
        if self.keys is not None:
            by_row.insert(0, [b"" if key is None else b"=" + key for key in self.keys])
        if self.headers is not None:
            by_row.append([msgspec.json.encode(of_row) for of_row in self.headers])
        if self.values:
            parts = self.values if len(by_row) == 1 else chain.from_iterable(zip(*by_row, strict=True))
            digest.update(b"\n".join(parts))
            digest.update(b"\n")
