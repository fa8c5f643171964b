"""``kafkabal advise``: how many brokers suffice, and what would free a full disk; nothing is changed."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.commands.inspect_history import (
    DEFAULT_OVER_S,
    disks_full_before,
    measured_growth,
    no_history,
    read_at_s,
    warn_of_short_history,
)
from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_options, rebalance_command
from kafkabal.cli.framework.shared_options import CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.slow_notice import saying_if_planning_is_slow
from kafkabal.config import DEFAULT_LOG_DIR_LIMIT, DEFAULT_PLAN_TOLERANCE, Settings
from kafkabal.errors import UsageError
from kafkabal.gc_pause import cycle_collection_paused
from kafkabal.units import duration_as_option, parse_percent, parse_positive_duration

if TYPE_CHECKING:
    from kafkabal.advice import RecordAges
    from kafkabal.clusters import Cluster
    from kafkabal.history import MeasuredGrowth, Retention
    from kafkabal.model import ClusterState

DEFAULT_TARGET: Final = 0.60
"""A disk at 60% can take over a broker's data if one of three fails (60% x 3/2 = 90%), and leaves room for a day's
growth."""
_DEFAULT_RATE_BYTES_PER_S: Final = 50_000_000
"""4% of a 10 Gbit/s network card: what an operator lets a run take without asking."""


def advise(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, "predicted_throttle", "tolerance")],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "markdown", "html")],
    target: Annotated[
        float,
        typer.Option(
            "--target",
            metavar="PERCENT",
            parser=parse_percent,
            help="Maximum usage of a broker, for the number of brokers.",
        ),
    ] = DEFAULT_TARGET,
    broker: Annotated[
        int | None,
        typer.Option("--broker", metavar="ID", min=0, help="Broker whose fullest disk to free. [default: the fullest]"),
    ] = None,
    limit: Annotated[
        float,
        typer.Option(
            "--limit",
            metavar="PERCENT",
            parser=parse_percent,
            help="Maximum usage of a disk, for what to free.",
        ),
    ] = DEFAULT_LOG_DIR_LIMIT,
    after_s: Annotated[
        float | None,
        typer.Option(
            "--plan-for",
            metavar="TIME",
            parser=parse_positive_duration,
            help="Advise for the cluster as it will be after TIME, by its history.",
        ),
    ] = None,
) -> None:
    """Advise how many brokers suffice, and how to free a full disk.

    States how many brokers hold everything within --target, a lower bound for any placement, which brokers to drain or
    where to add some, and how many bytes and hours that takes. For the fullest disk it lists ways to free bytes without
    moving data (retention, idle topics, segments), then moves. With history ('inspect --record'), rates are measured.
    Changes nothing.

    Examples:

      kafkabal advise

      kafkabal advise --target 70% --plan-for 90d

      kafkabal advise --broker 3 -o json
    """
    if not 0 < target <= 1 or not 0 < limit <= 1:
        raise UsageError(f"{'--limit' if 0 < target <= 1 else '--target'} must be above 0 and at most 100%")
    with cycle_collection_paused():
        state, growth, retention, ages, full = _read(settings, after_s, context)
        # imported once the cluster has responded, since these are slow to import
        from kafkabal.advice import advise_brokers, advise_relief
        from kafkabal.reporting.advise_report import advise_report
        from kafkabal.reporting.inspection.disk_charts import growth_charts

        partitions = None if growth is None else growth.partitions
        tolerance = DEFAULT_PLAN_TOLERANCE if settings.tolerance is None else settings.tolerance
        rate = settings.throttle if isinstance(settings.throttle, int) else _DEFAULT_RATE_BYTES_PER_S
        with saying_if_planning_is_slow(context.say, state):
            brokers = advise_brokers(state, target, tolerance, rate)
            relief = advise_relief(state, partitions, retention, broker, limit, tolerance, ages)
    flags = cluster_options(settings, context)
    charts = tuple if growth is None else partial(growth_charts, growth)
    report = advise_report(
        brokers,
        relief,
        target=target,
        limit=limit,
        after_s=after_s,
        rebalance=(
            rebalance_command(settings)
            if after_s is None
            else f"kafkabal rebalance plan --plan-for {duration_as_option(after_s)}"
        ),
        cluster_options=flags,
        charts=charts,
    )
    show_report(replace(report, notes=(*full, *report.notes)), output, context)


def _read(
    settings: Settings, after_s: float | None, context: CommandContext
) -> "tuple[ClusterState, MeasuredGrowth | None, Retention, RecordAges | None, tuple[str, ...]]":
    """The cluster now or, with ``after_s``, later; its current growth, its limits, and the age of its records.

    With ``after_s`` also a line that names the log dirs which are full by then.
    """
    from kafkabal.clusters import InFlight, ReadRequest

    with open_cluster(settings, context) as cluster:
        state = read_cluster(
            cluster, settings, context, ReadRequest(configs=True, offsets=True, in_flight=InFlight.IF_KNOWN)
        ).state
        now_s = read_at_s(state, context)
        growth = measured_growth(cluster, state, DEFAULT_OVER_S, now_s, context)
        if growth is None:
            if after_s is not None:
                raise no_history(state, DEFAULT_OVER_S, now_s, context)
            from kafkabal.history import read_defaults, retention_of

            live = state.brokers.id[state.brokers.is_live].tolist()
            retention = retention_of(state, read_defaults(cluster, tuple(live)))
            return state, None, retention, _record_ages(cluster, state, retention, now_s), ()
        if after_s is None:
            return state, growth, growth.retention, _record_ages(cluster, state, growth.retention, now_s), ()
    from kafkabal.history import forecast_cluster

    warn_of_short_history(growth, after_s, context)
    forecast = forecast_cluster(state, growth.partitions, growth.retention)
    return forecast.state_at(after_s), growth, growth.retention, None, disks_full_before(forecast, after_s)


def _record_ages(
    cluster: "Cluster", state: "ClusterState", retention: "Retention", now_s: float
) -> "RecordAges | None":
    from kafkabal.clusters.kafka import KafkaCluster

    if not isinstance(cluster, KafkaCluster):
        return None
    from kafkabal.advice import read_record_ages

    return read_record_ages(cluster.first_records_since, state, retention, now_s)
