"""Renders the first table of a report as JSON Lines: the envelope, then one line per row."""

from __future__ import annotations

from typing import Any

from kafkabal.reporting.json_text import json_text
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import Report
from kafkabal.reporting.report_as_nested_values import as_document, first_table, rows


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001
    """One JSON object per line, keys in a fixed order.

    Raises
    ------
    UsageError
        If the report has no table.
    """
    table = first_table(report, "jsonl")
    head: dict[str, Any] = {"kafkabal": as_document(report)["kafkabal"]}
    return "".join(f"{json_text(line)}\n" for line in (head, *rows(table)))
