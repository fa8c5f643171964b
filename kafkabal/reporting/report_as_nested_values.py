"""Converts a report to the nested values that JSON and YAML share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafkabal.errors import UsageError
from kafkabal.reporting.report import BARS, Report, Table

FORMAT_VERSION: Final = 3
"""Incremented when a key is renamed or removed, or changes its type; not when keys are added."""


def as_document(report: Report) -> dict[str, Any]:
    """The envelope, then headline and notes, the facts, and each table as a list of rows under its key."""
    document: dict[str, Any] = {"kafkabal": {"command": report.command, "version": FORMAT_VERSION}}
    document |= {"headline": report.headline, "notes": list(report.notes)}
    document |= {fact.key: fact.value for fact in report.facts}
    return document | {table.key: list(rows(table)) for table in report.tables}


def rows(table: Table) -> Iterator[dict[str, Any]]:
    """Each row of a table by key, with ``KEY_estimated`` after a column that can have estimates."""
    columns = dict(machine_columns(table))
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def first_table(report: Report, form: str) -> Table:
    """The first table, for formats with a single table.

    Raises
    ------
    UsageError
        If the report has no table.
    """
    if not report.tables:
        raise UsageError(f"{form} output not supported: {report.command}", hint="use -o json")
    return report.tables[0]


def machine_columns(table: Table) -> Iterator[tuple[str, Sequence[Any]]]:
    """Keys and values for programs: without bars, which only draw another column, and columns only for people."""
    for column in table.columns:
        if column.kind in BARS or column.for_people:
            continue
        yield column.key, column.values
        if column.estimated is not None:
            yield f"{column.key}_estimated", column.estimated
