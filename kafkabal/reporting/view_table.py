"""A report as people read it: the headline, facts, tables without frames, notes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kafkabal.reporting.cells import bars, show_value
from kafkabal.reporting.report import Kind, Tone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

    from kafkabal.reporting.report import Column, Report, Table
    from kafkabal.reporting.surface import Surface

_STYLES: Final[Mapping[Tone, str]] = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.WARNING: "yellow",
    Tone.BAD: "bold red",
    Tone.FAINT: "dim",
}
_LEFT: Final = frozenset({Kind.TEXT, Kind.BAR})
# by where a value lies to its band; index -1 is the last
_ARROWS: Final = ("  ", " ▲", " ▼")
_ASCII_ARROWS: Final = ("  ", " ^", " v")
# longer than any line that is meant to be read
_UNLIMITED: Final = 100_000


def render(report: Report, surface: Surface) -> str:
    """Text for a surface: with colour where it has colour, no wider than it is."""
    return draw(list(_parts(report, surface)), surface)


def draw(parts: list[RenderableType], surface: Surface) -> str:
    """Text of anything that rich can draw, without blanks at the ends of lines."""
    console = Console(
        file=io.StringIO(),
        width=surface.width or _UNLIMITED,
        force_terminal=surface.colour,
        color_system="standard" if surface.colour else None,
        no_color=not surface.colour,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _parts(report: Report, surface: Surface) -> Iterator[RenderableType]:
    if report.headline:
        yield Text(report.headline, _STYLES[report.tone] or "bold")
    titled = [fact for fact in report.facts if fact.title]
    for fact in titled:
        yield Text(f"{fact.title}: {show_value(fact.value, fact.kind)}")
    for table in report.tables:
        yield ""
        if table.title:
            yield Text(table.title, "bold")
        yield _table(table, surface)
        hidden = table.n_rows - table.shown_rows if table.shown_rows is not None else 0
        if hidden > 0:
            yield Text(f"... and {hidden:,} more", _STYLES[Tone.FAINT])
    if report.notes:
        yield ""
        yield from (Text(note) for note in report.notes)


def _table(table: Table, surface: Surface) -> RichTable:
    drawn = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    columns = [column for column in table.columns if column.is_shown]
    for column in columns:
        text = column.kind in _LEFT
        drawn.add_column(
            column.title,
            justify="left" if text else "right",
            no_wrap=True,
            overflow="ellipsis" if text else "crop",
        )
    for row in zip(*(list(_cells(column, table.shown_rows, surface)) for column in columns), strict=True):
        drawn.add_row(*row)
    return drawn


def _cells(column: Column, rows: int | None, surface: Surface) -> Iterator[Text]:
    values = column.values[:rows]
    if column.kind is Kind.BAR:
        texts = bars(values, unicode=surface.unicode)
    else:
        texts = [show_value(value, column.kind) for value in values]
    arrows = _ARROWS if surface.unicode else _ASCII_ARROWS
    for i, text in enumerate(texts):
        estimate = "~" if column.estimated and column.estimated[i] else ""
        arrow = arrows[column.outside[i]] if any(column.outside) else ""
        yield Text(estimate + text + arrow, _STYLES[column.tones[i]] if column.tones else "")
