"""Renders a report as one JSON document."""

from __future__ import annotations

import msgspec

from kafkabal.reporting.json_text import json_text
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import Report
from kafkabal.reporting.report_as_nested_values import as_document


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001
    """JSON, indented, keys in a fixed order."""
    return msgspec.json.format(json_text(as_document(report)), indent=2) + "\n"
