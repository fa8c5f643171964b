"""Fits columns to a terminal: bars are dropped before names are shortened, names are shortened before columns are
hidden."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from rich.cells import cell_len

from kafkabal.reporting.report import BARS, Column, ValueKind

GAP: Final = 2
"""Blanks between two columns."""
LEAST_PROSE: Final = 16
"""Minimum width of a column of prose, which is wrapped."""
# bars are dropped before prose gets narrower than this, about a third of a small terminal
_EASY_PROSE: Final = 26
# names are shortened to this before a column is hidden, and below it only if nothing is left to hide
_SHORT_NAME: Final = 16
_LEAST_NAME: Final = 4
"""Shorter ones cannot be told apart."""
# fractions of the width kept at the start, tried in turn: the end of a path matters most
_HEADS: Final = (0.35, 0.15, 0.55, 0.75, 0.0, 0.95)


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """A column and its cells as they will be drawn."""

    column: Column
    cells: Sequence[str]
    width: int
    """Terminal columns that it takes; prose that is wider is wrapped."""
    short_bar: Sequence[str] | None
    """Shorter cells, for a bar."""

    @classmethod
    def of(cls, column: Column, cells: Sequence[str], short_bar: Sequence[str] | None = None) -> DrawnColumn:
        """As wide as its widest cell."""
        return cls(column, cells, max(len(column.title), max(map(cell_width, cells), default=0)), short_bar)

    @property
    def is_bar(self) -> bool:
        """Whether it only draws the values of another column."""
        return self.column.kind in BARS

    @property
    def can_be_elided(self) -> bool:
        """Whether its cells are names, which may be shortened."""
        return self.column.kind is ValueKind.TEXT and not (self.column.wraps or self.column.whole)

    def least_width(self, shortest_name: int, prose: int = LEAST_PROSE) -> int:
        """The width it needs with names elided to one width, and prose wrapped to another."""
        if self.column.wraps:
            return min(self.width, prose)
        return min(self.width, max(shortest_name, len(self.column.title))) if self.can_be_elided else self.width

    def elided(self, width: int, ellipsis: str) -> DrawnColumn:
        """The same column with no cell wider than this, unless the title is."""
        width = max(width, len(self.column.title))
        return replace(self, cells=elide(self.cells, width, ellipsis), width=width)


def fitting(
    columns: Sequence[DrawnColumn], width: int | None, *, unicode: bool = True
) -> tuple[list[DrawnColumn], list[DrawnColumn]]:
    """The columns that fit a width, and those to report as hidden, each in the order of the table.

    In this order, until all fit: bars are shortened; names are elided to 16; bars are dropped; dispensable columns are
    hidden, most dispensable first; other columns are hidden, from the right; names are elided to 4. Prose takes what
    is left. The first column always stays, and is cut if it is wider than the terminal.
    """
    shown, hidden = list(columns), list[DrawnColumn]()
    if width is None or _total(each.width for each in shown) <= width:
        return shown, hidden
    shown = [DrawnColumn.of(each.column, each.short_bar) if each.short_bar is not None else each for each in shown]
    if _total(each.least_width(_SHORT_NAME, _EASY_PROSE) for each in shown) > width:
        shown = [each for each in shown if not each.is_bar]
    while len(shown) > 1 and _total(each.least_width(_SHORT_NAME) for each in shown) > width:
        hidden.append(shown.pop(_most_dispensable(shown)))
    in_table = [each.column.key for each in columns]
    hidden.sort(key=lambda each: in_table.index(each.column.key))
    return _with_narrow_prose(_with_short_names(shown, width, "…" if unicode else ".."), width), hidden


def _most_dispensable(shown: Sequence[DrawnColumn]) -> int:
    """Index of the column to hide first: the most dispensable, rightmost among equals."""
    return max(range(1, len(shown)), key=lambda i: (shown[i].column.dispensable, i))


def _with_short_names(columns: Sequence[DrawnColumn], width: int, ellipsis: str) -> list[DrawnColumn]:
    """Elide the widest names, all to one width, as far as needed."""

    def total(longest: int) -> int:
        return _total(each.least_width(longest) for each in columns)

    widest = max((each.width for each in columns if each.can_be_elided), default=_LEAST_NAME)
    longest = next((n for n in range(widest, _LEAST_NAME, -1) if total(n) <= width), _LEAST_NAME)
    return [each.elided(longest, ellipsis) if each.can_be_elided and each.width > longest else each for each in columns]


def _with_narrow_prose(columns: Sequence[DrawnColumn], width: int) -> list[DrawnColumn]:
    """Narrow the widest prose, one terminal column at a time, until all fit; nothing is wider than the terminal."""
    widths = [min(each.width, width) for each in columns]
    while _total(widths) > width:
        wide = [i for i, each in enumerate(columns) if each.column.wraps and widths[i] > LEAST_PROSE]
        if not wide:
            break
        # the last column has no gap behind it, and may be that much wider
        widths[max(wide, key=lambda i: widths[i] + (GAP if i < len(widths) - 1 else 0))] -= 1
    return [replace(each, width=narrow) for each, narrow in zip(columns, widths, strict=True)]


def _total(widths: Iterable[int]) -> int:
    listed = list(widths)
    return sum(listed) + GAP * (len(listed) - 1)


def elide(texts: Sequence[str], width: int, ellipsis: str = "…") -> list[str]:
    """Texts of at most ``width`` terminal columns; longer ones lose a part, marked by the ellipsis.

    If possible, different texts stay different: ``/data/kafka/d0/logs`` and ``/data/kafka/d1/logs`` keep the part in
    which they differ.

    Parameters
    ----------
    width
        At least the width of the ellipsis.
    """
    if all(cell_width(text) <= width for text in texts):
        return list(texts)
    different = len(set(texts))
    best: list[str] = []
    best_different = 0
    for head in _HEADS:
        cut = [_cut(text, width, int((width - len(ellipsis)) * head), ellipsis) for text in texts]
        if len(set(cut)) > best_different:
            best, best_different = cut, len(set(cut))
        if best_different == different:
            break
    return best


def _cut(text: str, width: int, head: int, ellipsis: str) -> str:
    if cell_width(text) <= width:
        return text
    tail = beginning(text[::-1], width - len(ellipsis) - head)[::-1]
    return beginning(text, head) + ellipsis + tail


def cell_width(text: str) -> int:
    """Terminal columns that a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def beginning(text: str, width: int) -> str:
    """The longest beginning of at most so many terminal columns: a Chinese character, for example, takes two."""
    if text.isascii():
        return text[:width]
    ends = accumulate(cell_len(character) for character in text)
    return "".join(character for character, end in zip(text, ends, strict=True) if end <= width)
