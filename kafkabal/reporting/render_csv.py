"""Renders the first table of a report as CSV, with a header line of keys."""

from __future__ import annotations

import csv
import io
from typing import Any

from kafkabal.printable import printable
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import Report
from kafkabal.reporting.report_as_nested_values import first_table, machine_columns

_FORMULA = ("=", "+", "-", "@")


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001
    """Raw values: unknown ones empty, ``true`` or ``false``, lists and ``KEY=VALUE`` of objects joined by blanks.

    Raises
    ------
    UsageError
        If the report has no table.
    """
    columns = dict(machine_columns(first_table(report, "csv")))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        value = [f"{key}={item}" for key, item in value.items()]
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return _harmless(text) if isinstance(text, str) else text


def _harmless(text: str) -> str:
    """Text without control characters that no spreadsheet evaluates as a formula, as it does by its first character."""
    shown = printable(text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
