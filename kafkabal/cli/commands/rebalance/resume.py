"""``kafkabal rebalance resume``."""

from typing import Annotated

from kafkabal.cli.commands.rebalance.run_command_options import (
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
from kafkabal.errors import BusyError, ExitCode


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

    Finished moves are not repeated. A run that was being rolled back or cancelled continues to do so. With --throttle,
    the other speed and safety options are also taken from this command instead of the original one. Shows what will
    move and prompts; --yes answers yes. A complete run has nothing to resume. A paused run whose process is alive, on
    any host, resumes in that process.

    Examples:

      kafkabal rebalance resume

      kafkabal rebalance resume --yes --throttle 100MB --max-runtime 2h

      kafkabal rebalance resume --journal run.jsonl
    """
    from kafkabal.cli.commands.rebalance.run_session import open_run_session
    from kafkabal.executor import find_run, is_pause_requested, request_pause

    check_reopening(context)
    cluster = open_cluster_to_change(settings, saving, context, yes=yes)
    with open_run_session("rebalance resume", settings, context, output, cluster, wait_s) as command:
        context = command.context
        try:
            command.lock.take()
        except BusyError:
            if not is_pause_requested(command.environment):
                raise
            run_id = request_pause(command.environment, is_paused=False)
            context.say(f"run {run_id} was paused: asked it to resume")
            return ExitCode.DONE
        found = find_run(command.environment, journal)
        if found is not None and found.is_open and is_pause_requested(command.environment):
            # otherwise cron would take the run for paused if this process dies too
            request_pause(command.environment, is_paused=False)
        if found is not None and found.is_resumable and not command.confirm_run(found, found.state.goal, yes=yes):
            return ExitCode.FAILED
        from kafkabal.executor import Goal, RunClosedError
        from kafkabal.executor import resume as go

        partitions, goal = (found.record.partitions, found.state.goal) if found is not None else ((), Goal.APPLY)
        options = command.options_of_reopened_run(command_options, partitions, goal)
        try:
            with command.stopping_on_signals():
                result = go(command.environment, journal=journal, options=options, lock=command.take_lock())
        except RunClosedError as closed:
            context.say("; ".join(filter(None, (closed.message, closed.hint))))
            return ExitCode.DONE
        return command.end(result)
