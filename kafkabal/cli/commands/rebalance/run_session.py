"""What all commands that work on a run share: the lock, signals, prompts, options of the run, and its end."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkabal.cli.framework.slow_notice import saying_if_slow
from kafkabal.errors import (
    BusyError,
    ExitCode,
    FindingsError,
    InterruptedRunError,
    KafkabalError,
    OperationError,
    PartialFailureError,
)
from kafkabal.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from kafkabal.cli.commands.rebalance.run_command_options import RunCommandOptions, RunOutput
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.clusters import Cluster, ClusterLock
    from kafkabal.config import Settings
    from kafkabal.executor import (
        ClusterLoad,
        Event,
        FoundRun,
        Goal,
        LockAcrossRuns,
        Moves,
        RunEnvironment,
        RunOptions,
        RunPartition,
        RunResult,
        Throttle,
        Timeouts,
    )
    from kafkabal.isolated_listeners import Reporters
    from kafkabal.reporting.report import Report
    from kafkabal.reporting.runs.result_report import OtherThrottles
    from kafkabal.reporting.runs.run_textfile import RunTextfile

_NO_WAIT_S = 0.01
"""On a snapshot moves complete at once; 0 would loop without yielding to signals."""
HOW_TO_END_PAUSE: Final = "continue with 'kafkabal rebalance resume', or end it with 'kafkabal rebalance cancel'"
_GIVE_UP_S = 0.5
"""Fifty polls: any one of them would have seen everything that a snapshot can show."""


@dataclass(frozen=True, slots=True)
class RunSession:
    """A command that works on runs of a cluster, with everything it needs."""

    name: str
    """As typed, for reports: ``rebalance apply``."""
    settings: Settings
    context: CommandContext
    output: RunOutput
    environment: RunEnvironment
    reporters: Reporters[Event]
    lock: LockAcrossRuns
    textfile: RunTextfile | None = None

    @property
    def cluster(self) -> Cluster:
        """The cluster that the settings name."""
        return self.environment.cluster

    def saying_if_slow(self) -> AbstractContextManager[None]:
        """Within the block, say once that the cluster is waited for if it responds late.

        With the controller or the broker of the run record dead, brokers are asked for as long as
        ``--broker-timeout``, or a new leader is awaited.
        """
        return saying_if_slow(self.context.say, "still waiting for the cluster to respond")

    def is_pause_requested(self) -> bool:
        """Whether the latest request to the latest run is a pause; says so if the cluster responds late."""
        from kafkabal.executor import is_pause_requested

        with self.saying_if_slow():
            return is_pause_requested(self.environment)

    def take_lock(self) -> ClusterLock:
        """Take the lock of the cluster.

        Raises
        ------
        BusyError
            If another process holds it; if that has paused its run, the hint is not to wait for its end.
        """
        try:
            return self.lock.take()
        except BusyError as busy:
            raise self._paused_run(busy) or busy from None

    def _paused_run(self, busy: BusyError) -> BusyError | None:
        """The error if the run that keeps the lock was paused by a command; None if not, or if that is unknown."""
        from kafkabal.executor import Phase, find_run
        from kafkabal.units import format_moment

        with suppress(KafkabalError), self.saying_if_slow():
            found = find_run(self.environment)
            if found is not None and found.state.phase is Phase.PAUSED and self.is_pause_requested():
                # a throttle requested meanwhile is recorded as well
                since = f"since {format_moment(found.state.at)} or earlier"
                message = f"run {found.record.run_id} is paused, {since}: {busy.message}"
                return BusyError(message, hint=HOW_TO_END_PAUSE)
        return None

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Within the block, the first signal stops the run and a second one aborts it.

        Raises
        ------
        InterruptedRunError
            On a second signal; the message names what may be left on the cluster. On a first one while the lock is
            waited for.
        """
        from kafkabal.cli.commands.rebalance.stop_signals import stop_on_signals
        from kafkabal.executor import HardStop, StoppedWaitingError, StopReason, StopRequested, latest_journal

        stop = self.environment.stop
        try:
            with stop_on_signals(stop, lambda reason: self.reporters.on_event(StopRequested(reason=reason))):
                yield
        except StoppedWaitingError as error:
            raise InterruptedRunError(error.message, terminated=stop.reason is StopReason.TERMINATE) from error
        except HardStop:
            terminated = stop.reason is StopReason.TERMINATE
            left = latest_journal(self.environment.folder(self.cluster.cluster_id()))
            raise InterruptedRunError(
                f"aborted; {left.left_behind() if left else 'nothing had started'}",
                terminated=terminated,
                hint="continue with 'kafkabal rebalance resume', or stop with 'kafkabal rebalance cancel'",
            ) from None
        finally:
            self.reporters.flush()

    def end_if_stopped(self, before: str) -> None:
        """End the command if a signal came when its run had just ended: too late for the run to notice.

        Parameters
        ----------
        before
            What the command would do next.

        Raises
        ------
        InterruptedRunError
            If a signal has asked for a stop.
        """
        from kafkabal.executor import StopReason

        reason = self.environment.stop.reason
        if reason is not None:
            raise InterruptedRunError(f"stopped before {before}", terminated=reason is StopReason.TERMINATE)

    @contextmanager
    def failures_in_textfile(self) -> Iterator[None]:
        """Within the block, the textfile also reports what keeps a run from beginning."""
        try:
            yield
        except BusyError:
            raise  # the holder of the lock may be writing the same file
        except KafkabalError:
            self.reporters.flush()
            if self.textfile is not None and not self.textfile.has_ended:
                self.end_textfile(succeeded=False)
            raise

    def end_textfile(self, *, succeeded: bool) -> None:
        """Write the textfile of a command that started no run, with the throttles left by an earlier one."""
        from kafkabal.executor import find_run

        if self.textfile is None:
            return
        try:
            before = find_run(self.environment)
        except KafkabalError:  # nothing is known of a cluster that does not respond
            before = None
        left = 0 if before is None else len(before.state.pending)
        self.textfile.end_without_run(succeeded=succeeded, left_throttles=left)

    def report_nothing(
        self, headline: str = "nothing to do", goal: Goal | None = None, others: OtherThrottles | None = None
    ) -> None:
        """Write the JSON and the textfile of a command that worked on no run, if requested.

        Parameters
        ----------
        goal
            What the command aimed at; None to apply a plan.
        others
            Throttles of unknown origin, if the command looked for them.
        """
        self.show_nothing(headline, goal, others=others)
        self.end_textfile(succeeded=others is None or not others.unread)

    def show_nothing(
        self,
        headline: str,
        goal: Goal | None = None,
        pending: Sequence[str] = (),
        others: OtherThrottles | None = None,
    ) -> None:
        """Write the JSON alone: where another process works on the run, the textfile may be its own."""
        from kafkabal.executor import Goal
        from kafkabal.reporting.runs.result_report import nothing_report

        goal = goal or Goal.APPLY
        self.show_json(nothing_report(self.name, headline, goal=goal, pending=pending, others=others))

    def show_json(self, report: Report) -> None:
        """Write a report if the output is JSON."""
        from kafkabal.cli.commands.rebalance.run_command_options import RunFormat
        from kafkabal.cli.framework.shared_options import Format, OutputOptions
        from kafkabal.cli.framework.show_report import show_report

        if self.output.output is RunFormat.JSON:
            show_report(report, OutputOptions(output=Format.JSON), self.context)

    def end(self, result: RunResult, *, only_restores: bool = False, others: OtherThrottles | None = None) -> ExitCode:
        """Report how a run ended and return its exit code.

        Parameters
        ----------
        only_restores
            The command restored throttles, and was not to move anything.
        others
            Throttles of unknown origin, if the command looked for them.

        Raises
        ------
        KafkabalError
            With the exit code of the contract, where it did not do all that it was to do.
        """
        from kafkabal.cli.commands.rebalance.run_command_options import (
            AFTER_CANCEL,
            HOW_TO_CONTINUE,
            HOW_TO_RESTORE,
            RunFormat,
        )
        from kafkabal.executor import RunOutcome, StopReason
        from kafkabal.reporting.runs.result_report import STAYS_WITH_OTHER_TOOL, summary

        self.lock.release()
        self._show(result, only_restores=only_restores, others=others)
        if others is not None and others.unread and self.textfile is not None:
            self.textfile.retract_success()
        said = summary(result, only_restores=only_restores)
        match result.stop_reason:
            case StopReason.INTERRUPT | StopReason.TERMINATE:
                terminated = result.stop_reason is StopReason.TERMINATE
                # a signal that came as the last throttles were restored has stopped nothing
                is_done = result.outcome is RunOutcome.COMPLETE and not result.pending
                raise InterruptedRunError(said, terminated=terminated, hint=None if is_done else HOW_TO_CONTINUE)
            case StopReason.MAX_RUNTIME:
                raise FindingsError(f"{said}; stopped: --max-runtime reached", hint=HOW_TO_CONTINUE)
            case StopReason.CANCELLED:
                hint = HOW_TO_CONTINUE if result.pending else AFTER_CANCEL
                raise FindingsError(f"{said}; stopped: cancelled by another command", hint=hint)
        if result.outcome is RunOutcome.PARTIAL or result.problems:
            hint = HOW_TO_CONTINUE if result.is_worth_resuming else STAYS_WITH_OTHER_TOOL
            raise PartialFailureError(said, list(result.problems.items()), hint=hint)
        if result.pending:
            raise OperationError(
                said, hint=HOW_TO_CONTINUE if result.outcome is RunOutcome.DETACHED else HOW_TO_RESTORE
            )
        if self.output.output is RunFormat.TABLE and not self.context.quiet:
            self.context.show_result(printable(said) + "\n")
        return ExitCode.DONE

    def confirm_run(self, found: FoundRun, goal: Goal, *, yes: bool) -> bool:
        """Show what a run would still move, and prompt; True if no prompt is needed.

        Raises
        ------
        UsageError
            Without a terminal and without ``--yes``.
        """
        from kafkabal.executor import Goal, preview_reopen
        from kafkabal.reporting.runs.reopen_preview_lines import preview_lines

        for line in preview_lines(found, goal, preview_reopen(self.environment, found, goal)):
            self.context.say(line)
        if yes or self.settings.snapshot:
            return True
        verb = "roll back" if goal is Goal.ROLL_BACK else "resume"
        return self.confirm(f"{verb} run {found.record.run_id}?", yes=False)

    def show_preview(self, found: FoundRun, goal: Goal) -> None:
        """Show what the run would move, as the result of a dry run."""
        from kafkabal.cli.framework.shared_options import Format, OutputOptions
        from kafkabal.cli.framework.show_report import show_report
        from kafkabal.executor import preview_reopen
        from kafkabal.reporting.runs.reopen_preview_report import reopen_preview_report

        preview = preview_reopen(self.environment, found, goal)
        report = reopen_preview_report(found, goal, preview, f"{self.name} --dry-run")
        show_report(report, OutputOptions(output=Format(self.output.output.value)), self.context)

    def confirm(self, question: str, *, yes: bool) -> bool:
        """Prompt for a yes, without keeping other commands waiting for the answer.

        The lock is released meanwhile: a prompt may stay open overnight. A command that takes it
        again has to read the cluster again, which may have been changed.

        Raises
        ------
        UsageError
            Without a terminal and without ``--yes``.
        """
        if yes:
            return True
        self.lock.release()
        is_confirmed = self.context.confirm(question, flag="--yes")
        if not is_confirmed:
            self.context.say("nothing changed")
        return is_confirmed

    def measured_load(self, moves: Moves, *, within_brokers: bool = False) -> ClusterLoad | None:
        """Current load of the brokers; None if no throttle depends on it or the cluster cannot report it.

        Parameters
        ----------
        within_brokers
            Whether replicas are copied between log dirs.
        """
        from kafkabal.clusters import Capability
        from kafkabal.executor import SAMPLE_S, measure_load
        from kafkabal.units import format_duration

        environment, settings = self.environment, self.settings
        is_live = not settings.snapshot and Capability.OFFSETS in environment.cluster.capabilities
        if not is_live or settings.throttle not in (None, "auto") or not (within_brokers or any(moves.values())):
            return None  # a given rate needs no measurement
        self.context.say(f"measuring broker load for {format_duration(SAMPLE_S)}")
        brokers = environment.cluster.broker_ids()
        return measure_load(
            environment.cluster, environment.clock, brokers, environment.broker_timeout_s, environment.in_flight
        )

    def run_options(
        self, command_options: RunCommandOptions, load: ClusterLoad | None = None, moves: Moves | None = None
    ) -> RunOptions:
        """Options of a run, from settings and options.

        Parameters
        ----------
        load
            Measured load of the brokers, if any.
        moves
            Destination brokers of each partition.
        """
        from kafkabal.executor import RunLimits, RunOptions, Timeouts

        return RunOptions(
            throttle=_throttle(self.settings, command_options, self.cluster, load, moves or {}),
            limits=RunLimits(
                moves_in_per_broker=command_options.moves_per_broker,
                moves_out_per_broker=command_options.moves_per_broker,
                one_replica_at_a_time=command_options.one_replica_at_a_time,
            ),
            timeouts=_on_a_snapshot() if self.settings.snapshot else Timeouts(),
            on_interrupt=command_options.on_interrupt,
            window=self.settings.window,
            max_runtime_s=command_options.max_runtime_s,
        )

    def options_of_reopened_run(
        self, command_options: RunCommandOptions, partitions: Sequence[RunPartition], goal: Goal
    ) -> RunOptions | None:
        """Options of this command if --throttle is given; None for those of the run, and its last rate."""
        from kafkabal.executor import dir_changes, moves_of_run

        if self.settings.origin("throttle") != "--throttle":
            return None
        if self.settings.throttle != "auto":
            return self.run_options(command_options)
        moves = moves_of_run(partitions, goal)
        load = self.measured_load(moves, within_brokers=any(map(dir_changes, partitions)))
        return self.run_options(command_options, load, moves)

    def _show(self, result: RunResult, *, only_restores: bool, others: OtherThrottles | None) -> None:
        from kafkabal.cli.commands.rebalance.run_command_options import RunFormat
        from kafkabal.reporting.output_formats import render
        from kafkabal.reporting.runs.result_report import result_report

        if self.output.output is RunFormat.JSON:
            # a full disk or a closed pipe does not make a complete run a failed one
            report = result_report(result, self.name, only_restores=only_restores, others=others)
            self.context.show_result(render(report, "json", self.context.out))
        elif self.output.output is RunFormat.JSONL:
            # what the event lines could not write is already lost, and a warning has said so
            self.context.show_result("")


def _throttle(
    settings: Settings, command_options: RunCommandOptions, cluster: Cluster, load: ClusterLoad | None, moves: Moves
) -> Throttle:
    from kafkabal.clusters import Capability
    from kafkabal.executor import Throttle, initial_throttle

    rate = settings.throttle or "auto"
    if rate == "none" or (settings.snapshot and Capability.CONFIGS not in cluster.capabilities):
        return Throttle(log_dir_bytes_per_s=None if settings.snapshot else settings.log_dir_throttle_bytes_per_s)
    return initial_throttle(
        rate,
        moves,
        load,
        log_dir_bytes_per_s=settings.log_dir_throttle_bytes_per_s,
        override=command_options.override_throttle,
    )


def _on_a_snapshot() -> Timeouts:
    """Nothing in a snapshot changes while a run waits: a copy that does not arrive at once never does."""
    from kafkabal.executor import Timeouts

    return Timeouts(
        poll_s=_NO_WAIT_S,
        unreachable_s=_GIVE_UP_S,
        broker_grace_s=0,
        broker_return_s=_GIVE_UP_S,
        room_s=_GIVE_UP_S / 2,
        stall_s=_GIVE_UP_S,
    )
