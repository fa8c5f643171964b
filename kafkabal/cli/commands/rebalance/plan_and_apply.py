"""``kafkabal rebalance``: plan, show, ask, apply."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.commands.rebalance.check_and_finish_drain import (
    check_of_drain,
    finish_drain,
    saying_whether_safe_to_stop,
)
from kafkabal.cli.commands.rebalance.plan_command_options import (
    PLAN_SETTINGS,
    PlanCommandOptions,
    plan_options,
    without_brokers,
)
from kafkabal.cli.commands.rebalance.run_command_options import (
    RUN_CLUSTER,
    RUN_SETTINGS,
    RunCommandOptions,
    RunFormat,
    RunOutput,
    StartCommandOptions,
    WaitOption,
)
from kafkabal.cli.commands.rebalance.show_and_diff import AllOption
from kafkabal.cli.framework.cluster_access import open_cluster_to_change, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.measurement_options import MeasurementOptions
from kafkabal.cli.framework.options_without_effect import OF_CLUSTER, refuse_all_beside
from kafkabal.cli.framework.shared_options import SCOPE_SECTION, Format, OutputOptions, SaveOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.slow_notice import saying_if_planning_is_slow
from kafkabal.clusters import FOR_REPORTS
from kafkabal.config import Settings
from kafkabal.errors import ExitCode

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.model import ClusterState
    from kafkabal.plan import Plan


_OF_DRAIN_CHECK: Final = ("--check", "--drain", "--exclude-brokers", "--throttle", *OF_CLUSTER)


def rebalance(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER, *PLAN_SETTINGS, *RUN_SETTINGS, "count_capacity", "dead_after")],
    planning: PlanCommandOptions,
    command_options: RunCommandOptions,
    begin: StartCommandOptions,
    output: RunOutput,
    saving: SaveOptions,
    measurements: MeasurementOptions,
    all_rows: AllOption = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="With --drain: show whether the brokers can be drained; exit 4 if not.",
            rich_help_panel=SCOPE_SECTION,
        ),
    ] = False,
    wait_s: WaitOption = None,
) -> ExitCode:
    """Rebalance partitions across brokers, under a throttle.

    Makes a plan, shows it, prompts, and applies it under a throttle. Before the first change it records everything
    needed to resume, roll back or clean up. With --yes it is safe for cron: it refuses (exit 4) what is not safe,
    leaves no throttle behind, and is quiet when there is nothing to do. A crashed run of this host is resumed first.

    Examples:

      kafkabal rebalance

      kafkabal rebalance --yes --throttle 50MB/s --window 01:00-05:00 -q

      kafkabal rebalance --dry-run --exit-code

      kafkabal rebalance --drain 3,4

      kafkabal rebalance --drain 3 --check

      kafkabal rebalance --leaders-only --score latency --telemetry topic
    """
    if check:
        refuse_all_beside("--check", _OF_DRAIN_CHECK, context)
        return check_of_drain(context, settings, planning.drain, output)
    planning.check(context)
    begin.check(context)
    measurements.check_plans_leaders(is_leaders_only=planning.leaders_only)
    measurements.check_scores(settings, context)
    options = plan_options(settings, planning)
    from kafkabal.cli.commands.rebalance.check_and_apply import ApplyCommand
    from kafkabal.cli.commands.rebalance.dead_broker_grace import gone_brokers, longest_stay_s, waiting_for
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session

    cluster = open_cluster_to_change(settings, saving, context, dry_run=begin.dry_run, yes=begin.yes)
    with open_run_session("rebalance", settings, context, output, cluster, wait_s, dry_run=begin.dry_run) as command:
        context = command.context
        applying = ApplyCommand(command, begin, command_options, all_rows=all_rows).resume_unfinished()
        drained = options.drain
        stay_s = longest_stay_s(is_unattended=begin.yes, max_runtime_s=command_options.max_runtime_s)
        state, waiting = _read(command, drained, None if begin.dry_run else stay_s)
        if waiting:
            applying.report_nothing()
            raise waiting_for(waiting, settings)
        gone = gone_brokers(cluster, state, settings, context, drained | options.exclude_brokers)
        options = without_brokers(options, gone)
        from kafkabal.planner import make_plan  # after reading: planning needs numpy

        measured = measurements.completed(state, cluster, settings, context)
        # a cron job that has nothing to do stays quiet
        with saying_if_planning_is_slow(context.detail if begin.yes else context.say, measured):
            plan = make_plan(measured, options)
        _show(plan, output, context, all_rows=all_rows)
        applying = applying.as_far_as_known(state)
        with saying_whether_safe_to_stop(command, () if begin.dry_run else options.drain):
            code = applying.apply(plan)
        if drained and not begin.dry_run:
            finish_drain(applying, options, state)
        if code is ExitCode.DONE:
            applying.refuse_broken(plan, state)
        return code


def _read(
    command: "RunSession", drained: Collection[int], stay_s: float | None
) -> "tuple[ClusterState, Mapping[int, float]]":
    """The cluster, and its dead brokers that may come back, after a wait of up to ``stay_s``; None does not wait."""
    from kafkabal.cli.commands.rebalance.dead_broker_grace import await_end_of_grace, known_before, recently_dead

    if stay_s is not None:
        return await_end_of_grace(command, drained, stay_s)
    cluster, settings, context = command.cluster, command.settings, command.context
    before = known_before(cluster, settings, context)
    # of a dry run: a run requires the reassignments in flight
    state = read_cluster(cluster, settings, context, FOR_REPORTS).state
    return state, recently_dead(cluster, state, settings, context, drained=drained, before=before)


def _show(plan: "Plan", output: RunOutput, context: CommandContext, *, all_rows: bool) -> None:
    """Show the moves of a plan in a table, otherwise only its warnings; nothing with ``-q``."""
    if context.quiet:
        return
    if output.output is not RunFormat.TABLE or not plan.partitions:
        # the table shows them itself; remaining imbalance is never why a run fails, and no news for cron
        for warning in plan.warnings:
            context.warn(warning)
        return
    from kafkabal.reporting.plan_moves import FIRST_MOVES
    from kafkabal.reporting.plan_report import plan_report

    rows = None if all_rows else FIRST_MOVES
    show_report(plan_report(plan, "rebalance", rows), OutputOptions(output=Format.TABLE), context)
