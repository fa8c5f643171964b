"""``kafkabal rebalance explain``: tell in words why a partition is planned."""

from pathlib import Path
from typing import Annotated

import typer

from kafkabal.cli.context import CommandContext
from kafkabal.cli.options import Forms, OutputOptions
from kafkabal.cli.output import show
from kafkabal.errors import ExitCode, UsageError


def explain(
    context: CommandContext,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml")],
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan file.")],
    partition: Annotated[str, typer.Argument(metavar="TOPIC-PARTITION", help="Such as img-3.")],
) -> ExitCode:
    """Tell in words why a partition is planned.

    Examples:

      kafkabal rebalance explain plan.json img-3
    """
    from kafkabal.plan.file import read_plan
    from kafkabal.reporting.explanation import explanation_report

    plan = read_plan(plan_file)
    change = next((c for c in plan.partitions if c.name == partition), None)
    if change is None:
        raise UsageError(f"{plan_file} plans nothing for {partition}", hint="it lists only partitions that change")
    show(explanation_report(change), output, context)
    return ExitCode.DONE
