"""The interface of a source: parts in a fixed order, each of one or more records in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from kafkabal.errors import InputFileError

Headers: TypeAlias = "list[tuple[str, str | bytes | None]]"


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A file, as it was when it was listed."""

    name: str
    """Path within the source; bytes that are not UTF-8 are surrogates (:func:`os.fsdecode`)."""
    size_bytes: int = 0
    mtime_ns: int = 0
    records: int = -1
    """Number of records; -1 if only reading it shows."""


class Listing(NamedTuple):
    """The current content of a source."""

    parts: Sequence[Part]
    left_out: Sequence[tuple[str, str]] = ()
    """Names of what cannot be sent, and why."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def records(self) -> int | None:
        """Records of all parts; None if only reading them shows."""
        return None if any(part.records < 0 for part in self.parts) else sum(part.records for part in self.parts)


class RowChecksum(msgspec.Struct, frozen=True, kw_only=True):
    """Detects whether the first rows of a source have changed."""

    rows: int
    sha256: str
    """Checksum of the keys and values of these rows, in hex."""


class RecordsToSend(NamedTuple):
    """The records of a part to send: from ``start`` on."""

    part_index: int
    """Index of the part in the manifest."""
    first: int
    """Number of the part's first record."""
    part: Part
    start: int = 0
    rows: RowChecksum | None = None
    """Checksum of rows before ``start``, if known."""


class RecordSize(NamedTuple):
    """The size of a future record, including key and headers."""

    name: str
    size_bytes: int
    around_bytes: int | None = None
    """The part taken by headers and key; None if the record cannot be split."""


@dataclass(slots=True, kw_only=True)
class Block:
    """Records that were read together, in columns of equal length: a large file's chunk, small files, or rows."""

    numbers: Sequence[int]
    """Ascending, counted over all parts."""
    values: list[bytes]
    sizes: list[int]
    """Size of each record, including key and headers."""
    keys: list[bytes | None] | None = None
    """None if no record has one."""
    headers: list[Headers] | None = None
    """None if no record has any."""
    name_of: Callable[[int], str]
    """For messages: the file, chunk or row of the record at a position."""
    progress_bytes: int = 0
    """Bytes of the source that are finished once all of these records are."""
    skipped_bytes: int = 0
    """Bytes of the source before the first requested record."""
    checksums: Mapping[int, str] = field(default_factory=dict)
    """SHA-256, in hex, of the whole files that have records in this block, by index of their part."""
    rows: RowChecksum | None = None
    """Checksum of all rows up to the end of this block."""
    rows_before: Callable[[int], RowChecksum] | None = None
    """Checksum of all rows before the one with this number, which is in the block; None if its records are files."""
    failures: Sequence[tuple[RecordsToSend, str]] = ()
    """Parts that could not be read to their end, and why; they yield no more records."""

    def __len__(self) -> int:
        return len(self.numbers)


class ChangedRowsError(InputFileError):
    """Rows that were sent before have changed."""


class UnfinishedRowError(InputFileError):
    """A file of rows ends within a row, which its writer may add to; all rows before it can be sent."""


class Source(Protocol):
    """Yields the same records in the same order each time, as long as its parts do not change."""

    @property
    def name(self) -> str:
        """Its name as it is shown, the same in every run."""

    @property
    def options(self) -> Mapping[str, str]:
        """Option values that its records depend on; with other values they are different records."""

    @property
    def is_keyed(self) -> bool:
        """Whether its records have keys."""

    @property
    def is_stream(self) -> bool:
        """Whether it can be read only once."""

    def listing(self) -> Listing:
        """The current content.

        Raises
        ------
        InputFileError
            If it cannot be read, or is empty.
        """

    def find_too_large(
        self, parts: Iterable[Part], limit_bytes: int, each_block: Callable[[], None]
    ) -> Iterator[RecordSize]:
        """Records larger than the limit, found without sending any; none if their sizes cannot be known in advance.

        Parameters
        ----------
        each_block
            Called now and then while rows are read.
        """

    def checksum(self, part: Part) -> str | None:
        """Current SHA-256 of a part, in hex; None if it cannot be read, or its records are rows."""

    def begins_with(self, part: Part, rows: RowChecksum) -> bool:
        """Whether the rows of a part begin with those of the checksum; False if its records are files.

        Raises
        ------
        InputFileError
            If it cannot be read.
        """

    def blocks(self, to_send: Iterable[RecordsToSend]) -> Generator[Block, None, None]:
        """The records to send, in order; close the iterator if you do not exhaust it.

        Raises
        ------
        ChangedRowsError
            If rows before the first of them have changed.
        UnfinishedRowError
            After all other rows, if the last one is not complete.
        InputFileError
            If a row cannot be sent, or the file of rows changes while it is read.
        """


def escaped_name(name: str) -> str:
    """A name with bytes that are not UTF-8 written as ``\\xff``; other names are unchanged."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
