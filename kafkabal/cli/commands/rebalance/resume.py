"""``kafkabal rebalance resume``."""

from typing import TYPE_CHECKING, Annotated

from kafkabal.cli.commands.rebalance.poll_run import WAIT_LONGER, poll_run
from kafkabal.cli.commands.rebalance.run_command_options import (
    AFTER_CANCEL,
    OF_RUNS,
    REOPENED_RUN_SETTINGS,
    RUN_CLUSTER,
    JournalOption,
    RunCommandOptions,
    RunOutput,
    WaitOption,
    check_reopening,
)
from kafkabal.cli.framework.cluster_access import open_cluster_to_change
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import SaveOptions, Uses, YesOption
from kafkabal.config import Settings
from kafkabal.errors import BusyError, ExitCode, UsageError

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import FoundRun


def resume(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER, *REOPENED_RUN_SETTINGS)],
    command_options: RunCommandOptions,
    output: RunOutput,
    saving: SaveOptions,
    journal: JournalOption = None,
    yes: YesOption = False,
    wait_s: WaitOption = None,
) -> ExitCode:
    """Resume the latest interrupted or paused run.

    Finished moves are not repeated. A run that was being rolled back or cancelled continues to do so. The run keeps its
    options, unless --throttle is given: then all options under Execution are those of this command. Shows what will
    move and prompts; --yes answers yes. A complete or cancelled run has nothing to resume. A paused run
    whose process is alive, on any host, resumes in that process, with its own options.

    Examples:

      kafkabal rebalance resume

      kafkabal rebalance resume --yes --throttle 100MB/s --max-runtime 2h

      kafkabal rebalance resume --journal run.jsonl
    """
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session
    from kafkabal.executor import find_run, request_pause

    check_reopening(context)
    cluster = open_cluster_to_change(settings, saving, context, yes=yes)
    with open_run_session("rebalance resume", settings, context, output, cluster, wait_s, journal=journal) as command:
        context = command.context
        if not _takes_lock(command, wait_s):
            return ExitCode.DONE
        with command.saying_if_slow():
            found = find_run(command.environment, journal)
        if found is not None and _is_cancelled(command, found):
            said = f"run {found.record.run_id} is cancelled: nothing to resume"
            context.say(f"{said}; {AFTER_CANCEL}")
            command.report_nothing(said, found.state.goal)
            return ExitCode.DONE
        if found is not None and found.is_resumable and not command.confirm_run(found, found.state.goal, yes=yes):
            return ExitCode.FAILED
        from kafkabal.executor import Goal, RunClosedError
        from kafkabal.executor import resume as go

        partitions, goal = (found.record.partitions, found.state.goal) if found is not None else ((), Goal.APPLY)
        options = command.options_of_reopened_run(command_options, partitions, goal)
        try:
            with command.stopping_on_signals():
                lock = command.take_lock()
                if found is not None and found.is_open and command.is_pause_requested():
                    # otherwise cron would take the run for paused if this process dies too
                    request_pause(command.environment, is_paused=False)
                result = go(command.environment, journal=journal, options=options, lock=lock)
        except RunClosedError as closed:
            context.say("; ".join(filter(None, (closed.message, closed.hint))))
            command.report_nothing(closed.message, goal)
            return ExitCode.DONE
        return command.end(result)


def _takes_lock(command: "RunSession", wait_s: float | None) -> bool:
    """Take the lock of the cluster; False if the paused run resumes in the process that holds it."""
    # a paused run keeps the lock, so waiting for it would not end
    if wait_s is not None and _is_held(command) and command.is_pause_requested():
        run_id = _ask_to_resume(command)
        if _has_resumed(command, run_id, wait_s):
            command.show_nothing(_asked(run_id))
            return False
    try:
        command.lock.take()
    except BusyError:
        if not command.is_pause_requested():
            raise
        command.show_nothing(_asked(_ask_to_resume(command)))
        return False
    return True


def _is_cancelled(command: "RunSession", found: "FoundRun") -> bool:
    """Whether the run was cancelled completely, and none of its moves is in flight again."""
    from kafkabal.executor import Goal, preview_reopen

    if found.state.goal is not Goal.CANCEL or not found.state.is_clean:
        return False
    return not preview_reopen(command.environment, found, Goal.CANCEL).moves


def _is_held(command: "RunSession") -> bool:
    """Whether a process is known to hold the lock of the cluster."""
    from kafkabal.executor import current_holder

    with command.saying_if_slow():
        holder, _ = current_holder(command.cluster)
    return holder is not None


def _ask_to_resume(command: "RunSession") -> str:
    """Ask the process that has paused its run to continue; returns the id of the run.

    Raises
    ------
    UsageError
        If this command has options for the run, which that process would not use.
    """
    from kafkabal.executor import request_pause

    context = command.context
    unused = [option for option in ("--throttle", *OF_RUNS) if option in context.given]
    if unused:
        raise UsageError(
            f"{unused[0]} would have no effect: the process of the paused run is alive, and keeps its options",
            hint="leave it out; 'kafkabal rebalance throttle' changes the rate, also of a paused run",
        )
    with command.saying_if_slow():
        run_id = request_pause(command.environment, is_paused=False)
    context.say(_asked(run_id))
    return run_id


def _has_resumed(command: "RunSession", run_id: str, wait_s: float) -> bool:
    """Wait until a run continues in its process; False once the lock is free, since that process has died.

    Raises
    ------
    BusyError
        If neither happens in time; the request stays.
    """
    from kafkabal.executor import Phase

    for found in poll_run(command.environment, run_id, wait_s):
        if found is None or found.state.phase is not Phase.PAUSED:
            return True
        if not _is_held(command):
            return False
    raise BusyError(f"run {run_id} is still paused; it resumes as soon as it reads the request", hint=WAIT_LONGER)


def _asked(run_id: str) -> str:
    return f"run {run_id} was paused: asked it to resume"
