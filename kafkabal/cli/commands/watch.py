"""``kafkabal watch``: notice what fails or slows down, and heal what is allowed."""

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.framework.cluster_access import open_cluster
from kafkabal.cli.framework.command_context import PROGRAM, CommandContext
from kafkabal.cli.framework.command_settings import cluster_label
from kafkabal.cli.framework.nonblocking_lines import NonblockingLines
from kafkabal.cli.framework.shared_options import (
    CLUSTER,
    OUTPUT_SECTION,
    SAFETY_SECTION,
    Format,
    NotifyOption,
    OutputOptions,
    TextfileOption,
    Uses,
)
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.systemd_notify import notify_ready
from kafkabal.config import DEFAULT_HEAL_DEAD_AFTER_S, Settings
from kafkabal.errors import ExitCode, InterruptedRunError, UsageError
from kafkabal.printable import printable
from kafkabal.units import format_duration, parse_bytes, parse_duration, parse_percent, parse_some_time
from kafkabal.watch import HealLevel

if TYPE_CHECKING:
    from kafkabal.clusters import Cluster
    from kafkabal.executor import StopSwitch
    from kafkabal.history import BackgroundRecorder
    from kafkabal.isolated_listeners import BackgroundListener
    from kafkabal.watch import RunHealer, WatchEvent, WatchListener, WatchLock, WatchOptions, WatchSummary

_FOLDER = "watch"


class WatchFormat(StrEnum):
    """Output format of a watch on stdout."""

    TABLE = "table"
    JSON = "json"
    """With --once."""
    JSONL = "jsonl"
    """One line an event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealFlags:
    """How far it may go."""

    heal: Annotated[
        HealLevel, typer.Option("--heal", help="What may be changed: nothing, leadership, or replicas too.")
    ] = HealLevel.NONE
    dead_after_s: Annotated[
        float,
        typer.Option(
            "--dead-after",
            metavar="TIME",
            parser=parse_duration,
            help="Copy the replicas of a broker elsewhere after it has been dead for TIME. [default: 30m]",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = DEFAULT_HEAL_DEAD_AFTER_S
    move_after_s: Annotated[
        float | None,
        typer.Option(
            "--move-after",
            metavar="TIME",
            parser=parse_duration,
            help="Move replicas off a broker that has been slow for TIME. [default: never]",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = None
    max_bytes_per_day: Annotated[
        int | None,
        typer.Option(
            "--max-bytes-per-day",
            metavar="SIZE",
            parser=parse_bytes,
            help="Maximum bytes moved for balance within 24 hours; repairs are not limited.",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = None
    max_actions_per_day: Annotated[
        int,
        typer.Option(
            "--max-actions-per-day",
            metavar="N",
            min=1,
            help="Maximum runs begun within 24 hours.",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = 24
    max_dead: Annotated[
        int,
        typer.Option(
            "--max-dead",
            metavar="N",
            min=1,
            help="Change nothing while more brokers than N are dead or unreachable at once.",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = 1
    outer_tolerance: Annotated[
        float,
        typer.Option(
            "--rebalance-above",
            metavar="PERCENT",
            parser=parse_percent,
            help="Rebalance when a broker deviates by more than PERCENT from its fair share. [default: 20%]",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = 0.20


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOutput:
    """Where it is reported."""

    output: Annotated[
        WatchFormat, typer.Option("-o", "--output", help="Output format.", rich_help_panel=OUTPUT_SECTION)
    ] = WatchFormat.TABLE
    textfile: TextfileOption = None
    notify: NotifyOption = None


def watch(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER, "bootstrap_controllers", "throttle", "tolerance", "window")],
    heal: HealFlags,
    output: WatchOutput,
    every_s: Annotated[
        float,
        typer.Option(
            "--every",
            metavar="TIME",
            parser=parse_some_time,
            help="Interval between checks of the brokers. [default: 5s]",
        ),
    ] = 5.0,
    slow_fraction: Annotated[
        float,
        typer.Option(
            "--slow",
            metavar="PERCENT",
            parser=parse_percent,
            help="Call a broker slow when it responds PERCENT later than usual and than its peers. [default: 20%]",
        ),
    ] = 0.20,
    once: Annotated[bool, typer.Option("--once", help="Check once and exit: 0, or 3 with findings.")] = False,
) -> ExitCode:
    """Notice slow and dead brokers, failed log dirs and imbalance, and heal what --heal allows.

    Every broker is probed every 5 seconds, and the whole cluster is read every 30. What changes is reported
    as an event. With --heal leaders, leadership leaves a slow broker and returns ten minutes after it is well; with
    --heal all, dead brokers are repaired, new ones filled, and imbalance is corrected. Each action is an ordinary
    run: 'kafkabal rebalance status', 'cancel' and 'rollback' work on it. One watch runs at a time on a cluster.

    Examples:

      kafkabal watch

      kafkabal watch --heal all --dead-after 30m --window 01:00-05:00 --max-bytes-per-day 500GB

      kafkabal watch --once -o json
    """
    _check(settings, output, heal, once=once)
    options = _options(settings, heal, every_s, slow_fraction)
    if once:
        return _look_once(settings, context, output, options)
    return _watch(settings, context, output, options)


def _check(settings: Settings, output: WatchOutput, heal: HealFlags, *, once: bool) -> None:
    if output.output is WatchFormat.JSON and not once:
        raise UsageError("-o json requires --once", hint="for events as they happen: -o jsonl")
    if once and heal.heal is not HealLevel.NONE:
        raise UsageError("--once and --heal cannot be combined: one check is not enough to act on")
    if settings.snapshot is not None and not once:
        raise UsageError("a snapshot does not change: it cannot be watched", hint="add --once to check it")


def _options(settings: Settings, heal: HealFlags, every_s: float, slow_fraction: float) -> "WatchOptions":
    from kafkabal.config import DEFAULT_PLAN_TOLERANCE, TimeWindow
    from kafkabal.watch import HealPolicy, HealthRules, WatchOptions

    inner = DEFAULT_PLAN_TOLERANCE if settings.tolerance is None else settings.tolerance
    if inner >= heal.outer_tolerance:
        raise UsageError(
            f"--rebalance-above {heal.outer_tolerance:.0%} must exceed --tolerance {inner:.0%}",
            hint="what lies between the two is left alone, or noise would move data",
        )
    return WatchOptions(
        every_s=every_s,
        broker_timeout_s=settings.broker_timeout_s or WatchOptions().broker_timeout_s,
        rules=HealthRules(slow_fraction=slow_fraction, longest_gap_s=2 * every_s),
        policy=HealPolicy(
            level=heal.heal,
            dead_after_s=heal.dead_after_s,
            move_after_s=heal.move_after_s,
            window=TimeWindow.parse(settings.window) if settings.window else None,
            max_bytes_per_day=heal.max_bytes_per_day,
            max_actions_per_day=heal.max_actions_per_day,
            max_dead=heal.max_dead,
            outer_tolerance=heal.outer_tolerance,
            inner_tolerance=inner,
        ),
    )


def _look_once(settings: Settings, context: CommandContext, output: WatchOutput, options: "WatchOptions") -> ExitCode:
    from kafkabal.errors import MissingCapabilityError, NotAuthorizedError
    from kafkabal.watch import WatchLock

    with open_cluster(settings, context) as cluster, ExitStack() as at_end:
        if settings.snapshot is None:
            lock = WatchLock(cluster, context.sleep)
            at_end.callback(lock.release)
            # whoever may only read does not keep a watch out, and need not
            with suppress(MissingCapabilityError, NotAuthorizedError):
                lock.take()
        from kafkabal.watch import check_once

        summary = check_once(cluster, options, _completed(settings))
    from kafkabal.reporting.watch_report import summary_report

    form = Format.JSON if output.output is not WatchFormat.TABLE else Format.TABLE
    show_report(summary_report(summary), OutputOptions(output=form), context)
    return ExitCode.FINDINGS if summary.problems else ExitCode.DONE


def _watch(settings: Settings, context: CommandContext, output: WatchOutput, options: "WatchOptions") -> ExitCode:
    from kafkabal.cli.commands.rebalance.stop_signals import stop_on_signals
    from kafkabal.executor import HardStop, StopReason, StopSwitch
    from kafkabal.watch import WatchLock

    stop, is_aborted = StopSwitch(), False
    with ExitStack() as at_end:
        cluster = at_end.enter_context(open_cluster(settings, context))
        # before signals only ask it to stop: brokers that hang must not hold up Ctrl-C while there is nothing to stop
        cluster.cluster_id()
        reporter = Reporter(output, context, cluster.name, at_end, heals=options.policy.level is not HealLevel.NONE)
        try:
            with stop_on_signals(stop, lambda _: None):
                # one that waits stands by: a service manager need not wait for it
                notify_ready(context.environ)
                lock = WatchLock(cluster, context.sleep)
                at_end.callback(lock.release)
                while lock.wait(stop, lambda other: reporter.say(f"{other}; waiting until it ends")):
                    _watch_alone(settings, context, options, cluster, lock, stop, reporter)
        except HardStop:
            is_aborted = True
    if reporter.is_blocked:
        # the message below, and the interpreter when it flushes its streams, would wait for a terminal that is stopped
        os._exit(ExitCode.TERMINATED if stop.reason is StopReason.TERMINATE else ExitCode.INTERRUPTED)
    hint = "'kafkabal rebalance status' shows what is left; the next watch resumes it" if is_aborted else None
    message = "watch aborted" if is_aborted else "watch stopped"
    raise InterruptedRunError(message, terminated=stop.reason is StopReason.TERMINATE, hint=hint)


def _watch_alone(
    settings: Settings,
    context: CommandContext,
    options: "WatchOptions",
    cluster: "Cluster",
    lock: "WatchLock",
    stop: "StopSwitch",
    reporter: "Reporter",
) -> None:
    """Until it is stopped, or another watch has taken over."""
    from kafkabal.clusters import SystemClock
    from kafkabal.watch import Watcher

    cluster_id = cluster.cluster_id()
    with open_cluster(settings, context) as changed, _recording(settings, context, reporter):
        watcher = Watcher(
            cluster,
            options,
            SystemClock(),
            reporter.listener(cluster_label(settings, context) or cluster_id),
            _healer(changed, settings, context),
            context.state_dir / _FOLDER / f"{cluster_id}.json",
            _completed(settings),
            lock.confirm,
        )
        reporter.say(
            f"watching {cluster.name}: --heal {options.policy.level}, every {format_duration(options.every_s)}"
        )
        watcher.run(lambda: stop.reason is not None or bool(lock.other), reporter.after_look)


def _recording(settings: Settings, context: CommandContext, reporter: "Reporter") -> "BackgroundRecorder":
    """Keeps history beside the watch, for 'inspect --growth'."""
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
            state_dir=context.state_dir / "runs",
            stop=stop,
            broker_timeout_s=settings.broker_timeout_s or ReadRequest().deadline_s,
            completed=_completed(settings),
        )

    throttle = settings.throttle or "auto"
    return RunHealer(environment, None if throttle == "none" else throttle)


def _completed(settings: Settings):  # type: ignore[no-untyped-def]
    from kafkabal.config import with_profile_disks

    return partial(with_profile_disks, settings=settings)


class Reporter:
    """Where a watch reports to; nothing of it can hold the watch up."""

    def __init__(
        self, output: WatchOutput, context: CommandContext, name: str, at_end: ExitStack, *, heals: bool
    ) -> None:
        self._output, self._context, self._heals = output, context, heals
        self._events = at_end.enter_context(NonblockingLines(context.stdout))
        self._messages = at_end.enter_context(NonblockingLines(context.stderr))
        self._at_end = at_end
        self._textfile: BackgroundListener[WatchEvent | WatchSummary] | None = None
        self._others: list[WatchListener] = []
        if output.notify is not None:
            from kafkabal.reporting.notifications.notifier import Notifier
            from kafkabal.reporting.notifications.watch_notifications import WatchNotifications

            notifier = Notifier(output.notify, name, self.warn)
            at_end.callback(notifier.close)
            self._others.append(WatchNotifications(notifier))

    @property
    def is_blocked(self) -> bool:
        """Whether a stream still waits after the end."""
        return self._events.is_blocked or self._messages.is_blocked

    def say(self, text: str) -> None:
        """Say how it goes, unless ``-q``."""
        if not self._context.quiet:
            self._messages.write(f"{printable(text)}\n")

    def warn(self, text: str) -> None:
        """Say what should not be missed."""
        self._messages.write(f"{PROGRAM}: warning: {printable(text)}\n")

    def listener(self, cluster: str) -> "WatchListener":
        """Listener of a watch over a cluster of this name."""
        from kafkabal.isolated_listeners import IsolatedListeners
        from kafkabal.reporting.watch_report import EventTable, WatchEventLines

        lines = WatchEventLines if self._output.output is WatchFormat.JSONL else EventTable
        listeners: list[WatchListener] = [lines(self._events.write), *self._others]
        if self._output.textfile is not None:
            self._textfile = self._written(self._output.textfile, cluster)
            listeners.append(self._textfile)
        return IsolatedListeners(listeners)

    def _written(self, path: Path, cluster: str) -> "BackgroundListener[WatchEvent | WatchSummary]":
        """A textfile kept by a thread of its own: a folder that hangs must not hold the watch up."""
        from kafkabal.isolated_listeners import BackgroundListener
        from kafkabal.reporting.watch_report import WatchTextfile
        from kafkabal.watch import WatchSummary

        written: BackgroundListener[WatchEvent | WatchSummary] = BackgroundListener(
            WatchTextfile(path, cluster, self._context.wall_clock, self.warn),
            is_passing=lambda event: isinstance(event, WatchSummary),
            on_failure=lambda error: self.warn(f"{path}: not written any more: {error}"),
        )
        self._at_end.callback(written.close)
        return written

    def after_look(self, summary: "WatchSummary") -> None:
        """Keep the textfile.

        Raises
        ------
        BrokenPipeError
            If a watch that only reports has nowhere to report to any more.
        """
        if self._textfile is not None:
            self._textfile.on_event(summary)
        elif self._events.is_gone and not self._others and not self._heals:
            raise BrokenPipeError
