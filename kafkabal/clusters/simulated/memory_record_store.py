"""Records of a simulated cluster, as an internal compacted topic keeps them."""

from __future__ import annotations

from collections.abc import Mapping


class MemoryRecordStore:
    """Records in a dictionary."""

    def __init__(self, records: dict[str, bytes]) -> None:
        self._records = records

    def put(self, key: str, value: bytes | None) -> None:
        """Keep a value, or delete the key."""
        if value is None:
            self._records.pop(key, None)
        else:
            self._records[key] = value

    def get_all(self) -> Mapping[str, bytes]:
        """A copy of everything."""
        return dict(self._records)
