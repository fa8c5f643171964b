"""What a source of records is: parts in a fixed order, each of one or more records in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

Headers: TypeAlias = "list[tuple[str, str | bytes | None]]"


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A file, as it was when it was listed."""

    name: str
    """Path within the source."""
    size_bytes: int = 0
    mtime_ns: int = 0
    records: int = -1
    """How many records it makes; -1 where that shows only when it is read."""


class RecordSize(NamedTuple):
    """How large a record will be, its key and headers included."""

    name: str
    size_bytes: int
    around_bytes: int | None = None
    """Of these, what its headers and key take; None where the record cannot be split."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is sent."""

    name: str
    """For messages: which file, chunk or row it is."""
    value: bytes
    key: bytes | None = None
    headers: Headers = field(default_factory=list)
    progress_bytes: int = 0
    """Bytes of the source that are done with once this record is."""
    skipped_bytes: int = 0
    """Bytes of the part that lie before the first record that was asked for; told with that record."""


class Source(Protocol):
    """Gives the same records in the same order each time, as long as its parts do not change."""

    @property
    def name(self) -> str:
        """What to call it; the same in every run."""

    @property
    def options(self) -> Mapping[str, str]:
        """What else its records depend on, by the option that says so; with other options they are other records."""

    @property
    def is_keyed(self) -> bool:
        """Whether its records have keys."""

    def parts(self) -> Sequence[Part]:
        """What there is now.

        Raises
        ------
        InputFileError
            If it cannot be read, or is empty.
        """

    def sizes(self, part: Part) -> Iterator[RecordSize]:
        """Size of every record of a part, found without sending any; nothing where that cannot be known before."""

    def records(self, part: Part, start: int) -> Iterator[Record]:
        """The records of a part, from number ``start`` on.

        Raises
        ------
        InputFileError
            If the part is not, or does not stay, what it was when it was listed.
        """
