"""``kafkabal rebalance show`` and ``diff``: plan files, partition by partition."""

from pathlib import Path
from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import OUTPUT_SECTION, Forms, OutputOptions
from kafkabal.cli.framework.show_report import show_report

AllOption = Annotated[
    bool, typer.Option("--all", help="List all partitions, not only the first 20.", rich_help_panel=OUTPUT_SECTION)
]


def show(
    context: CommandContext,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "markdown", "html")],
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file, or - for standard input.")],
    all_rows: AllOption = False,
) -> None:
    """Show what a plan file moves, partition by partition.

    Examples:

      kafkabal rebalance show plan.json

      kafkabal rebalance show plan.json --all -o markdown
    """
    from kafkabal.plan import read_plan
    from kafkabal.reporting.plan_moves import FIRST_MOVES
    from kafkabal.reporting.plan_report import plan_report

    report = plan_report(read_plan(plan_file), "rebalance show", None if all_rows else FIRST_MOVES)
    show_report(report, output, context)


def diff(
    context: CommandContext,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "markdown", "html")],
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Plan file.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Another plan file.")],
    all_rows: AllOption = False,
) -> None:
    """Show how two plans differ, partition by partition.

    Examples:

      kafkabal rebalance diff monday.json tuesday.json
    """
    from kafkabal.plan import read_plan
    from kafkabal.reporting.plan_diff_report import plan_diff_report
    from kafkabal.reporting.plan_moves import FIRST_MOVES

    report = plan_diff_report(read_plan(first), read_plan(second), None if all_rows else FIRST_MOVES)
    show_report(report, output, context)
