"""``kafkabal rebalance status``: show the status of the latest run."""

from typing import Annotated

from kafkabal.cli.commands.rebalance.run_flags import JournalOption
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.output import show
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.config import Settings
from kafkabal.errors import ExitCode


def status(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml")],
    journal: JournalOption = None,
) -> ExitCode:
    """Show the status of the latest run.

    Compares the run with the cluster as it is now. Exits 0 if all partitions are in place and no throttle of the run
    is left, and 3 if the run is active or the cluster differs from its target.

    Examples:

      kafkabal rebalance status

      kafkabal rebalance status -o json
    """
    from kafkabal.cli.commands.rebalance.run_command import open_run_command
    from kafkabal.executor import find_run, run_status
    from kafkabal.reporting.runs.status_report import status_report

    with open_run_command("rebalance status", settings, context) as command:
        found = find_run(command.environment, journal)
        known = run_status(command.cluster, found) if found is not None and found.state.has_begun else None
    show(status_report(known), output, context)
    return ExitCode.DONE if known is None or known.is_settled else ExitCode.FINDINGS
