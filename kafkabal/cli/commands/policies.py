"""``kafkabal policies``: list the routing policies."""

from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import Forms, OutputOptions
from kafkabal.cli.framework.show_report import show_report


def policies(
    context: CommandContext,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Policies to show, by name or package.module:object. [default: all]"),
    ] = None,
) -> None:
    """List routing policies: how each decides and what it needs.

    route-simulate and produce use the same policies. Use your own as package.module:object, or install a package that
    offers it in the entry-point group kafkabal.policies.

    Examples:

      kafkabal policies

      kafkabal policies score adaptive -o json
    """
    from kafkabal.reporting.policies_report import policies_report

    show_report(policies_report(names or ()), output, context)
