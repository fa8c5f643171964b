"""Records of a part one by one, as tests need them."""

from __future__ import annotations

from dataclasses import dataclass

from kafkabal.errors import InputFileError
from kafkabal.sources.source_protocol import Headers, Part, RecordsToSend, Source


@dataclass(frozen=True)
class Record:
    """A record of a block."""

    name: str
    value: bytes
    key: bytes | None
    headers: Headers


def records_of(source: Source, part: Part, start: int = 0) -> list[Record]:
    """All records of a part from a number on; an unreadable part is an error."""
    records = []
    for block in source.blocks([RecordsToSend(0, 0, part, start)]):
        for _, why in block.failures:
            raise InputFileError(part.name, why)
        for at, value in enumerate(block.values):
            key = block.keys[at] if block.keys is not None else None
            headers = block.headers[at] if block.headers is not None else []
            records.append(Record(block.name_of(at), value, key, headers))
    return records


def add_values(found: list[bytes], source: Source, part: Part) -> None:
    """Add the values of a part to a list, as far as it can be read."""
    for block in source.blocks([RecordsToSend(0, 0, part)]):
        found += block.values
