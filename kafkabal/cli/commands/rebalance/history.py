"""``kafkabal rebalance history``: all known runs."""

from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.config import Settings
from kafkabal.units import parse_positive_duration


def history(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "markdown")],
    last_s: Annotated[
        float | None,
        typer.Option(
            "--last", metavar="TIME", parser=parse_positive_duration, help="Only runs that began within TIME."
        ),
    ] = None,
) -> None:
    """List earlier runs, from the cluster's record and this host's journals.

    Shows for each run, the latest first: who started it, when and why, the planned bytes between brokers, and the
    outcome.

    Examples:

      kafkabal rebalance history

      kafkabal rebalance history --last 30d -o json
    """
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session
    from kafkabal.executor import run_history
    from kafkabal.reporting.runs.history_report import history_report

    with open_run_session("rebalance history", settings, context) as command:
        now_s = command.environment.clock.utc_now().timestamp()
        with command.saying_if_slow():
            found = run_history(command.environment, None if last_s is None else now_s - last_s)
    if found.why_others_unknown:
        context.warn(f"runs of other hosts are unknown: {found.why_others_unknown}")
    show_report(history_report(found.runs, last_s), output, context)
