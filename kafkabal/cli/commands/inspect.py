"""``kafkabal inspect``: show load imbalance."""

from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.atomic_files import STDOUT, check_replaceable
from kafkabal.cli.commands.inspect_command_options import CheckOptions, RackOptions
from kafkabal.cli.commands.inspect_fleet import (
    FleetOptions,
    FleetReader,
    cluster_limit_s,
    fleet_exit_code,
    fleet_nagios,
    show_fleet,
)
from kafkabal.cli.commands.inspect_history import (
    DEFAULT_OVER_S,
    HistoryOptions,
    growth_exit_code,
    measured_growth,
    no_history,
    not_recorded,
    read_at_s,
    record,
    seconds_of,
    soonest_full,
    warn_of_short_history,
)
from kafkabal.cli.commands.inspect_sampling import state_with_rates
from kafkabal.cli.framework.chosen_clusters import ChosenClusters
from kafkabal.cli.framework.cluster_access import open_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_label
from kafkabal.cli.framework.measurement_options import MeasurementOptions
from kafkabal.cli.framework.nagios_output import time_limit
from kafkabal.cli.framework.options_without_effect import refuse_beside, refuse_without
from kafkabal.cli.framework.selected_scores import check_shown_scores, inspection_of, options_to_rebalance
from kafkabal.cli.framework.shared_options import SEVERAL_CLUSTERS, Format, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, UsageError
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.units import parse_positive_duration

if TYPE_CHECKING:
    from kafkabal.clusters import Cluster, ConsumerRacks
    from kafkabal.history import MeasuredGrowth
    from kafkabal.inspection import Inspection
    from kafkabal.model import ClusterState
    from kafkabal.reporting.report import Report


_OF_GROUPING: Final = ("--by", "--rack-level", "--price-per-gb")
_OF_SCORES: Final = (
    "--score",
    "--tolerance",
    "--telemetry",
    "--prometheus",
    "--prometheus-query",
    "--prometheus-label",
)
"""What forecasts of disks and copies of data sets do not ask for."""


def inspect(
    context: CommandContext,
    clusters: Annotated[ChosenClusters, Uses(*SEVERAL_CLUSTERS, "shown_scores", "shown_tolerance", "data_sets")],
    output: OutputOptions,
    checks: CheckOptions,
    history: HistoryOptions,
    racks: RackOptions,
    measurements: MeasurementOptions,
    by: Annotated[
        Grouping | None,
        typer.Option("--by", help="Show rows by. [default: broker; with several clusters: one row per cluster]"),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top", metavar="N", min=0, help="Number of rows to show, 0 for all. [default: 20 topics or partitions]"
        ),
    ] = None,
    sample_s: Annotated[
        float | None,
        typer.Option(
            "--sample",
            metavar="TIME",
            parser=parse_positive_duration,
            help="Sample twice, TIME apart, to measure rates.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            parser=check_replaceable,
            help="Save a snapshot of the cluster; compressed if FILE ends in .gz; - is standard output.",
        ),
    ] = None,
    cluster_timeout_s: Annotated[
        float | None,
        typer.Option(
            "--cluster-timeout",
            metavar="TIME",
            parser=parse_positive_duration,
            help="With several clusters: timeout for each. [default: 1m]",
        ),
    ] = None,
) -> ExitCode | int:
    """Show load imbalance, worst first.

    A share of 1.00x is exactly fair. An arrow marks a share outside the band of --tolerance (default 10%, slightly
    wider than the 9% that rebalance aims at). Sizes come from the brokers' own log-dir metadata: nothing has to be
    installed on the brokers. Disks may be balanced and full: log dirs more than 85% full are named, but the exit codes
    of --check and --nagios ignore them. --growth --full-within fails for a disk that will soon be full.

    Examples:

      kafkabal inspect -b broker1:9092

      kafkabal inspect --by topic --sample 10s

      kafkabal inspect --check -q

      kafkabal inspect --nagios -w 10% -c 25%

      kafkabal inspect -o prometheus --output-file /var/lib/node_exporter/kafkabal.prom

      kafkabal inspect --profile 'prod-*' --by broker

      kafkabal inspect --all-profiles --topics 'images*'

      kafkabal inspect --record -q > /dev/null

      kafkabal inspect --growth --by log-dir --full-within 14d
    """
    fleet_only = (tuple(clusters.flags.get("data_sets") or ()), cluster_timeout_s)
    options = _InspectOptions(
        by=by, top=top, sample_s=sample_s, save=save, history=history, racks=racks, measurements=measurements
    )
    limit_s = _checked(options, output, checks, context)
    for settings in filter(None, (clusters.one, clusters.common)):
        check_shown_scores(settings)
    is_sampled = sample_s is not None
    if clusters.one is None:
        if clusters.common is not None:
            MeasurementOptions().check_scores(clusters.common, context, rates=is_sampled)
        return _inspect_fleet(
            clusters, options.of_fleet(*fleet_only, limit_s, context.begun_ago_s()), output, checks, context
        )
    hint = "add --all-profiles, or repeat --profile"
    refuse_without("several clusters", ["--topics", "--cluster-timeout"], context, hint)
    measurements.check_scores(clusters.one, context, rates=is_sampled)
    with time_limit(limit_s, context.begun_ago_s()):
        return _inspect_one(clusters.one, options, output, checks, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class _InspectOptions:
    """What to show of a cluster."""

    by: Grouping | None
    top: int | None
    sample_s: float | None
    save: Path | None
    history: HistoryOptions
    racks: RackOptions
    measurements: MeasurementOptions

    @property
    def rows(self) -> Grouping:
        """What the rows of one cluster show."""
        return self.by or Grouping.BROKER

    @property
    def is_detailed(self) -> bool:
        """Whether offsets and configs have to be read."""
        return self.save is not None or self.by is Grouping.TOPIC or self.history.is_needed

    def of_fleet(
        self, topics: tuple[str, ...], cluster_timeout_s: float | None, limit_s: float | None, used_s: float
    ) -> FleetOptions:
        """The same options for several clusters.

        Raises
        ------
        UsageError
            If an option applies to a single cluster only.
        """
        if self.save is not None or self.history.growth:
            raise UsageError("--save and --growth take one cluster", hint="choose it with --profile NAME")
        if self.measurements != MeasurementOptions():
            raise UsageError("--telemetry and --prometheus take one cluster", hint="choose it with --profile NAME")
        if self.racks != RackOptions():
            raise UsageError("--rack-level and --price-per-gb take one cluster", hint="choose it with --profile NAME")
        return FleetOptions(
            by=self.by,
            shown_rows=self.top,
            topics=topics,
            sample_s=self.sample_s,
            record=self.history.record,
            limit_s=cluster_limit_s(
                cluster_timeout_s, self.sample_s, None if limit_s is None else max(limit_s - used_s, 0.0)
            ),
        )


def _checked(
    options: _InspectOptions, output: OutputOptions, checks: CheckOptions, context: CommandContext
) -> float | None:
    """Check that the options can be combined; returns the timeout of ``--nagios`` in seconds."""
    checks.check_effect(context)
    checks.thresholds()
    options.history.check(options.by, context, nagios=checks.nagios)
    options.racks.check(options.by, context)
    if checks.nagios and checks.check:
        raise UsageError(
            "--nagios and --check cannot be combined", hint="leave out --check: --nagios has exit codes of its own"
        )
    if checks.nagios and (output.output is not Format.TABLE or output.output_file is not None):
        raise UsageError("--nagios has its own output format", hint="remove -o and --output-file")
    if checks.nagios:
        refuse_beside("--nagios", (*_OF_GROUPING, "--top", "--topics"), context)
    if "--topics" in context.given:
        unused = _OF_GROUPING if checks.check else (*_OF_GROUPING, *_OF_SCORES, "--sample")
        refuse_beside("--topics", unused, context)
    if options.history.growth and not checks.check:
        refuse_beside("--growth", _OF_SCORES if options.save is not None else (*_OF_SCORES, "--sample"), context)
    return checks.limit_s(options.sample_s)


def _inspect_one(
    settings: Settings, options: _InspectOptions, output: OutputOptions, checks: CheckOptions, context: CommandContext
) -> ExitCode | int:
    if settings.snapshot is not None and options.sample_s is not None:
        # two reads of a snapshot would show rates of 0, which are not the cluster's
        raise UsageError(
            "--sample has no effect: a snapshot shows one moment",
            hint="sample when it is saved: kafkabal inspect --sample 10s --save FILE",
        )
    with open_cluster(settings, context) as cluster:
        state = state_with_rates(cluster, settings, context, sample_s=options.sample_s, detailed=options.is_detailed)
        inspection = inspection_of(settings, options.measurements.completed(state, cluster, settings, context))
        if options.save is not None:
            _save(state, options.save, context)
        growth = _growth(cluster, state, options.history, context) if options.history.is_needed else None
        problem = record(state, read_at_s(state, context), context) if options.history.record else ""
        if checks.nagios:
            if problem:
                context.warn(str(not_recorded([problem])))
            return _nagios(inspection, checks.thresholds(), context)
        racks = _consumer_racks(cluster) if options.by is Grouping.RACK and options.sample_s is not None else None
        if options.history.growth and growth is not None:
            _warn_of_far_forecast(growth, context)
        show_report(_report(inspection, growth, racks, options, settings, context), output, context)
    if problem:
        raise not_recorded([problem])
    if (
        options.history.growth
        and growth is not None
        and growth_exit_code(growth, options.history.full_within_s) is not ExitCode.DONE
    ):
        return ExitCode.FINDINGS
    return _exit_code(inspection) if checks.check else ExitCode.DONE


def _growth(
    cluster: "Cluster", state: "ClusterState", history: HistoryOptions, context: CommandContext
) -> "MeasuredGrowth | None":
    """Growth of the cluster by its history; None if there is none and only recording was asked for."""
    over_s = DEFAULT_OVER_S if history.over_s is None else history.over_s
    now_s = read_at_s(state, context)
    growth = measured_growth(cluster, state, over_s, now_s, context)
    if growth is None and history.growth:
        raise no_history(state, over_s, now_s, context)
    return growth


def _warn_of_far_forecast(growth: "MeasuredGrowth", context: CommandContext) -> None:
    """Warn if the first disk is forecast to be full later than the history can tell."""
    full_s = soonest_full(growth)
    if full_s is not None and isfinite(full_s):
        warn_of_short_history(growth, full_s, context)


def _inspect_fleet(
    clusters: ChosenClusters,
    options: "FleetOptions",
    output: OutputOptions,
    checks: CheckOptions,
    context: CommandContext,
) -> ExitCode | int:
    reader = FleetReader(chosen=clusters, context=context, options=options)
    members = reader.members()
    if checks.nagios:
        if reader.problems:
            context.warn(str(not_recorded(reader.problems)))
        return fleet_nagios(members, checks.thresholds(), context)
    show_fleet(members, options, output, context)
    if reader.problems:
        raise not_recorded(reader.problems)
    return fleet_exit_code(members, check=checks.check)


def _consumer_racks(cluster: "Cluster") -> "ConsumerRacks | None":
    from kafkabal.clusters.kafka import KafkaCluster

    return cluster.consumer_racks() if isinstance(cluster, KafkaCluster) else None


def _report(
    inspection: "Inspection",
    growth: "MeasuredGrowth | None",
    consumer_racks: "ConsumerRacks | None",
    options: _InspectOptions,
    settings: Settings,
    context: CommandContext,
) -> "Report":
    from kafkabal.reporting.inspection.growth_report import growth_report
    from kafkabal.reporting.inspection.inspection_report import inspection_report

    label = cluster_label(settings, context)
    if growth is not None and options.history.growth:
        within_s = options.history.full_within_s
        return growth_report(growth, options.rows, shown_rows=options.top, full_within_s=within_s, cluster_label=label)
    return inspection_report(
        inspection,
        options.rows,
        shown_rows=options.top,
        rebalance_options=options_to_rebalance(settings, inspection, context),
        read_at_s=seconds_of(inspection.state.taken_at),
        cluster_label=label,
        rack_level=options.racks.level,
        price_per_gb=options.racks.price_per_gb,
        full_s=None if growth is None else soonest_full(growth),
        consumer_racks=consumer_racks,
    )


def _save(state: "ClusterState", path: Path, context: CommandContext) -> None:
    from kafkabal.clusters.snapshot import write_snapshot

    write_snapshot(state, path)
    if path != STDOUT:
        context.say(f"wrote the snapshot to {path}")


def _exit_code(inspection: "Inspection") -> ExitCode:
    from kafkabal.inspection import has_findings

    return ExitCode.FINDINGS if has_findings(inspection, inspection.tolerance) else ExitCode.DONE


def _nagios(inspection: "Inspection", thresholds: tuple[float, float], context: CommandContext) -> int:
    from kafkabal.cli.framework.nagios_output import nagios_status_of, performance_data, status_line, verdict_of

    status, figures = nagios_status_of(inspection, thresholds), performance_data(inspection, *thresholds)
    context.stdout.write(status_line(status, verdict_of(inspection), figures) + "\n")
    return status
