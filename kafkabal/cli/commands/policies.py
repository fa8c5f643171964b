"""``kafkabal policies``: what can decide where a record goes."""

from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.output import show
from kafkabal.cli.framework.shared_options import Forms, OutputOptions


def policies(
    context: CommandContext,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these; package.module:object works too.")
    ] = None,
) -> None:
    """List the routing policies: how each decides, what it needs, whether it keeps key order.

    The same policies are compared by route-simulate and used by produce. Your own is used as package.module:object,
    or offered by an installed package through the entry-point group kafkabal.policies.

    Examples:

      kafkabal policies

      kafkabal policies score adaptive -o json
    """
    from kafkabal.reporting.policies_report import policies_report

    show(policies_report(names or ()), output, context)
