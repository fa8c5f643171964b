"""Draws fitted columns side by side, as lines of text.

Not by a table of rich: that lays out every cell by itself, which takes minutes for all partitions of a large cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from kafkabal.reporting.fit_columns import GAP, DrawnColumn, beginning, cell_width
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import BARS, Tone, ValueKind

STYLES: Final[Mapping[Tone, str]] = {
    Tone.PLAIN: "",
    Tone.GOOD: "green",
    Tone.WARNING: "yellow",
    Tone.BAD: "bold red",
    Tone.FAINT: "dim",
}
_LEFT: Final = BARS | {ValueKind.TEXT}
# Text.wrap asks a console only for its width of a tab
_CONSOLE: Final = Console(_environ={})


def draw_columns(columns: Sequence[DrawnColumn], surface: OutputCapabilities) -> Iterator[str]:
    """A line of titles, then the lines of each row; prose takes as many as it needs. No line ends in blanks."""
    blanks = [" " * each.width for each in columns]
    bold = Style.parse("bold")
    titles = [_cell(each, each.column.title, bold, surface) for each in columns]
    height = max(map(len, titles))
    # a title of several lines stands on the row below it
    yield from _side_by_side([[blanks[i]] * (height - len(lines)) + lines for i, lines in enumerate(titles)], blanks)
    for row in zip(*(_cells(each, surface) for each in columns), strict=True):
        yield from _side_by_side(row, blanks)


def _side_by_side(row: Sequence[Sequence[str]], blanks: Sequence[str]) -> Iterator[str]:
    """The lines of a row, from the padded lines of its cells."""
    gap = " " * GAP
    for i in range(max(map(len, row))):
        cells = [lines[i] if i < len(lines) else blank for lines, blank in zip(row, blanks, strict=True)]
        yield gap.join(cells).rstrip()


def _cells(drawn: DrawnColumn, surface: OutputCapabilities) -> Iterator[list[str]]:
    """The padded lines of each cell of a column."""
    styles = {tone: Style.parse(style) for tone, style in STYLES.items()}
    tones = drawn.column.tones
    for i, text in enumerate(drawn.cells):
        yield _cell(drawn, text, styles[tones[i] if tones else Tone.PLAIN], surface)


def _cell(drawn: DrawnColumn, text: str, style: Style, surface: OutputCapabilities) -> list[str]:
    system = ColorSystem.STANDARD if surface.colour else None
    is_left = drawn.column.kind in _LEFT
    padded = []
    for line in _lines(drawn, text.rstrip()):
        blank = " " * (drawn.width - cell_width(line))
        drawn_text = style.render(line, color_system=system)
        padded.append(drawn_text + blank if is_left else blank + drawn_text)
    return padded


def _lines(drawn: DrawnColumn, text: str) -> list[str]:
    if cell_width(text) <= drawn.width:
        return [text]
    if drawn.column.wraps:
        return [line.plain for line in Text(text).wrap(_CONSOLE, drawn.width, overflow="fold")]
    return [beginning(text, drawn.width)]
