"""The forms of a report: which function renders which."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from kafkabal.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkabal.reporting.report import Report
    from kafkabal.reporting.surface import Surface

_VIEWS: Final[Mapping[str, str]] = {
    "table": "kafkabal.reporting.view_table",
    "json": "kafkabal.reporting.view_json",
    "yaml": "kafkabal.reporting.view_yaml",
    "csv": "kafkabal.reporting.view_csv",
    "prometheus": "kafkabal.reporting.view_prometheus",
}


def render(report: Report, form: str, surface: Surface) -> str:
    """The text of a report, ending in a newline.

    Parameters
    ----------
    form
        ``table``, ``json``, ``yaml``, ``csv`` or ``prometheus``.
    surface
        Where a table will be seen; the other forms do not depend on it.

    Raises
    ------
    UsageError
        If the report has no such form.
    """
    if form not in _VIEWS:
        raise UsageError(f"there is no form {form!r}", hint=f"there are {', '.join(_VIEWS)}")
    text: str = import_module(_VIEWS[form]).render(report, surface)
    return text
