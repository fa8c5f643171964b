"""``kafkabal rebalance apply``: apply a plan file."""

from pathlib import Path
from typing import Annotated

import typer

from kafkabal.cli.commands.rebalance.run_command_options import (
    RUN_CLUSTER,
    RUN_SETTINGS,
    RunCommandOptions,
    RunFormat,
    RunOutput,
    StartCommandOptions,
    WaitOption,
)
from kafkabal.cli.framework.cluster_access import open_cluster_to_change, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import Format, OutputOptions, SaveOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.clusters import FOR_REPORTS, ReadRequest
from kafkabal.config import Settings
from kafkabal.errors import ExitCode


def apply(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER, *RUN_SETTINGS, "dead_after")],
    command_options: RunCommandOptions,
    begin: StartCommandOptions,
    output: RunOutput,
    saving: SaveOptions,
    plan_file: Annotated[
        Path, typer.Argument(metavar="PLAN", help="Plan file, or reassignment JSON of Kafka's own tool.")
    ],
    skip_drifted: Annotated[
        bool, typer.Option("--skip-drifted", help="Skip partitions that have changed since planning.")
    ] = False,
    wait_s: WaitOption = None,
) -> ExitCode:
    """Apply a plan file.

    Refuses the plan (exit 4) if a partition has changed since planning. Before the first change it records everything
    needed to resume, roll back or clean up.

    Examples:

      kafkabal rebalance apply plan.json

      kafkabal rebalance apply plan.json --yes --throttle 50MB/s --max-runtime 4h

      kafkabal rebalance apply plan.json --dry-run
    """
    from kafkabal.cli.commands.rebalance.check_and_apply import ApplyCommand
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session
    from kafkabal.plan import read_plan

    begin.check(context)
    plan = read_plan(plan_file)
    cluster = open_cluster_to_change(settings, saving, context, dry_run=begin.dry_run, yes=begin.yes)
    with open_run_session(
        "rebalance apply", settings, context, output, cluster, wait_s, dry_run=begin.dry_run
    ) as command:
        cluster.cluster_id()  # before reports are imported, which need numpy
        if output.output is RunFormat.TABLE and not context.quiet and (begin.dry_run or not begin.yes):
            from kafkabal.reporting.plan_report import plan_report

            show_report(plan_report(plan, "rebalance apply"), OutputOptions(output=Format.TABLE), command.context)
        applying = ApplyCommand(command, begin, command_options, skip_drifted, is_from_file=True).resume_unfinished()
        # a run requires the reassignments in flight
        request = FOR_REPORTS if begin.dry_run else ReadRequest()
        state = read_cluster(cluster, settings, command.context, request).state
        code = applying.as_far_as_known(state).apply(plan)
        if code is ExitCode.DONE:
            applying.refuse_broken(plan, state)
        return code
