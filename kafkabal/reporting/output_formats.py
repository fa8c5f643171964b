"""Output formats of reports, and the module that renders each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from kafkabal.errors import UsageError
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import Report

_RENDERERS: Final[Mapping[str, str]] = {
    "table": "kafkabal.reporting.render_table",
    "json": "kafkabal.reporting.render_json",
    "jsonl": "kafkabal.reporting.render_jsonl",
    "yaml": "kafkabal.reporting.render_yaml",
    "csv": "kafkabal.reporting.render_csv",
    "markdown": "kafkabal.reporting.render_markdown",
    "html": "kafkabal.reporting.render_html",
    "prometheus": "kafkabal.reporting.render_prometheus",
}


def render(report: Report, form: str, surface: OutputCapabilities) -> str:
    """Render a report as text, ending in a newline.

    Parameters
    ----------
    form
        ``table``, ``json``, ``jsonl``, ``yaml``, ``csv``, ``markdown``, ``html`` or ``prometheus``.
    surface
        Where a table will be shown; the other formats do not depend on it.

    Raises
    ------
    UsageError
        If there is no such format.
    """
    if form not in _RENDERERS:
        raise UsageError(f"unknown output format: {form!r}", hint=f"choose from: {', '.join(_RENDERERS)}")
    text: str = import_module(_RENDERERS[form]).render(report, surface)
    return text
