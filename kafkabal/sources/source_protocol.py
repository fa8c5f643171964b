"""What a source of records is: parts in a fixed order, each of one or more records in a fixed order."""

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
    """How many records it makes; -1 where that shows only when it is read."""


class Listing(NamedTuple):
    """What a source holds."""

    parts: Sequence[Part]
    left_out: Sequence[tuple[str, str]] = ()
    """Names of what cannot be sent, and why."""


class RowChecksum(msgspec.Struct, frozen=True, kw_only=True):
    """Tells whether the first rows of a source are still those that they were."""

    rows: int
    sha256: str
    """Of the keys and values of these rows, in hex."""


class WantedRecords(NamedTuple):
    """Records of a part that are to be sent: from ``start`` on."""

    part_index: int
    """Of the part, in the manifest."""
    first: int
    """Number of the part's first record."""
    part: Part
    start: int = 0
    rows: RowChecksum | None = None
    """What is known of rows before ``start``."""


class RecordSize(NamedTuple):
    """How large a record will be, its key and headers included."""

    name: str
    size_bytes: int
    around_bytes: int | None = None
    """Of these, what its headers and key take; None where the record cannot be split."""


@dataclass(slots=True, kw_only=True)
class Block:
    """Records that were read together, in columns of one length: a large file's chunk, small files, or rows."""

    numbers: Sequence[int]
    """Ascending, over all parts."""
    values: list[bytes]
    sizes: list[int]
    """Bytes of each record, key and headers included."""
    keys: list[bytes | None] | None = None
    """None where no record has one."""
    headers: list[Headers] | None = None
    """None where no record has any; the sender of the block may append to the lists."""
    name_of: Callable[[int], str]
    """For messages: which file, chunk or row the record at a position is."""
    progress_bytes: int = 0
    """Bytes of the source that are done with once all of these records are."""
    skipped_bytes: int = 0
    """Bytes of the source before the first record that was asked for."""
    checksums: Mapping[int, str] = field(default_factory=dict)
    """SHA-256, in hex, by index of the parts that end with this block."""
    rows: RowChecksum | None = None
    """Of all rows up to the end of this block."""
    failures: Sequence[tuple[WantedRecords, str]] = ()
    """Parts that could not be read to their end, and why; no further records of them come."""

    def __len__(self) -> int:
        return len(self.values)


class ChangedRowsError(InputFileError):
    """Rows that were sent before are no longer what they were."""


class Source(Protocol):
    """Gives the same records in the same order each time, as long as its parts do not change."""

    @property
    def name(self) -> str:
        """What to call it; the same in every run, and printable."""

    @property
    def options(self) -> Mapping[str, str]:
        """What else its records depend on, by the option that says so; with other options they are other records."""

    @property
    def is_keyed(self) -> bool:
        """Whether its records have keys."""

    @property
    def is_stream(self) -> bool:
        """Whether it can be read only once."""

    def listing(self) -> Listing:
        """What there is now.

        Raises
        ------
        InputFileError
            If it cannot be read, or is empty.
        """

    def too_large(self, parts: Iterable[Part], limit_bytes: int, tick: Callable[[], None]) -> Iterator[RecordSize]:
        """Records with more than so many bytes, found without sending any; none where that cannot be known before.

        Parameters
        ----------
        tick
            Called now and then while rows are read.
        """

    def checksum(self, part: Part) -> str | None:
        """SHA-256 of a part as it is now, in hex; None where it cannot be read, or records are rows."""

    def begins_with(self, part: Part, rows: RowChecksum) -> bool:
        """Whether the rows of a part begin with those of the checksum; False where records are files.

        Raises
        ------
        InputFileError
            If it cannot be read.
        """

    def blocks(self, wanted: Iterable[WantedRecords]) -> Generator[Block, None, None]:
        """The records that are wanted, in their order; to be closed by a caller that does not take all.

        Raises
        ------
        ChangedRowsError
            If the rows before the first that is wanted are others than they were.
        InputFileError
            If a row cannot be sent, or the file of rows changes while it is read.
        """


def printable(name: str) -> str:
    """A name with bytes that are not UTF-8 as ``\\xff``; others stay as they are."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
