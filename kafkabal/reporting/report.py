"""What a command found, as data; every form of output is a view of it.

A report has a headline, single facts, tables and notes. A table is a list of columns, each with the key that
programs see, the title that people see, and a kind that says how a value is shown; a value that is not known is
None. A column with a ``metric`` is also exposed to Prometheus, labelled by the table's label columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # commands import this before they ask a cluster, numpy only when there are figures
    import numpy as np
    from numpy.typing import NDArray


class ValueKind(StrEnum):
    """How a value is shown to people."""

    TEXT = "text"
    NUMBER = "number"
    BYTES = "bytes"
    RATE = "rate"
    """Bytes per second."""
    PERCENT = "percent"
    """Of a whole; 0.5 is shown as 50.0%."""
    FAIR = "fair"
    """Of the fair share; 1.25 is shown as 1.25x."""
    DURATION = "duration"
    """Seconds."""
    TIME = "time"
    """A moment in ISO 8601, shown in UTC to the second."""
    MAP = "map"
    """A dictionary, shown as ``key value, key value``."""
    BAR = "bar"
    """A bar as long as the value, all bars of a column to one scale; people only."""
    FAIR_BAR = "fair-bar"
    """The same with a mark where the fair share, 1.0, is."""


BARS = frozenset({ValueKind.BAR, ValueKind.FAIR_BAR})


class Tone(StrEnum):
    """How good or bad something is; always said in words too, since colour may be missing."""

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
    """Labels beside those of the table; columns whose metrics differ in them only are one metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One value a row."""

    key: str
    """Name for programs, ending in the unit where there is one: ``used_bytes``."""
    title: str
    """Name for people; empty hides the column from the table."""
    values: Sequence[Any]
    kind: ValueKind = ValueKind.TEXT
    metric: Metric | None = None
    label: bool = False
    """It names the row: a label of every metric of the table."""
    estimated: Sequence[bool] | None = None
    """Which values are estimates, shown with a ``~``; programs see them under ``KEY_estimated``, also where none is."""
    outside: Sequence[int] = ()
    """Position of a value relative to its band: above (1), below (-1) or within (0); shown with an arrow."""
    tones: Sequence[Tone] = ()
    quiet: bool = False
    """Left out of the table where no value says anything: all are unknown, zero or empty."""
    for_people: bool = False
    """Programs do not see it: other columns give them the same as values of one type."""
    wraps: bool = False
    """Prose, which may be wrapped."""
    whole: bool = False
    """Names that people type into other commands, such as ids of runs: never shortened."""
    dispensable: int = 0
    """Hidden where a table is too wide, the highest first; of equal ones the rightmost."""

    @property
    def is_shown(self) -> bool:
        """Whether people see it."""
        return bool(self.title) and not (self.quiet and not any(self.values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of a kind."""

    key: str
    """Name for programs: ``brokers``."""
    columns: Sequence[Column]
    title: str = ""
    """Heading for people, where a report has several tables."""
    shown_rows: int | None = None
    """How many rows people see; programs see all."""
    for_programs: bool = False
    """People do not see it."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].values) if self.columns else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A single value beside the tables: seen by programs, and by people where it has a title."""

    key: str
    value: Any
    title: str = ""
    kind: ValueKind = ValueKind.TEXT
    metric: Metric | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareChart:
    """Shares of holders against their bands, and before a change where there is one; 1.0 is the fair share."""

    title: str
    labels: Sequence[str]
    """Of the holders, in the order in which they are drawn."""
    shares: Sequence[float | None]
    before: Sequence[float | None] = ()
    low: Sequence[float | None] = ()
    """Lower edges of the bands, as shares; empty where there are none."""
    high: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Shares of a grid of groups and holders; None where a group has nothing on a holder."""

    title: str
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    shares: Sequence[Sequence[float | None]]
    """By row; 1.0 is the fair share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Bytes over time: what was measured, what is forecast with its interval, and what there is room for."""

    title: str
    note: str
    """What to read from it, in words."""
    past: Sequence[tuple[float, float]]
    """Seconds since the epoch, and bytes; the last one is now."""
    future: Sequence[tuple[float, float, float, float]]
    """Seconds since the epoch, bytes, and the ends of their interval; the first one is now."""
    limit: float | None
    """None where the size of the disk is not known."""


Chart = ShareChart | HeatMap | LineChart


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a command found.

    Facts, tables and columns are the same whatever was found, so that programs can rely on every key: what is not
    known is None, and a table may have no rows. ``docs/schemas`` describes them.
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
    charts: Callable[[], Sequence[Chart]] = tuple
    """Made only where there is room to draw, in HTML: on large clusters they take a while."""


def known(values: NDArray[np.float64]) -> list[Any]:
    """Python values of a column of floats, None for NaN."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def counted(values: NDArray[np.integer[Any]]) -> list[Any]:
    """Python values of a column of bytes or offsets, None for a negative one, which stands for "not known"."""
    return [None if value < 0 else value for value in values.tolist()]
