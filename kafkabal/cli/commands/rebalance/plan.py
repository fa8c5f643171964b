"""``kafkabal rebalance plan``: make a plan; change nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.atomic_files import STDOUT, check_replaceable
from kafkabal.cli.commands.rebalance.check_and_finish_drain import refuse_incomplete_drain
from kafkabal.cli.commands.rebalance.plan_command_options import (
    PLAN_SETTINGS,
    PlanCommandOptions,
    plan_options,
    without_brokers,
)
from kafkabal.cli.commands.rebalance.show_and_diff import AllOption
from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_options
from kafkabal.cli.framework.measurement_options import MeasurementOptions
from kafkabal.cli.framework.options_without_effect import refuse_beside, refuse_without
from kafkabal.cli.framework.shared_options import CLUSTER, OUTPUT_SECTION, Format, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.slow_notice import saying_if_planning_is_slow
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, UsageError
from kafkabal.gc_pause import cycle_collection_paused
from kafkabal.printable import shell_word
from kafkabal.units import parse_positive_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.clusters import Cluster
    from kafkabal.model import ClusterState
    from kafkabal.plan import Plan
    from kafkabal.planner import PlanOptions, WhatIf


_FOR_PEOPLE: Final = (Format.TABLE, Format.MARKDOWN)


def plan(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, *PLAN_SETTINGS, "count_capacity", "predicted_throttle")],
    command_options: PlanCommandOptions,
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "markdown", "html")],
    measurements: MeasurementOptions,
    plan_file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=check_replaceable,
            help="Write the plan to FILE, for 'rebalance apply'; - is standard output.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = None,
    all_rows: AllOption = False,
    plan_for_s: Annotated[
        float | None,
        typer.Option(
            "--plan-for",
            metavar="TIME",
            parser=parse_positive_duration,
            help="Balance the cluster as it will be after TIME, by its history ('inspect --record').",
        ),
    ] = None,
    frontier: Annotated[
        bool, typer.Option("--frontier", help="Show the trade-off between bytes moved and tolerance; write no plan.")
    ] = False,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="add=ID:RACK:SIZE",
            help="Simulate adding (add=ID:RACK:SIZE) or removing (remove=ID) brokers; write no plan. Repeatable.",
        ),
    ] = None,
) -> ExitCode:
    """Make a plan; change nothing.

    The plan brings every score inside its band with as few bytes moved as possible, and states the lower bound for any
    plan. With --throttle, it also predicts how long the copies between brokers take. The same cluster and options give
    the same plan on every machine. Apply the file with 'kafkabal rebalance apply' or Kafka's own
    kafka-reassign-partitions. Exits 0 even if the plan leaves something broken, which it names; 'kafkabal rebalance
    --dry-run' exits 3 then.

    Examples:

      kafkabal rebalance plan --out plan.json

      kafkabal rebalance plan --snapshot cluster.jsonl --tolerance 2% --out plan.json

      kafkabal rebalance plan --drain 3,4 --max-bytes 2TB --out plan.json

      kafkabal rebalance plan --max-bytes 500GB --keep-moved plans --out plans/monday.json

      kafkabal rebalance plan --plan-for 14d --out plan.json

      kafkabal rebalance plan --throttle 50MB/s

      kafkabal rebalance plan --frontier

      kafkabal rebalance plan --what-if add=7:r1:4TiB
    """
    if plan_file is not None and (frontier or what_if):
        raise UsageError("--what-if and --frontier cannot be combined with --out", hint="leave out --out")
    command_options.check(context)
    if frontier:
        refuse_beside("--frontier", ("--tolerance", "--all"), context)
        if settings.max_duration_s is None:
            refuse_without("--max-duration", ["--throttle"], context)
    if settings.origin("throttle") == "--throttle" and not isinstance(settings.throttle, int):
        raise UsageError(
            f"--throttle: a plan requires a rate, not {settings.throttle!r}",
            hint="give a rate, as in --throttle 50MB/s, to predict the duration",
        )
    measurements.check_plans_leaders(is_leaders_only=command_options.leaders_only)
    measurements.check_scores(settings, context)
    options = plan_options(settings, command_options)
    supposed = _changes_of_brokers(what_if or (), options)
    # millions of rows and changes, none of them in a reference cycle
    with cycle_collection_paused():
        present, later, full, gone = _state(settings, options, measurements, plan_for_s, context)
        from msgspec.structs import replace

        from kafkabal.inspection import beyond_moves
        from kafkabal.plan import with_present_bytes  # after reading: planning needs numpy
        from kafkabal.planner import make_plan, suppose

        state, options = later, without_brokers(options, gone)
        if supposed is not None:
            state, options = suppose(state, options, supposed)
        if frontier:
            for warning in full:
                context.warn(warning)
            _show_frontier(state, options, output, context)
        else:
            with saying_if_planning_is_slow(context.say, state):
                made = make_plan(state, options)
            broken = "; ".join(beyond_moves(present))
            beyond = (f"{broken}: moving replicas does not repair this",) if broken else ()
            made = replace(made, warnings=(*made.warnings, *beyond, *full))
            if plan_for_s is not None and not what_if:
                made = with_present_bytes(made, present, {"plan_for_s": plan_for_s})
            _show_plan(made, plan_file, output, settings, context, all_rows=all_rows)
            refuse_incomplete_drain(made, state, options, settings, context)
    return ExitCode.DONE


def _show_frontier(
    state: "ClusterState", options: "PlanOptions", output: OutputOptions, context: CommandContext
) -> None:
    from kafkabal.planner import frontier
    from kafkabal.reporting.frontier_report import frontier_report

    with saying_if_planning_is_slow(context.say, state):
        plans = frontier(state, options)
    show_report(frontier_report(plans), output, context)


def _show_plan(
    made: "Plan",
    plan_file: Path | None,
    output: OutputOptions,
    settings: Settings,
    context: CommandContext,
    *,
    all_rows: bool,
) -> None:
    from kafkabal.plan import write_plan
    from kafkabal.reporting.plan_moves import FIRST_MOVES
    from kafkabal.reporting.plan_report import plan_report

    if plan_file is not None:
        write_plan(made, plan_file)
    in_table = output.output in _FOR_PEOPLE
    # with -q the result is the plan file, if there is one
    is_shown = not in_table or plan_file is None or not context.quiet
    if is_shown:
        rate = settings.throttle if isinstance(settings.throttle, int) else None
        shown_moves = None if all_rows else FIRST_MOVES
        show_report(plan_report(made, "rebalance plan", shown_moves, throttle_bytes_per_s=rate), output, context)
    if not (in_table and is_shown):
        # the table shows the warnings itself
        for warning in made.warnings:
            context.warn(warning)
    if plan_file not in (None, STDOUT):
        options = cluster_options(settings, context)
        # nothing is ever written to a snapshot
        trial = " --dry-run" if settings.snapshot is not None else ""
        command = f"kafkabal rebalance apply {shell_word(str(plan_file))} {options}".strip() + trial
        then = f"; next: {command}" if made.partitions else ""
        context.say(f"wrote plan {made.plan_id} to {plan_file}{then}")


def _state(
    settings: Settings,
    options: "PlanOptions",
    measurements: MeasurementOptions,
    plan_for_s: float | None,
    context: CommandContext,
) -> "tuple[ClusterState, ClusterState, tuple[str, ...], frozenset[int]]":
    """The cluster now, the cluster to balance, a warning, and brokers to drain or exclude that are no longer in it.

    With ``plan_for_s``, the cluster to balance is the one of that many seconds later, and the warning names the log
    dirs that are full by then.
    """
    from kafkabal.cli.commands.rebalance.dead_broker_grace import gone_brokers
    from kafkabal.clusters import InFlight, ReadRequest

    is_forecast = plan_for_s is not None
    with open_cluster(settings, context) as cluster:
        request = ReadRequest(configs=is_forecast, offsets=is_forecast, in_flight=InFlight.IF_KNOWN)
        read = read_cluster(cluster, settings, context, request).state
        present = measurements.completed(read, cluster, settings, context)
        later, full = (present, ()) if plan_for_s is None else _forecast(cluster, present, plan_for_s, context)
        named = options.drain | options.exclude_brokers
        return present, later, full, gone_brokers(cluster, present, settings, context, named)


def _forecast(
    cluster: "Cluster", present: "ClusterState", after_s: float, context: CommandContext
) -> "tuple[ClusterState, tuple[str, ...]]":
    """The cluster at a later time, and a warning that names the log dirs which are full by then."""
    from kafkabal.cli.commands.inspect_history import (
        DEFAULT_OVER_S,
        disks_full_before,
        measured_growth,
        no_history,
        read_at_s,
        warn_of_short_history,
    )
    from kafkabal.history import forecast_cluster
    from kafkabal.units import format_bytes, format_duration

    now_s = read_at_s(present, context)
    growth = measured_growth(cluster, present, DEFAULT_OVER_S, now_s, context)
    if growth is None:
        raise no_history(present, DEFAULT_OVER_S, now_s, context)
    warn_of_short_history(growth, after_s, context)
    forecast = forecast_cluster(present, growth.partitions, growth.retention)
    later = forecast.state_at(after_s)
    grown = int(later.replicas.size_bytes.sum()) - int(present.replicas.size_bytes.sum())
    word = "grows by" if grown >= 0 else "shrinks by"
    context.say(
        f"in {format_duration(after_s)} the cluster {word} {format_bytes(abs(grown))}; the plan is for that size"
    )
    return later, disks_full_before(forecast, after_s)


def _changes_of_brokers(what_if: "Sequence[str]", options: "PlanOptions") -> "WhatIf | None":
    """The brokers that --what-if adds and removes; None without it."""
    if not what_if:
        return None
    from kafkabal.planner import parse_what_if

    return parse_what_if(what_if, options.mode)
