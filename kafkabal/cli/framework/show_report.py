"""Writes reports to stdout, or to a file that appears whole or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.cli.framework.shared_options import OutputOptions
    from kafkabal.reporting.report import Report


def show_report(report: Report, options: OutputOptions, context: CommandContext, *, has_changed: bool = False) -> None:
    """Write a report in the format and to the destination that the options name.

    Parameters
    ----------
    has_changed
        The command has already done its work: a stdout that fails only causes a warning.

    Raises
    ------
    UsageError
        If the report does not support the format.
    OutputError
        If the file cannot be written; a previous file stays untouched.
    """
    from kafkabal.atomic_files import STDOUT, replacing
    from kafkabal.printable import ESCAPED
    from kafkabal.reporting.output_capabilities import PLAIN
    from kafkabal.reporting.output_formats import render

    report = replace(report, notes=tuple(map(context.completed, report.notes)))
    if options.output_file in (None, STDOUT):
        text = render(report, options.output.value, context.out)
        if has_changed:
            context.show_result(text)
        else:
            context.stdout.write(text)
        return
    text = render(report, options.output.value, PLAIN)
    with replacing(options.output_file) as file:
        file.write(text.encode(errors=ESCAPED))
