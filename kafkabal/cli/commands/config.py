"""``kafkabal config show``: which settings hold, and where each comes from."""

from typing import Annotated

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import ONE_CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.config import Settings


def show(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*ONE_CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv")],
) -> None:
    """Show all settings that are set, with their values and where they come from.

    Flags take precedence over environment variables, these over the profile, and the profile over defaults. Connects
    to no cluster.

    Examples:

      kafkabal config show

      kafkabal config show --profile prod --tolerance 5% -o json
    """
    from kafkabal.reporting.config_report import config_report

    show_report(config_report(settings), output, context)
