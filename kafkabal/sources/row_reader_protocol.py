"""Rows in the form that all readers return, and the fields to extract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final, NamedTuple, TypeAlias, TypeGuard

from kafkabal.sources.source_protocol import Headers

Fields: TypeAlias = "dict[str, Any]"

MOST_RECORD_BYTES: Final = 1 << 31
"""Where Kafka's batches end. A greater length in a file means damage, or a sparse file that no memory holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedFields:
    """Names of the fields that become parts of a record; a dot descends into a field: ``image.bytes``."""

    key: str | None = None
    value: str | None = None
    """None sends the whole row."""
    label: str | None = None
    """Becomes the header ``label``."""

    def __iter__(self) -> Iterator[str]:
        """The names that are set."""
        return iter([name for name in (self.key, self.value, self.label) if name is not None])

    def columns(self, columns: Sequence[str]) -> list[str] | None:
        """Those of a table that are sent; None for all."""
        if self.value is None:
            return None
        return [column for column in columns if any(column in (name, name.partition(".")[0]) for name in self)]

    @property
    def needs_fields(self) -> bool:
        """Whether rows have to be parsed."""
        return not (self.key is None and self.value is None and self.label is None)


class Rows(NamedTuple):
    """Rows that were read together."""

    texts: list[bytes]
    fields: list[Fields] | None
    """None if they are not needed."""
    places: Sequence[int]
    """Line of each row (the last one if it has several), or its number, from 1."""
    n_bytes: int
    """Bytes of the source read for them."""
    headers: list[Headers] | None = None
    """None if the format has none."""
    joined: bytes | None = None
    """The texts, each followed by a line break; None if they were not read like that, or there are headers."""

    def cut(self, at: int) -> tuple[Rows, Rows]:
        """The first ``at`` rows, and the rest; bytes are divided in proportion to their texts."""
        if at >= len(self.texts):
            return self, Rows([], None, (), 0)
        before, after = self.texts[:at], self.texts[at:]
        fields = (None, None) if self.fields is None else (self.fields[:at], self.fields[at:])
        headers = (None, None) if self.headers is None else (self.headers[:at], self.headers[at:])
        n_before, n_after = sum(map(len, before)) + at, sum(map(len, after)) + len(after)
        n_bytes = self.n_bytes * n_before // (n_before + n_after)
        return (
            Rows(before, fields[0], self.places[:at], n_bytes, headers[0]),
            Rows(after, fields[1], self.places[at:], self.n_bytes - n_bytes, headers[1]),
        )


class BadRowError(Exception):
    """A row that cannot be read, or the whole file if ``place`` is None."""

    def __init__(self, place: int | None, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.message = message
        self.hint = hint


class UnfinishedError(BadRowError):
    """The file ends within its last row, which its writer may add to."""

    def __init__(self, place: int, message: str = "the file ends within this row") -> None:
        super().__init__(place, message)


def is_read_error(error: BaseException) -> TypeGuard[OSError]:
    """Whether a file could not be read; libraries that unpack or parse one raise OSError for damage too."""
    return isinstance(error, OSError) and error.errno is not None


RowReader: TypeAlias = "Callable[[IO[bytes], int, SelectedFields], Iterator[Rows]]"
"""Takes a file, its size in bytes (0 if unknown) and the selected fields; raises :class:`BadRowError`, or OSError if
the file cannot be read."""


def field_of(fields: Fields, name: str) -> Any:
    """The field with this name, or else the one reached by its parts between dots; fields of null are null.

    Raises
    ------
    KeyError
        If the row has neither.
    """
    if name in fields:
        return fields[name]
    found: Any = fields
    for part in name.split("."):
        if found is None:
            return None
        if not isinstance(found, dict):
            raise KeyError(name)
        found = found[part]
    return found


def check_columns(columns: Sequence[str], selected: SelectedFields) -> None:
    """Check that a table has each selected column exactly once.

    Raises
    ------
    BadRowError
        If it does not.
    """
    twice = sorted(column for column, count in Counter(columns).items() if count > 1)
    if twice:
        raise BadRowError(None, f"duplicate columns: {', '.join(map(repr, twice))}")
    for field in selected:
        if field not in columns and field.partition(".")[0] not in columns:
            raise BadRowError(None, f"unknown column: {field}", f"choose from: {', '.join(columns)}")
