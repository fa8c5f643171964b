"""A report as people read it: the headline, facts, tables without frames, notes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from rich.console import Console, Group
from rich.table import Table as RichTable
from rich.text import Text

from kafkabal.printable import printable
from kafkabal.reporting.cell_formats import bars, show_value
from kafkabal.reporting.drawable_area import Surface
from kafkabal.reporting.report import BARS, Column, Kind, Report, Table, Tone

if TYPE_CHECKING:
    from rich.console import RenderableType

_STYLES: Final[Mapping[Tone, str]] = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.WARNING: "yellow",
    Tone.BAD: "bold red",
    Tone.FAINT: "dim",
}
_LEFT: Final = BARS | {Kind.TEXT}
# by where a value lies to its band; index -1 is the last
_ARROWS: Final = ("  ", " ▲", " ▼")
_ASCII_ARROWS: Final = ("  ", " ^", " v")
_GAP: Final = 2
_LEAST_PROSE: Final = 26
_MOST_TEXT: Final = 40
_BAR_CELLS: Final = 16
_SHORT_BAR_CELLS: Final = 8
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
        yield Text(printable(report.headline), _STYLES[report.tone] or "bold")
    titled = [fact for fact in report.facts if fact.title]
    for fact in titled:
        yield Text(f"{fact.title}: {show_value(fact.value, fact.kind)}")
    shown = [table for table in report.tables if _is_shown(table)]
    for i, table in enumerate(shown):
        if i or report.headline or titled:
            yield ""
        if table.title:
            yield Text(table.title, "bold")
        yield _table(table, surface)
        hidden = table.n_rows - table.shown_rows if table.shown_rows is not None else 0
        if hidden > 0:
            yield Text(f"and {hidden:,} more", _STYLES[Tone.FAINT])
    if report.notes:
        yield ""
        yield from (Text(printable(note)) for note in report.notes)


def _is_shown(table: Table) -> bool:
    return table.n_rows > 0 and not table.for_programs and any(column.is_shown for column in table.columns)


def _table(table: Table, surface: Surface) -> RenderableType:
    drawn, left_out = _fitting(table, surface)
    grid = RichTable(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for column, cells in drawn:
        grid.add_column(
            column.title,
            justify="left" if column.kind in _LEFT else "right",
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            min_width=_LEAST_PROSE if column.wraps else min(_column_width(column, cells), _MOST_TEXT),
        )
    for row in zip(*(cells for _, cells in drawn), strict=True):
        grid.add_row(*row)
    if not left_out:
        return grid
    return Group(grid, Text(f"columns hidden: {', '.join(left_out)}", _STYLES[Tone.FAINT]))


def _fitting(table: Table, surface: Surface) -> tuple[list[tuple[Column, list[Text]]], list[str]]:
    """Columns with their cells, as many as fit: bars are shortened first, then what is dispensable is left out."""
    columns = [column for column in table.columns if column.is_shown]
    cells = {column.key: _cells(column, table.shown_rows, surface, _BAR_CELLS) for column in columns}
    left_out: list[str] = []
    if surface.width is not None and _width(columns, cells) > surface.width:
        for column in columns:
            if column.kind in BARS:
                cells[column.key] = _cells(column, table.shown_rows, surface, _SHORT_BAR_CELLS)
        while _width(columns, cells) > surface.width and any(column.dispensable for column in columns):
            least = max(columns, key=lambda column: column.dispensable)
            columns.remove(least)
            left_out.extend([least.title] if least.title.strip() else [])
    return [(column, cells[column.key]) for column in columns], left_out


def _width(columns: list[Column], cells: Mapping[str, list[Text]]) -> int:
    return sum(_column_width(column, cells[column.key]) for column in columns) + _GAP * (len(columns) - 1)


def _column_width(column: Column, cells: list[Text]) -> int:
    """Columns of the terminal that it wants; prose is content with little."""
    widest = max([len(column.title), *(cell.cell_len for cell in cells)])
    return min(widest, _LEAST_PROSE) if column.wraps else widest


def _cells(column: Column, rows: int | None, surface: Surface, bar_cells: int) -> list[Text]:
    values = column.values[:rows]
    if column.kind in BARS:
        fair = column.kind is Kind.FAIR_BAR
        texts = bars(values, length=bar_cells, fair_mark=fair, unicode=surface.unicode)
    else:
        texts = [show_value(value, column.kind) for value in values]
    arrows = _ARROWS if surface.unicode else _ASCII_ARROWS
    return [
        Text(
            ("~" if column.estimated is not None and column.estimated[i] else "")
            + text
            + (arrows[column.outside[i]] if any(column.outside) else ""),
            _STYLES[column.tones[i]] if column.tones else "",
        )
        for i, text in enumerate(texts)
    ]
