"""Renders a report for people: the headline, facts, tables without frames, notes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console, RenderableType
from rich.text import Text

from kafkabal.printable import printable
from kafkabal.reporting.cell_formats import bars, show_value, shown_cells
from kafkabal.reporting.draw_columns import STYLES, draw_columns
from kafkabal.reporting.fit_columns import DrawnColumn, fitting
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import BARS, Column, Report, Table, Tone, ValueKind

# by the position of a value relative to its band
_ARROWS: Final = ("  ", " ▲", " ▼")
_ASCII_ARROWS: Final = ("  ", " ^", " v")
_BAR_CELLS: Final = 16
"""A difference of a sixteenth of the longest bar is visible; 9% of a fair share are one and a half cells."""
_SHORT_BAR_CELLS: Final = 8
"""Half as long, if a terminal has no room for names beside the long one."""
# longer than any line that people read
_UNLIMITED: Final = 100_000
_COMMAND: Final = "kafkabal "


def render(report: Report, surface: OutputCapabilities) -> str:
    """Render text for a surface: coloured if it supports colour, no wider than it is."""
    return "".join(f"{line}\n" for line in _lines(report, surface))


def draw(part: RenderableType, surface: OutputCapabilities) -> list[str]:
    """The lines of anything that rich can draw, without trailing blanks."""
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
        console.print(part, soft_wrap=isinstance(part, Text) and part.no_wrap is True)
    return [line.rstrip() for line in captured.get().splitlines()]


def _lines(report: Report, surface: OutputCapabilities) -> Iterator[str]:
    if report.headline:
        yield from draw(Text(surface.shown(printable(report.headline)), STYLES[report.tone] or "bold"), surface)
    titled = [fact for fact in report.facts if fact.title]
    for fact in titled:
        yield from draw(Text(surface.shown(f"{fact.title}: {show_value(fact.value, fact.kind)}")), surface)
    shown = [table for table in report.tables if table.is_shown]
    for i, table in enumerate(shown):
        if i or report.headline or titled:
            yield ""
        if table.title:
            yield from draw(Text(table.title, "bold"), surface)
        lines, hidden_columns = table_lines(table, surface)
        yield from lines
        if hidden_columns:
            names = ", ".join(hidden_columns)
            yield from draw(Text(f"columns hidden (terminal too narrow): {names}", STYLES[Tone.FAINT]), surface)
        hidden = table.n_rows - table.shown_rows if table.shown_rows is not None else 0
        if hidden > 0:
            yield from draw(Text(f"and {hidden:,} more", STYLES[Tone.FAINT]), surface)
    if report.notes:
        yield ""
        for note in report.notes_for_people():
            yield from draw(_note(surface.shown(printable(note))), surface)


def _note(text: str) -> Text:
    """A line that is wrapped, unless it contains a command to paste, which would end at the first line break."""
    if _COMMAND in text:
        return Text(text, no_wrap=True)
    return Text(text)


def table_lines(table: Table, surface: OutputCapabilities) -> tuple[Iterator[str], list[str]]:
    """The lines of a table without its title, and the names of columns that did not fit."""
    columns = _drawn_columns(table, surface)
    drawn, hidden = fitting(columns, surface.width, unicode=surface.unicode)
    titles = [each.column.title for each in columns]
    return draw_columns(drawn, surface), [_name_if_hidden(each.column, titles) for each in hidden]


def _name_if_hidden(column: Column, titles: Sequence[str]) -> str:
    """A title such as ``after`` is clear only beside its neighbour: if a table has it twice, the words of the key."""
    return column.title if titles.count(column.title) == 1 else column.key.replace("_", " ")


def _drawn_columns(table: Table, surface: OutputCapabilities) -> list[DrawnColumn]:
    """The columns that people see, with their cells; for bars also a short form."""
    drawn = []
    for column in table.columns:
        if column.is_shown:
            cells = _cells(column, table.shown_rows, surface, _BAR_CELLS)
            short = _cells(column, table.shown_rows, surface, _SHORT_BAR_CELLS) if column.kind in BARS else None
            drawn.append(DrawnColumn.of(column, cells, short))
    return drawn


def _cells(column: Column, rows: int | None, surface: OutputCapabilities, bar_cells: int) -> list[str]:
    if column.kind in BARS:
        fair = column.kind is ValueKind.FAIR_BAR
        return bars(column.values[:rows], length=bar_cells, fair_mark=fair, unicode=surface.unicode)
    cells = shown_cells(column, rows, _ARROWS if surface.unicode else _ASCII_ARROWS)
    return [surface.shown(cell) for cell in cells]
