"""Fits columns to a terminal: bars are dropped before names are shortened, names are shortened before columns are
hidden."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from rich.cells import cell_len
from rich.text import Text

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
    cells: Sequence[Text]
    width: int
    """Terminal columns that it needs uncut."""
    short_bar: Sequence[Text] | None
    """Shorter cells, for a bar."""

    @classmethod
    def of(cls, column: Column, cells: Sequence[Text], short_bar: Sequence[Text] | None = None) -> DrawnColumn:
        """Measure its width."""
        return cls(column, cells, max([len(column.title), *(cell.cell_len for cell in cells)]), short_bar)

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
        texts = elide([cell.plain for cell in self.cells], width, ellipsis)
        pairs = zip(self.cells, texts, strict=True)
        return replace(self, cells=[type(cell)(text, cell.style) for cell, text in pairs], width=width)


def fitting(
    columns: Sequence[DrawnColumn], width: int | None, *, unicode: bool = True
) -> tuple[list[DrawnColumn], list[DrawnColumn]]:
    """The columns that fit a width, and those to report as hidden, each in the order of the table.

    In this order, until all fit: bars are shortened; names are elided to 16; bars are dropped; dispensable columns are
    hidden, most dispensable first; other columns are hidden, from the right; names are elided to 4. The first column
    always stays.
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
    return _with_short_names(shown, width, "…" if unicode else ".."), hidden


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
    if all(cell_len(text) <= width for text in texts):
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
    if cell_len(text) <= width:
        return text
    tail = _start(text[::-1], width - len(ellipsis) - head)[::-1]
    return _start(text, head) + ellipsis + tail


def _start(text: str, width: int) -> str:
    """The longest beginning of at most so many terminal columns: a Chinese character, for example, takes two."""
    if text.isascii():
        return text[:width]
    ends = accumulate(cell_len(character) for character in text)
    return "".join(character for character, end in zip(text, ends, strict=True) if end <= width)
