"""``kafkabal rebalance explain``: explain why the plan moves a partition."""

from pathlib import Path
from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.output import show
from kafkabal.cli.framework.shared_options import Forms, OutputOptions
from kafkabal.errors import ExitCode, UsageError


def explain(
    context: CommandContext,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml")],
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file.")],
    partition: Annotated[str, typer.Argument(metavar="TOPIC-PARTITION", help="Partition, such as img-3.")],
) -> ExitCode:
    """Explain why the plan moves a partition.

    Examples:

      kafkabal rebalance explain plan.json img-3
    """
    from kafkabal.plan.plan_file import read_plan
    from kafkabal.reporting.explain_report import explanation_report

    plan = read_plan(plan_file)
    change = next((c for c in plan.partitions if str(c.name) == partition), None)
    if change is None:
        raise UsageError(
            f"{plan_file}: partition not in the plan: {partition}", hint="a plan lists only partitions that change"
        )
    show(explanation_report(change), output, context)
    return ExitCode.DONE
