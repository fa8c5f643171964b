"""The result of a command as data; every output format is a view of it.

A report has a headline, single facts, tables and notes. A table is a list of columns, each with a key for programs, a
title for people, and a kind that determines how a value is shown; an unknown value is None. A column with a ``metric``
is also exposed to Prometheus, labelled by the table's label columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # commands import this before they contact a cluster, but numpy only when there are figures
    import numpy as np
    from numpy.typing import NDArray

_DECIMALS: Final = 9
"""Of numbers for programs: nanoseconds, and parts of a byte."""


class ValueKind(StrEnum):
    """How a value is shown to people."""

    TEXT = "text"
    NUMBER = "number"
    """With a comma between thousands."""
    ID = "id"
    """The id of a broker or the number of a partition, as in Kafka's own tools."""
    BYTES = "bytes"
    RATE = "rate"
    """Bytes per second."""
    PERCENT = "percent"
    """Fraction of a whole; 0.5 is shown as 50.0%."""
    FAIR = "fair"
    """Multiple of the fair share; 1.25 is shown as 1.25x."""
    DURATION = "duration"
    """Seconds."""
    TIME = "time"
    """An ISO 8601 time, shown in UTC to the second."""
    MAP = "map"
    """A dictionary, shown as ``key value, key value``."""
    BAR = "bar"
    """A bar proportional to the value, with one scale per column; people only."""
    FAIR_BAR = "fair-bar"
    """The same with a mark at 1.0, the fair share."""


BARS = frozenset({ValueKind.BAR, ValueKind.FAIR_BAR})


class Tone(StrEnum):
    """How good or bad something is; always stated in words too, since colour may be missing."""

    PLAIN = "plain"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    FAINT = "faint"


@dataclass(frozen=True, slots=True)
class Metric:
    """A gauge in the Prometheus text format; names end in a base unit."""

    name: str
    help: str
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels in addition to the table's; columns whose metrics differ only in these are one metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One value per row."""

    key: str
    """Name for programs, ending in the unit if there is one: ``used_bytes``."""
    title: str
    """Name for people; empty hides the column from the table."""
    values: Sequence[Any]
    kind: ValueKind = ValueKind.TEXT
    metric: Metric | None = None
    label: bool = False
    """Identifies the row: a label of every metric of the table."""
    estimated: Sequence[bool] | None = None
    """Which values are estimates, shown with a ``~``; programs see ``KEY_estimated``, even if none is."""
    outside: Sequence[int] = ()
    """Position of a value relative to its band: above (1), below (-1) or within (0); shown as an arrow."""
    tones: Sequence[Tone] = ()
    quiet: bool = False
    """Hidden if no value says anything: all are unknown, zero or empty."""
    for_people: bool = False
    """Hidden from programs: other columns give them the same as values of one type."""
    wraps: bool = False
    """Prose, which may be wrapped."""
    whole: bool = False
    """Names that people type into other commands, such as run ids: never shortened."""
    dispensable: int = 0
    """Hidden if a table is too wide, highest first, rightmost among equals."""

    @property
    def is_shown(self) -> bool:
        """Whether people see it."""
        return bool(self.title) and not (self.quiet and not any(self.values))


FIRST_ROWS: Final = 20
"""Rows of a long table that people see: with headline and header they fill a terminal of 24 lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of one kind."""

    key: str
    """Name for programs: ``brokers``."""
    columns: Sequence[Column]
    title: str = ""
    """Heading for people, if a report has several tables."""
    shown_rows: int | None = None
    """How many rows people see; programs see all."""
    for_programs: bool = False
    """Hidden from people."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def is_shown(self) -> bool:
        """Whether people see it."""
        return self.n_rows > 0 and not self.for_programs and any(column.is_shown for column in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A single value outside the tables: shown to programs, and to people if it has a title."""

    key: str
    value: Any
    title: str = ""
    kind: ValueKind = ValueKind.TEXT
    metric: Metric | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareChart:
    """Shares of holders against their bands, and before a change if there is one; 1.0 is the fair share."""

    title: str
    labels: Sequence[str]
    """Labels of the holders, in drawing order."""
    shares: Sequence[float | None]
    before: Sequence[float | None] = ()
    low: Sequence[float | None] = ()
    """Lower edges of the bands, as shares; empty if there are none."""
    high: Sequence[float | None] = ()
    outside: Sequence[bool] = ()
    """Which are outside their bands; edges drawn as shares are not exact enough to tell. Empty for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Shares of a grid of groups and holders; None if a group has nothing on a holder."""

    title: str
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    shares: Sequence[Sequence[float | None]]
    """By row; 1.0 is the fair share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Bytes over time: measurements, forecast with interval, and limit."""

    title: str
    note: str
    """How to read it, in words."""
    past: Sequence[tuple[float, float]]
    """Seconds since the epoch, and bytes; the last point is now."""
    future: Sequence[tuple[float, float, float, float]]
    """Seconds since the epoch, bytes, and the ends of their interval; the first point is now."""
    limit: float | None
    """None if the size of the disk is unknown."""


Chart = ShareChart | HeatMap | LineChart


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole result of a command.

    Facts, tables and columns are the same whatever the result, so that programs can rely on every key: an unknown value
    is None, and a table may have no rows. ``docs/schemas`` describes them.
    """

    command: str
    """Name of the command with its group: ``rebalance status``."""
    headline: str = ""
    """One sentence that says what matters."""
    tone: Tone = Tone.PLAIN
    facts: Sequence[Fact] = ()
    tables: Sequence[Table] = ()
    metric_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of every metric, such as the name of the cluster."""
    notes: Sequence[str] = field(default=())
    """What to know about the figures, and what to do next; one line each."""
    shown_notes: int | None = None
    """How many of them people see; programs see all."""
    charts: Callable[[], Sequence[Chart]] = tuple
    """Created only if they are drawn, in HTML: on large clusters they take a while."""

    def notes_for_people(self) -> Sequence[str]:
        """The notes, up to :attr:`shown_notes`, and how many more there are."""
        return first_lines(self.notes, self.shown_notes)


def first_lines(lines: Sequence[str], number: int | None) -> Sequence[str]:
    """The first lines, and how many more there are; all if no number is given."""
    if number is None or len(lines) <= number:
        return lines
    return (*lines[:number], f"and {len(lines) - number:,} more")


def known(values: NDArray[np.float64]) -> list[Any]:
    """Python values of a float column, None for NaN; without rounding errors, as of a share of 0.9999999999999999."""
    return [None if math.isnan(value) else round(value, _DECIMALS) for value in values.tolist()]


def counted(values: NDArray[np.integer[Any]]) -> list[Any]:
    """Python values of a column of bytes or offsets, None if negative, which means unknown."""
    return [None if value < 0 else value for value in values.tolist()]
