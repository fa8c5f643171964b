"""Renders a report as a self-contained HTML file: no scripts, light and dark, printable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from kafkabal.printable import printable
from kafkabal.reporting.cell_formats import show_value, shown_cells
from kafkabal.reporting.line_chart_svg import drawn_line_chart
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import BARS, Chart, Column, HeatMap, LineChart, Report, ShareChart, Table, ValueKind

_TEMPLATE: Final = "report.html.j2"
_ARROWS: Final = ("", " ▲", " ▼")
_LEFT: Final = frozenset({ValueKind.TEXT, ValueKind.MAP}) | BARS
# a page with more rows opens slowly; the other formats have all rows for programs
_MOST_ROWS: Final = 1000
_MOST_BARS: Final = 60
"""As many as fit on a screen without scrolling; the table has all."""
# shares from here on have the strongest colour
_HOTTEST: Final = 2.0


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table; a bar has a width in percent instead of text."""

    text: str
    classes: str
    bar_percent: float | None = None
    fair_percent: float | None = None


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001 - a page fits itself to its window
    """Render a whole page."""
    environment = Environment(
        loader=PackageLoader("kafkabal.reporting", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: printable(value) if isinstance(value, str) else value,
    )
    return environment.get_template(_TEMPLATE).render(
        title=f"kafkabal {report.command}",
        headline=report.headline,
        tone=report.tone.value,
        facts=[(fact.title, show_value(fact.value, fact.kind)) for fact in report.facts if fact.title],
        charts=[_drawn(chart) for chart in report.charts()],
        tables=[_drawn_table(table) for table in report.tables if table.is_shown],
        notes=report.notes_for_people(),
    )


def _drawn_table(table: Table) -> dict[str, Any]:
    columns = [column for column in table.columns if column.is_shown]
    cells = [_cells(column) for column in columns]
    return {
        "title": table.title,
        "heads": [(column.title, _head_class(column)) for column in columns],
        "rows": list(zip(*cells, strict=True)),
        "hidden": max(table.n_rows - _MOST_ROWS, 0),
    }


def _head_class(column: Column) -> str:
    if column.kind in BARS:
        return "bar"
    return "" if column.kind in _LEFT else "number"


def _cells(column: Column) -> list[Cell]:
    if column.kind in BARS:
        return list(_bars(column.values[:_MOST_ROWS], has_fair=column.kind is ValueKind.FAIR_BAR))
    return [
        Cell(
            text=text,
            classes=" ".join(
                (column.tones[i].value if column.tones else "", "" if column.kind in _LEFT else "number")
            ).strip(),
        )
        for i, text in enumerate(shown_cells(column, _MOST_ROWS, _ARROWS))
    ]


def _bars(values: Sequence[float | None], *, has_fair: bool) -> Iterator[Cell]:
    longest = max((value for value in values if value is not None), default=1.0)
    full = max(longest, 1.0) if has_fair else longest or 1.0
    for value in values:
        yield Cell(
            text="",
            classes="bar",
            bar_percent=0.0 if value is None else 100 * value / full,
            fair_percent=100 / full if has_fair else None,
        )


def _drawn(chart: Chart) -> dict[str, Any]:
    match chart:
        case HeatMap():
            return _heat_map(chart)
        case LineChart():
            return drawn_line_chart(chart)
        case _:
            return _share_chart(chart)


def _share_chart(chart: ShareChart) -> dict[str, Any]:
    """Bars in percent of the width; the scale ends at the largest share, before or after."""
    known = [share for share in (*chart.shares, *chart.before) if share is not None]
    edges = [edge for edge in chart.high if edge is not None]
    full = max([1.1, *known, *edges]) * 1.02

    def percent(values: Sequence[float | None], i: int) -> float | None:
        value = values[i] if values else None
        return None if value is None else 100 * value / full

    rows = []
    for i, label in enumerate(chart.labels[:_MOST_BARS]):
        share, low, high = chart.shares[i], percent(chart.low, i), percent(chart.high, i)
        rows.append(
            {
                "label": label,
                "text": show_value(share, ValueKind.FAIR),
                "width": percent(chart.shares, i),
                "before": percent(chart.before, i),
                "before_text": show_value(chart.before[i], ValueKind.FAIR) if chart.before else "",
                "low": low,
                "band": None if low is None or high is None else high - low,
                "outside": bool(chart.outside) and chart.outside[i],
            }
        )
    return {
        "kind": "shares",
        "title": chart.title,
        "rows": rows,
        "fair": 100 / full,
        "has_before": bool(chart.before),
        "has_bands": bool(chart.low),
        "hidden": max(len(chart.labels) - _MOST_BARS, 0),
    }


def _heat_map(chart: HeatMap) -> dict[str, Any]:
    return {
        "kind": "heat",
        "title": chart.title,
        "columns": chart.column_labels,
        "rows": [
            {"label": label, "cells": [_heat(share) for share in shares]}
            for label, shares in zip(chart.row_labels, chart.shares, strict=True)
        ],
    }


def _heat(share: float | None) -> dict[str, Any]:
    """Above 1 is warm, below is cold; the strength is the distance from 1."""
    if share is None:
        return {"text": "", "classes": "none", "strength": 0}
    distance = min(abs(share - 1) / (_HOTTEST - 1), 1.0)
    return {"text": f"{share:.2f}", "classes": "warm" if share > 1 else "cold", "strength": round(100 * distance)}
