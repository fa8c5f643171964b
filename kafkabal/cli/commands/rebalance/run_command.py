"""What every command that works on a run does: the place to work in, the options, the listeners, and the end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkabal.errors import (
    ExitCode,
    FindingsError,
    InterruptedRunError,
    OperationError,
    PartialFailureError,
)
from kafkabal.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kafkabal.cli.commands.rebalance.run_flags import RunFlags, RunOutput
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.clusters.protocol import Cluster
    from kafkabal.config.settings import Settings
    from kafkabal.executor.observe.cluster_load import Load, Moves
    from kafkabal.executor.run_environment import RunEnvironment
    from kafkabal.executor.run_events import RunListener
    from kafkabal.executor.run_options import RunOptions, Throttle
    from kafkabal.executor.run_result import RunResult

_NO_WAIT_S = 0.01


def make_environment(
    cluster: Cluster, settings: Settings, context: CommandContext, output: RunOutput, command: str
) -> RunEnvironment:
    """Where runs on this cluster keep their journals and lock; runs on a snapshot have their own place."""
    from kafkabal.clusters.protocol import ReadRequest
    from kafkabal.config.stated_disks import with_stated_disks
    from kafkabal.executor.run_environment import RunEnvironment

    return RunEnvironment(
        cluster=cluster,
        state_dir=runs_folder(settings, context),
        listener=_listener(output, context, command),
        broker_timeout_s=settings.broker_timeout_s or ReadRequest().deadline_s,
        completed=partial(with_stated_disks, settings=settings),
    )


def runs_folder(settings: Settings, context: CommandContext) -> Path:
    """Folder of the journals."""
    return context.state_dir / ("snapshot-runs" if settings.snapshot else "runs")


def run_options(
    settings: Settings, flags: RunFlags, cluster: Cluster, load: Load | None = None, moves: Moves | None = None
) -> RunOptions:
    """Options of a run, from settings and flags.

    Parameters
    ----------
    load
        Measured load of the brokers, if any.
    moves
        Destination brokers of each partition.
    """
    from kafkabal.executor.run_options import Limits, RunOptions, Timeouts

    return RunOptions(
        throttle=_throttle(settings, flags, cluster, load, moves or {}),
        limits=Limits(
            moves_in_per_broker=flags.moves_per_broker,
            moves_out_per_broker=flags.moves_per_broker,
            one_replica_at_a_time=flags.one_replica_at_a_time,
        ),
        timeouts=Timeouts(poll_s=_NO_WAIT_S) if settings.snapshot else Timeouts(),
        on_interrupt=flags.on_interrupt,
        window=settings.window,
        max_runtime_s=flags.max_runtime_s,
    )


def measured_load(
    settings: Settings, environment: RunEnvironment, context: CommandContext, moves: Moves
) -> Load | None:
    """Current load of the brokers; None if no throttle depends on it or the cluster cannot report it."""
    from kafkabal.clusters.protocol import Capability
    from kafkabal.executor.observe.cluster_load import SAMPLE_S, measure_load
    from kafkabal.units import format_duration

    is_live = not settings.snapshot and Capability.OFFSETS in environment.cluster.capabilities
    if not is_live or settings.throttle == "none" or not any(moves.values()):
        return None
    context.detail(f"measuring broker load for {format_duration(SAMPLE_S)}")
    brokers = environment.cluster.broker_ids()
    return measure_load(environment.cluster, environment.clock, brokers, environment.broker_timeout_s)


def _throttle(settings: Settings, flags: RunFlags, cluster: Cluster, load: Load | None, moves: Moves) -> Throttle:
    from kafkabal.clusters.protocol import Capability
    from kafkabal.executor.run_options import Throttle
    from kafkabal.executor.throttle.initial_throttle import initial_throttle

    wanted = settings.throttle or "auto"
    if wanted == "none" or (settings.snapshot and Capability.CONFIGS not in cluster.capabilities):
        return Throttle(log_dir_bytes_per_s=None if settings.snapshot else settings.log_dir_throttle_bytes_per_s)
    return initial_throttle(
        wanted,
        moves,
        load,
        log_dir_bytes_per_s=settings.log_dir_throttle_bytes_per_s,
        override=flags.override_throttle,
    )


def work(
    environment: RunEnvironment, context: CommandContext, action: Callable[[], RunResult | None]
) -> RunResult | None:
    """Run an action of the executor under the signals of the process.

    Raises
    ------
    InterruptedRunError
        On a second signal; the message names what may be left on the cluster.
    """
    from kafkabal.cli.commands.rebalance.stop_signals import stop_on_signals
    from kafkabal.executor.safety.stop_request import HardStop, StopReason
    from kafkabal.executor.state.find_run import latest_journal

    try:
        with stop_on_signals(environment.stop, context.say):
            return action()
    except HardStop:
        terminated = environment.stop.reason is StopReason.TERMINATE
        left = latest_journal(environment.folder(environment.cluster.cluster_id()))
        raise InterruptedRunError(
            f"aborted; {left.left_behind() if left else 'nothing had started'}",
            terminated=terminated,
            hint="continue with 'kafkabal rebalance resume', or stop with 'kafkabal rebalance cancel'",
        ) from None


def end(result: RunResult, output: RunOutput, context: CommandContext, command: str) -> ExitCode:
    """Report how a run ended and return its exit code.

    Raises
    ------
    KafkabalError
        With the exit code of the contract, where it did not do all that it was to do.
    """
    from kafkabal.cli.commands.rebalance.run_flags import RunFormat
    from kafkabal.executor.safety.stop_request import StopReason
    from kafkabal.executor.state.run_states import Outcome
    from kafkabal.reporting.runs.result_report import result_report, summary

    if output.output is RunFormat.JSON:
        _show(result, command, context, result_report)
    resume = "continue with 'kafkabal rebalance resume'"
    match result.stop_reason:
        case StopReason.INTERRUPT | StopReason.TERMINATE:
            terminated = result.stop_reason is StopReason.TERMINATE
            raise InterruptedRunError(summary(result), terminated=terminated, hint=resume)
        case StopReason.MAX_RUNTIME:
            raise FindingsError(f"{summary(result)}; stopped: --max-runtime reached", hint=resume)
    if result.outcome is Outcome.PARTIAL:
        raise PartialFailureError(summary(result), list(result.problems.items()), hint=resume)
    if result.pending:
        raise OperationError(
            summary(result), hint="restore them with 'kafkabal rebalance repair' once the brokers respond"
        )
    if output.output is RunFormat.TABLE:
        context.stdout.write(printable(summary(result)) + "\n")
    return ExitCode.DONE


def _show(result: RunResult, command: str, context: CommandContext, report: Callable[..., object]) -> None:
    from kafkabal.cli.framework.output import show
    from kafkabal.cli.framework.shared_options import Format, OutputOptions

    show(report(result, command), OutputOptions(output=Format.JSON), context)  # type: ignore[arg-type]


def _listener(output: RunOutput, context: CommandContext, command: str) -> RunListener:
    from kafkabal.cli.commands.rebalance.run_flags import RunFormat
    from kafkabal.reporting.runs.combined_listener import Listeners
    from kafkabal.reporting.runs.event_lines import EventLines
    from kafkabal.reporting.runs.progress_messages import ProgressMessages
    from kafkabal.reporting.runs.prometheus_textfile import PrometheusTextfile

    listeners: list[RunListener] = [ProgressMessages(context.say, context.warn, context.progress)]
    if output.output is RunFormat.JSONL:
        listeners.append(EventLines(context.stdout, command, context.wall_clock))
    if output.textfile is not None:
        listeners.append(PrometheusTextfile(output.textfile, context.wall_clock, context.warn))
    return Listeners(listeners)
