"""``kafkabal rebalance adopt``: take over reassignments of another tool."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.commands.rebalance.run_command_options import (
    ADOPTED_RUN_SETTINGS,
    LIVE_RUN_CLUSTER,
    OF_RUNS,
    RunCommandOptions,
    RunFormat,
    RunOutput,
)
from kafkabal.cli.framework.cluster_access import expect_live_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_without
from kafkabal.cli.framework.shared_options import Format, OutputOptions, Uses, YesOption
from kafkabal.cli.framework.show_report import show_report
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, UsageError
from kafkabal.wording import counted_noun, first_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import ForeignReassignment, LeftoverThrottle


def adopt(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*LIVE_RUN_CLUSTER, *ADOPTED_RUN_SETTINGS)],
    command_options: RunCommandOptions,
    output: RunOutput,
    finish: Annotated[
        bool, typer.Option("--finish", help="Take over these reassignments and wait until they have finished.")
    ] = False,
    cancel: Annotated[bool, typer.Option("--cancel", help="Take over these reassignments and cancel them.")] = False,
    remove_throttles: Annotated[
        bool,
        typer.Option(
            "--remove-throttles",
            help="At the end, delete the throttles that the brokers and topics of these reassignments have now.",
        ),
    ] = False,
    yes: YesOption = False,
) -> ExitCode:
    """List, throttle, finish or cancel reassignments of another tool.

    Without --finish or --cancel they are only listed. Reassignments that are taken over become a run: with a lock, a
    journal, and 'status', 'throttle', 'resume' and 'cancel'. A throttle is set only with --throttle.
    With --remove-throttles, throttles of the other tool are deleted at the end, after a prompt at a terminal.

    Examples:

      kafkabal rebalance adopt

      kafkabal rebalance adopt --finish --throttle 50MB/s

      kafkabal rebalance adopt --finish --remove-throttles --yes

      kafkabal rebalance adopt --cancel --yes
    """
    _check_options(output, context, finish=finish, cancel=cancel)
    expect_live_cluster(settings, "rebalance adopt")
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session

    # the other tool chose their speed: only --throttle changes it
    settings = settings if settings.throttle is not None else replace(settings, throttle="none")
    option = " --finish" if finish else " --cancel" if cancel else ""
    with open_run_session(f"rebalance adopt{option}", settings, context, output) as command:
        context = command.context
        with command.saying_if_slow():
            open_run = _open_run(command)  # before whatever needs numpy is imported
        from kafkabal.executor import Goal, find_foreign, throttles_left
        from kafkabal.executor import adopt as take_over
        from kafkabal.reporting.runs.adopt_report import adopt_report

        with command.saying_if_slow():
            foreign = find_foreign(command.environment)
        acts = bool(foreign and option)
        report = adopt_report(foreign, open_run, acts=acts)
        is_table = output.output is RunFormat.TABLE
        if (is_table and not context.quiet) or not (is_table or option):
            show_report(report, OutputOptions(output=Format(output.output.value)), context)
        if not acts:
            if option:
                command.report_nothing(report.headline, Goal.CANCEL if cancel else Goal.APPLY)
            return ExitCode.DONE
        what = "cancel" if cancel else "take over"
        if not command.confirm(f"{what} {counted_noun(len(foreign), 'reassignment')}?", yes=yes):
            return ExitCode.FAILED
        removes = remove_throttles or (not yes and _is_to_remove_throttles(command, foreign))
        from msgspec.structs import replace as changed

        moves = {f.name: f.reassignment.adding for f in foreign}
        options = command.run_options(command_options, command.measured_load(moves), moves)
        options = changed(options, elect_leaders=False, removes_found_throttles=removes)
        with command.stopping_on_signals():
            lock = command.take_lock()
            result = take_over(command.environment, foreign, options, cancels=cancel, lock=lock)
        code = command.end(result)
        _warn_of_throttles(command, throttles_left(command.environment, foreign))
    return code


def _check_options(output: RunOutput, context: CommandContext, *, finish: bool, cancel: bool) -> None:
    if finish and cancel:
        raise UsageError("--finish and --cancel cannot be combined")
    if finish or cancel:
        return
    unused = ("--remove-throttles", "--throttle", *OF_RUNS, "--textfile", "--notify", "--yes")
    refuse_without("--finish or --cancel", unused, context, hint="without them, reassignments are only listed")
    if output.output is RunFormat.JSONL:
        raise UsageError("-o jsonl requires --finish or --cancel: a list has no events", hint="use -o json")


def _is_to_remove_throttles(command: "RunSession", foreign: "Sequence[ForeignReassignment]") -> bool:
    """Offer to delete what the other tool has set: it does not once its reassignments are ours."""
    from kafkabal.executor import throttles_set

    found = throttles_set(command.environment, foreign)
    if not found:
        return False
    where = first_of(sorted({str(throttle.resource) for throttle in found}))
    question = f"at the end, also delete {counted_noun(len(found), 'throttle')} that kafkabal did not set on {where}?"
    return command.context.confirm(question, flag="--remove-throttles")


def _warn_of_throttles(command: "RunSession", left: "Sequence[LeftoverThrottle]") -> None:
    """Name throttles that the other tool removes only if asked to verify, and the command that removes them."""
    if left:
        where = first_of(sorted({str(throttle.resource) for throttle in left}))
        command.context.warn(
            f"{counted_noun(len(left), 'throttle')} that kafkabal did not set remain on {where}: "
            "'kafkabal rebalance repair' lists them, 'kafkabal rebalance repair --remove' deletes them"
        )


def _open_run(command: "RunSession") -> str | None:
    """Id of the run that is open on this cluster, if one is."""
    from kafkabal.executor import find_run

    found = find_run(command.environment)
    return found.record.run_id if found is not None and found.is_open else None
