"""``kafkabal watch``: notice what fails or slows down, and heal what is allowed."""

import os
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.commands.watch_command_options import (
    SCOPE,
    HealOptions,
    WatchOutput,
    check_options,
    watch_options,
)
from kafkabal.cli.framework.cluster_access import open_cluster, saying_if_cluster_is_slow
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.command_settings import cluster_label, runs_folder
from kafkabal.cli.framework.shared_options import CLUSTER, Format, OutputOptions, Uses, parse_interval
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.systemd_notify import notify_ready
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, InterruptedRunError
from kafkabal.units import format_duration, parse_percent
from kafkabal.watch import HealLevel

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkabal.cli.commands.watch_reporter import WatchReporter
    from kafkabal.clusters import Cluster
    from kafkabal.executor import StopSwitch
    from kafkabal.history import BackgroundRecorder
    from kafkabal.model import ClusterState
    from kafkabal.watch import RunHealer, WatchOptions, WatchSummary

_OF_RUNS = ("bootstrap_controllers", "throttle", "tolerance", "window", *SCOPE)


def watch(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, *_OF_RUNS)],
    heal: HealOptions,
    output: WatchOutput,
    every_s: Annotated[
        float,
        typer.Option(
            "--every",
            metavar="TIME",
            parser=parse_interval,
            help="Interval between checks of the brokers.",
        ),
    ] = 5.0,
    slow_fraction: Annotated[
        float,
        typer.Option(
            "--slow",
            metavar="PERCENT",
            parser=parse_percent,
            help="A broker is slow if it takes PERCENT longer to respond than usual, and than the others.",
        ),
    ] = 0.20,
    once: Annotated[bool, typer.Option("--once", help="Check once and exit: 0, or 3 with findings.")] = False,
) -> ExitCode:
    """Detect slow and dead brokers and imbalance; heal what --heal allows.

    Every broker is checked every 5 seconds, and the whole cluster is read every 30. Changes are reported as events.
    With --heal leaders, leadership leaves a slow broker and returns once it has been well for ten minutes; with --heal
    all, dead brokers are repaired, new ones filled, and imbalance is corrected. Each action is an ordinary run:
    'kafkabal rebalance status', 'cancel' and 'rollback' work on it. One watch at a time heals a cluster; other watches
    with --heal only observe until it ends.

    Examples:

      kafkabal watch

      kafkabal watch --heal all --dead-after 30m --window 01:00-05:00 --max-bytes-per-day 500GB

      kafkabal watch --once -o json
    """
    check_options(settings, output, heal, context, once=once)
    options = watch_options(settings, heal, every_s, slow_fraction)
    if once:
        return _observe_once(settings, context, output, options)
    return _watch(settings, context, output, options)


def _observe_once(
    settings: Settings, context: CommandContext, output: WatchOutput, options: "WatchOptions"
) -> ExitCode:
    with open_cluster(settings, context) as cluster, saying_if_cluster_is_slow(settings, context):
        cluster.cluster_id()  # a cluster that cannot be reached is reported before numpy is imported
        from kafkabal.watch import check_once

        summary = check_once(cluster, options, _completed(settings))
    from kafkabal.reporting.watch_report import summary_report

    show_report(summary_report(summary), OutputOptions(output=Format(output.output)), context)
    return ExitCode.FINDINGS if summary.problems else ExitCode.DONE


def _watch(settings: Settings, context: CommandContext, output: WatchOutput, options: "WatchOptions") -> ExitCode:
    from kafkabal.cli.commands.rebalance.stop_signals import stop_on_signals
    from kafkabal.cli.commands.watch_reporter import WatchReporter
    from kafkabal.executor import HardStop, StopReason, StopSwitch

    stop, is_aborted = StopSwitch(), False
    _write_first_textfile(output, settings, context)
    with ExitStack() as at_end:
        cluster = at_end.enter_context(open_cluster(settings, context))
        # before signals only request a stop: brokers that hang must not hold up Ctrl-C while there is nothing to stop
        with saying_if_cluster_is_slow(settings, context):
            cluster.cluster_id()
        reporter = WatchReporter(output, context, at_end, heals=options.policy.level is not HealLevel.NONE)
        try:
            with stop_on_signals(stop, lambda _: None):
                # one on standby is ready too: a service manager need not wait for it
                notify_ready(context.environ)
                while stop.reason is None:
                    _watch_cluster(settings, context, options, cluster, stop, reporter)
        except HardStop:
            is_aborted = True
    if reporter.is_blocked:
        # the message below, and the interpreter's flush of its streams, would wait for a suspended terminal
        os._exit(ExitCode.TERMINATED if stop.reason is StopReason.TERMINATE else ExitCode.INTERRUPTED)
    hint = "'kafkabal rebalance status' shows what is left; the next watch resumes it" if is_aborted else None
    message = "watch aborted" if is_aborted else "watch stopped"
    raise InterruptedRunError(message, terminated=stop.reason is StopReason.TERMINATE, hint=hint)


def _write_first_textfile(output: WatchOutput, settings: Settings, context: CommandContext) -> None:
    """Write a textfile before the cluster responds: a watch that never reads it must be noticed by its metrics.

    The file of an earlier watch stays, with the time at which that one last read the cluster.
    """
    cluster = cluster_label(settings, context)
    # where it cannot be known, writing fails, and says why
    if output.textfile is None or not cluster or os.path.exists(output.textfile):  # noqa: PTH110
        return
    from kafkabal.reporting.textfile_writer import TextfileWriter
    from kafkabal.reporting.watch_report import write_never_read

    write_never_read(TextfileWriter(output.textfile, {"cluster": cluster}, context.wall_clock, context.warn))


def _watch_cluster(
    settings: Settings,
    context: CommandContext,
    options: "WatchOptions",
    cluster: "Cluster",
    stop: "StopSwitch",
    reporter: "WatchReporter",
) -> None:
    """Watch until it is stopped, or another cluster is at the same addresses."""
    from kafkabal.clusters import SystemClock
    from kafkabal.watch import Watcher, ledger_path, lock_to_heal

    cluster_id = cluster.cluster_id()
    recording = _recording(settings, context, reporter)
    with open_cluster(settings, context) as changed, recording, ExitStack() as at_end:
        lock = lock_to_heal(cluster, options.policy.level, at_end)
        watcher = Watcher(
            cluster,
            options,
            SystemClock(),
            reporter.listener(cluster_label(settings, context) or cluster_id, at_end),
            _healer(changed, settings, context),
            ledger_path(context.state_dir, cluster_id),
            _completed(settings),
            lock.why_not_alone if lock is not None else lambda: "",
            cluster_id=cluster_id,
        )
        reporter.say(
            f"watching {cluster.name}: --heal {options.policy.level}, every {format_duration(options.every_s)}"
        )
        reporter.follow_lock(lock)

        def after_observation(summary: "WatchSummary") -> None:
            reporter.follow_lock(lock)
            if lock is not None and lock.other:
                watcher.give_way(lock.why_on_standby)
            reporter.after_observation(summary)

        watcher.run(
            lambda: stop.reason is not None or bool(watcher.successor),
            after_observation,
            lambda healing: reporter.say(
                f"stopping gracefully: cancelling the {healing.kind} in progress; "
                "press Ctrl-C again to abort and leave reassignments and throttles in place"
            ),
        )
    if watcher.successor:
        reporter.warn(f"{cluster.name} is cluster {watcher.successor} now, not {cluster_id}: watching that one")


def _recording(settings: Settings, context: CommandContext, reporter: "WatchReporter") -> "BackgroundRecorder":
    """Records history during the watch, for 'inspect --growth'."""
    from kafkabal.history import BackgroundRecorder

    connect = partial(open_cluster, settings, context)
    return BackgroundRecorder(connect, context.state_dir, reporter.warn, wall_clock=context.wall_clock)


def _healer(cluster: "Cluster", settings: Settings, context: CommandContext) -> "RunHealer":
    from kafkabal.clusters import ReadRequest
    from kafkabal.executor import RunEnvironment, StopSwitch
    from kafkabal.watch import RunHealer

    def environment(stop: StopSwitch) -> RunEnvironment:
        return RunEnvironment(
            cluster=cluster,
            state_dir=runs_folder(settings, context),
            stop=stop,
            broker_timeout_s=settings.broker_timeout_s or ReadRequest().deadline_s,
            completed=_completed(settings),
        )

    throttle = settings.throttle or "auto"
    return RunHealer(environment, None if throttle == "none" else throttle)


def _completed(settings: Settings) -> "Callable[[ClusterState], ClusterState]":
    """Adds the disks of the profile to a state."""
    from kafkabal.config import with_profile_disks

    return partial(with_profile_disks, settings=settings)
