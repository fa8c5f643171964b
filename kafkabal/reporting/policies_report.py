"""The report of ``policies``: how each decides, what it needs, and whether it keeps records of a key in order."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.reporting.report import Column, Report, Table
from kafkabal.routing import Context, load_policy, options_of, policy_names


def policies_report(names: Sequence[str] = ()) -> Report:
    """List policies; without names, all that the registry knows.

    Raises
    ------
    UsageError
        If a policy is unknown, or one of its options is wrong.
    """
    choices = [load_policy(name) for name in dict.fromkeys(names or policy_names())]
    for choice in choices:
        if choice.options:
            choice.create(Context())  # checks the ranges of the values
    abouts = [choice.about for choice in choices]
    options = [options_of(choice.make) for choice in choices]
    return Report(
        command="policies",
        tables=(
            Table(
                key="policies",
                columns=(
                    Column(key="policy", title="policy", values=[about.name for about in abouts], label=True),
                    Column(key="keeps_key_order", title="keeps key order", values=[a.keeps_key_order for a in abouts]),
                    Column(key="needs", title="needs", values=[sorted(a.inputs) for a in abouts], dispensable=1),
                    Column(key="feedback", title="", values=[about.feedback.value for about in abouts]),
                    Column(key="meaning", title="sends each record to", values=[a.meaning for a in abouts], wraps=True),
                    Column(key="source", title="", values=[about.source for about in abouts]),
                    Column(
                        key="options",
                        title="options",
                        wraps=True,
                        dispensable=2,
                        values=[[f"{key}={_written(value)}" for key, value in each.items()] for each in options],
                    ),
                ),
            ),
        ),
        notes=("Options follow the name: power-of-d:d=3, adaptive:batch-size=65536,availability-timeout-ms=100.",),
    )


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
