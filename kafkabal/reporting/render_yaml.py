"""Renders a report as one YAML document."""

from __future__ import annotations

import msgspec
import yaml

from kafkabal.reporting.json_text import json_text
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import Report
from kafkabal.reporting.report_as_nested_values import as_document


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001
    """The same content and order as in JSON, which has no infinite numbers."""
    content = msgspec.json.decode(json_text(as_document(report)))
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
