"""Formats single values for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkabal.printable import printable
from kafkabal.reporting.report import Column, ValueKind
from kafkabal.units import format_bytes, format_duration, format_moment, format_percent, format_rate
from kafkabal.wording import replica_list

UNKNOWN = "-"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_FAIR_MARK = "┊"
_EXACT_FLOAT = 2**53
"""From here on the digits of a float mean nothing, and there may be three hundred of them."""


def show_value(value: Any, kind: ValueKind) -> str:
    """Text of a value; ``-`` if unknown."""
    if value is None:
        return UNKNOWN
    match kind:
        case ValueKind.BYTES:
            return format_bytes(value)
        case ValueKind.RATE:
            return format_rate(value)
        case ValueKind.PERCENT:
            return format_percent(value)
        case ValueKind.FAIR:
            return f"{value:.2f}x"
        case ValueKind.DURATION:
            return format_duration(value)
        case ValueKind.TIME:
            return printable(format_moment(value))
        case ValueKind.MAP:
            return printable(", ".join(f"{key} {each}" for key, each in value.items())) or UNKNOWN
        case ValueKind.NUMBER:
            return _show_number(value)
        case _:
            return _show_text(value)


def shown_cells(column: Column, rows: int | None, arrows: Sequence[str]) -> list[str]:
    """Texts of the first ``rows`` values of a column, None for all: a ``~`` before an estimate, an arrow after a value
    outside its band.

    Parameters
    ----------
    arrows
        What follows a value within its band, above it, and below it, if any value of the column is outside.
    """
    has_arrows = any(column.outside)
    return [
        ("~" if column.estimated is not None and column.estimated[i] else "")
        + show_value(value, column.kind)
        # index -1 is the last
        + (arrows[column.outside[i]] if has_arrows else "")
        for i, value in enumerate(column.values[:rows])
    ]


def bars(values: Sequence[float | None], *, length: int, fair_mark: bool, unicode: bool) -> list[str]:
    """A bar for each value, the longest filling all ``length`` cells; an unknown value has no bar.

    Parameters
    ----------
    fair_mark
        Draw a mark at 1.0, the fair share.
    """
    longest = max((value for value in values if value is not None), default=1.0)
    full = max(longest, 1.0) if fair_mark else longest or 1.0
    mark = min(int(length / full), length - 1) if fair_mark else None
    return ["" if value is None else _bar(value / full * length, mark, unicode=unicode) for value in values]


def _bar(cells: float, mark: int | None, *, unicode: bool) -> str:
    full, rest = divmod(round(cells * 8), 8)
    drawn = "█" * full + _EIGHTHS[rest].strip() if unicode else "#" * round(cells)
    if mark is None or len(drawn) > mark:
        return drawn
    return drawn.ljust(mark) + (_FAIR_MARK if unicode else "|")


def _show_number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if abs(value) < _EXACT_FLOAT else f"{value:.3e}"


def _show_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, list | tuple):
        are_brokers = all(isinstance(item, int) for item in value)
        return printable(replica_list(value) if are_brokers else ", ".join(map(str, value))) or UNKNOWN
    return printable(str(value))
