"""Renders a report as one YAML document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import msgspec
import yaml

from kafkabal.chunks import chunked
from kafkabal.reporting.json_text import json_text
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.report import Report
from kafkabal.reporting.report_as_nested_values import as_document, rows

_ROWS_AT_ONCE: Final = 1000
"""PyYAML builds objects of some hundred bytes for every value of what it writes at once."""
_DUMPER: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Three times as fast in C; PyYAML may be installed without it."""


def render(report: Report, surface: OutputCapabilities) -> str:  # noqa: ARG001
    """The same content and order as in JSON, which has no infinite numbers."""
    return "".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    yield _yaml(as_document(replace(report, tables=())))
    for table in report.tables:
        yield f"{table.key}:\n" if table.n_rows else f"{table.key}: []\n"
        yield from map(_yaml, chunked(rows(table), _ROWS_AT_ONCE))


def _yaml(value: Any) -> str:
    text: str = yaml.dump(msgspec.json.decode(json_text(value)), Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    return text
