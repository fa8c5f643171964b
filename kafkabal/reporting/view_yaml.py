"""A report as one YAML document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import yaml

from kafkabal.reporting.document import as_document

if TYPE_CHECKING:
    from kafkabal.reporting.report import Report
    from kafkabal.reporting.surface import Surface


def render(report: Report, surface: Surface) -> str:  # noqa: ARG001
    """The same content and order as the JSON form."""
    return yaml.safe_dump(msgspec.to_builtins(as_document(report)), sort_keys=False, allow_unicode=True)
