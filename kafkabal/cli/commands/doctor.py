"""``kafkabal doctor``: check whether kafkabal can work on a cluster."""

from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.framework.cluster_access import saying_if_cluster_is_slow
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import names_cluster, runs_folder
from kafkabal.cli.framework.options_without_effect import refuse_beside, refuse_without
from kafkabal.cli.framework.shared_options import LIVE_CLUSTER, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.config import Settings
from kafkabal.doctor import Purpose
from kafkabal.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from kafkabal.doctor import CheckResult


def doctor(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*LIVE_CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "markdown")],
    purposes: Annotated[
        list[Purpose] | None,
        typer.Option(
            "--for", metavar="COMMAND", help="Check only the permissions that this command needs. Repeatable."
        ),
    ] = None,
) -> ExitCode:
    """Check whether kafkabal can work on a cluster, and change nothing.

    Checks the folders and extras of this host, every bootstrap server, every broker at the address that it
    advertises, versions, offline log dirs and partitions, replicas out of sync, throttles that no reassignment uses,
    a run that was left unfinished, clocks, the lock, and the permissions of each step in 'kafkabal help permissions'.
    Brokers are asked what they would allow; nothing is tried. Exits 3 with findings, each with what to do about it.

    Examples:

      kafkabal doctor -b broker1:9092

      kafkabal doctor --profile prod --for inspect --for rebalance

      kafkabal doctor -o json
    """
    from kafkabal.reporting.doctor_report import doctor_report

    if not names_cluster(settings):
        refuse_without("a cluster", ["--for", "--broker-timeout"], context, hint="give --bootstrap-server HOST:PORT")
    if settings.zookeeper is not None:
        refuse_beside("--zookeeper", ["--for"], context)
    with saying_if_cluster_is_slow(settings, context):
        checks = tuple(_checks(context, settings, purposes or list(Purpose)))
    show_report(doctor_report(checks), output, context)
    return ExitCode.FINDINGS if any(check.status.is_finding for check in checks) else ExitCode.DONE


def _checks(context: CommandContext, settings: Settings, purposes: "Collection[Purpose]") -> "Iterator[CheckResult]":
    from functools import partial

    from kafkabal.clusters import ReadRequest, SystemClock, connect
    from kafkabal.config import ConnectionSettings, cluster_address
    from kafkabal.doctor import check_back_end, check_extras, check_folders, check_kafka

    folders = {"state": context.state_dir, "cache": context.cache_dir, "config": context.config_dir}
    yield from check_folders(folders, may_be_read_only={"config"})
    yield from check_extras()
    if not names_cluster(settings):
        context.say("no cluster given: only this host is checked")
        return
    address, clock = cluster_address(settings), SystemClock()
    deadline_s, runs = settings.broker_timeout_s or ReadRequest().deadline_s, runs_folder(settings, context)
    if isinstance(address, ConnectionSettings):
        yield from check_kafka(address, purposes, clock, deadline_s, runs)
        return
    yield from check_back_end(partial(connect, address, clock), deadline_s, runs)
