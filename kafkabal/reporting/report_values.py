"""A report as the nested values that JSON and YAML share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kafkabal.reporting.report import BARS, Column, Report, Table

FORMAT_VERSION: Final = 1


def as_document(report: Report) -> dict[str, Any]:
    """Envelope first, then the headline and notes, the facts, and each table as a list of rows under its key."""
    document: dict[str, Any] = {"kafkabal": {"command": report.command, "version": FORMAT_VERSION}}
    if report.headline:
        document["headline"] = report.headline
    if report.notes:
        document["notes"] = list(report.notes)
    if report.document is not None:
        return {**document, **report.document}
    document |= {fact.key: fact.value for fact in report.facts}
    return document | {table.key: list(rows(table)) for table in report.tables}


def rows(table: Table) -> Iterator[dict[str, Any]]:
    """Each row of a table by key, with ``KEY_estimated`` after a column that has estimates."""
    columns = dict(_machine_columns(table))
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _machine_columns(table: Table) -> Iterator[tuple[str, Any]]:
    for column in machine_columns(table):
        yield column.key, column.values
        if any(column.estimated):
            yield f"{column.key}_estimated", column.estimated


def machine_columns(table: Table) -> list[Column]:
    """The columns that programs see: all but the bars, which only draw what another column says."""
    return [column for column in table.columns if column.kind not in BARS]
