"""``kafkabal help``: commands and pages of the documentation, in the terminal."""

from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import PROGRAM, CommandContext
from kafkabal.errors import ExitCode, UsageError
from kafkabal.wording import suggestion


def help_(
    context: CommandContext,
    topic: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]...", help="Command, or page of the documentation."),
    ] = None,
) -> ExitCode | None:
    """Show the help of a command, or a page of the documentation.

    The pages are those that were installed with this version. The page of a command follows its help.

    Examples:

      kafkabal help

      kafkabal help rebalance plan

      kafkabal help own-score
    """
    from kafkabal.cli.framework.command_table import COMMANDS

    words = topic or []
    if words and words[0] in COMMANDS:
        from kafkabal.cli.main import main

        code = main([*words, "--help"], context)
        if code != ExitCode.DONE:
            return ExitCode(code)
    from kafkabal.reporting.help_pages import draw_page, page_names, read_page, topics_report

    if not words:
        from kafkabal.cli.framework.shared_options import OutputOptions
        from kafkabal.cli.framework.show_report import show_report

        show_report(topics_report(), OutputOptions(), context)
        return None
    name = "-".join(words)
    if name not in page_names():
        if words[0] in COMMANDS:
            return None
        hint = suggestion(name, [*COMMANDS, *page_names()], most=1) or f"list them with '{PROGRAM} help'"
        raise UsageError(f"unknown help topic: {name!r}", hint=hint)
    separator = "\n" if words[0] in COMMANDS else ""
    context.stdout.write(separator + draw_page(read_page(name), context.out))
    return None
