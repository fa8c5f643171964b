"""Renders a report as Markdown, for a pull request or a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kafkabal.printable import printable
from kafkabal.reporting.cell_formats import show_value, shown_cells
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import BARS, Column, Report, Table, ValueKind

_SPECIAL = re.compile(r"([\\`*_{}\[\]<#|~&])")
_AT_BEGINNING = re.compile(r"^(\d*)(>|[-+=](?!\w)|[.)](?!\S))")
"""What would begin a quotation, a list or a rule; elsewhere ``1,2 -> 4,2`` stays readable as it is."""
_TEXT = frozenset({ValueKind.TEXT})
_ARROWS = ("", " ▲", " ▼")


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001
    """Headline as a heading, facts as a list, tables with pipes, notes as a list; external text is escaped."""
    return "\n\n".join("\n".join(part) for part in _parts(report) if part) + "\n"


def _parts(report: Report) -> Iterator[list[str]]:
    if report.headline:
        yield [f"### {_escaped(report.headline)}"]
    yield [f"* {_escaped(f.title)}: {_escaped(show_value(f.value, f.kind))}" for f in report.facts if f.title]
    for table in report.tables:
        columns = [c for c in table.columns if c.is_shown and c.kind not in BARS]
        if table.n_rows and columns and not table.for_programs:
            yield [f"#### {_escaped(table.title)}"] if table.title else []
            yield list(_table(table, columns))
            if (hidden := table.n_rows - (table.shown_rows or table.n_rows)) > 0:
                yield [f"and {hidden:,} more"]
    yield [f"* {_escaped(note)}" for note in report.notes_for_people()]


def _table(table: Table, columns: list[Column]) -> Iterator[str]:
    yield _row([_escaped(column.title) for column in columns])
    yield _row(["---" if column.kind in _TEXT else "---:" for column in columns])
    shown = [[_escaped(text) for text in shown_cells(c, table.shown_rows, _ARROWS)] for c in columns]
    yield from (_row(list(cells)) for cells in zip(*shown, strict=True))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return _AT_BEGINNING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", printable(text).strip()))
