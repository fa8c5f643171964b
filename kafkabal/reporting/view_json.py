"""A report as one JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kafkabal.reporting.document import as_document

if TYPE_CHECKING:
    from kafkabal.reporting.report import Report
    from kafkabal.reporting.surface import Surface


def render(report: Report, surface: Surface) -> str:  # noqa: ARG001
    """JSON, indented, keys in a fixed order."""
    return msgspec.json.format(msgspec.json.encode(as_document(report)), indent=2).decode() + "\n"
