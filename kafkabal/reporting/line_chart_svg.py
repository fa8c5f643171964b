"""Computes the lines of a chart of bytes over time, in units of an SVG image."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from kafkabal.reporting.report import LineChart
from kafkabal.units import DAY_S, format_bytes

WIDTH: Final = 640
"""Pixels: two charts fit side by side on a wide screen, one on a printed page."""
HEIGHT: Final = 150
_HEADROOM: Final = 1.05
"""Above the largest value, so that its line is not drawn on the frame."""


def drawn_line_chart(chart: LineChart) -> dict[str, Any]:
    """The template's variables: points as SVG writes them, and the labels of the axes."""
    begin_s, end_s = chart.past[0][0], chart.future[-1][0]
    now_s = chart.past[-1][0]
    highest = max(chart.limit or 0.0, *(b for _, b in chart.past), *(high for *_, high in chart.future))
    full = highest * _HEADROOM or 1.0

    def x(at_s: float) -> float:
        return WIDTH * (at_s - begin_s) / max(end_s - begin_s, 1e-9)

    def y(size_bytes: float) -> float:
        return HEIGHT * (1 - size_bytes / full)

    def points(line: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{x(at_s):.1f},{y(size_bytes):.1f}" for at_s, size_bytes in line)

    upper = [(t, high) for t, _, _, high in chart.future]
    lower = [(t, low) for t, _, low, _ in chart.future]
    return {
        "kind": "lines",
        "title": chart.title,
        "note": chart.note,
        "width": WIDTH,
        "height": HEIGHT,
        "past": points(chart.past),
        "future": points([(t, middle) for t, middle, _, _ in chart.future]),
        "interval": points([*upper, *reversed(lower)]),
        "has_interval": any(high - low > full / 1000 for _, _, low, high in chart.future),
        "now": x(now_s),
        "now_part": 100 * x(now_s) / WIDTH,
        "limit": None if chart.limit is None else y(chart.limit),
        "limit_text": "" if chart.limit is None else format_bytes(chart.limit),
        "now_text": format_bytes(chart.past[-1][1]),
        "begin_date": _date(begin_s, end_s - begin_s),
        "now_date": _date(now_s, end_s - begin_s),
        "end_date": _date(end_s, end_s - begin_s),
    }


def _date(at_s: float, span_s: float) -> str:
    form = "%Y-%m-%d" if span_s > 3 * DAY_S else "%m-%d %H:%M" if span_s > DAY_S / 24 else "%H:%M:%S"
    return datetime.fromtimestamp(at_s, UTC).strftime(form)
