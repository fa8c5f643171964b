"""``kafkabal rebalance rollback``."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

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
from kafkabal.cli.framework.options_without_effect import OF_CLUSTER, refuse_all_beside
from kafkabal.cli.framework.shared_options import SaveOptions, Uses, YesOption
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import FoundRun

_OF_DRY_RUN: Final = (*OF_CLUSTER, "--dry-run", "--journal", "--yes", "--bootstrap-controller")


def rollback(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*RUN_CLUSTER, *REOPENED_RUN_SETTINGS)],
    command_options: RunCommandOptions,
    output: RunOutput,
    saving: SaveOptions,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Id of the run; required if it is complete. See 'rebalance history'."),
    ] = None,
    journal: JournalOption = None,
    yes: YesOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would move; change nothing.")] = False,
    wait_s: WaitOption = None,
) -> ExitCode:
    """Roll back a run.

    Cancels what is in flight, then returns every partition, leader and config to its state before the run. Partitions
    that a later run or another tool has moved elsewhere since are skipped and listed. Shows what will move and prompts;
    --yes answers yes. A complete run is rolled back only if it is named. It moves at the throttle of the run; with
    --throttle, the other options under Execution are also taken from this command. The cluster may elect other leaders
    later.

    Examples:

      kafkabal rebalance rollback

      kafkabal rebalance rollback --dry-run

      kafkabal rebalance rollback 20260101T030000-4f1a2b --yes --throttle 50MB/s

      kafkabal rebalance rollback --journal run.jsonl
    """
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session
    from kafkabal.executor import Goal, find_run_by_id

    if dry_run:
        refuse_all_beside("--dry-run", _OF_DRY_RUN, context)
    check_reopening(context)
    cluster = open_cluster_to_change(settings, saving, context, dry_run=dry_run, yes=yes)
    session = open_run_session(
        "rebalance rollback", settings, context, output, cluster, wait_s, journal=journal, dry_run=dry_run
    )
    with session as command:
        if not dry_run:
            command.take_lock()
        with command.saying_if_slow():
            found = find_run_by_id(command.environment, run, journal)
        run_id = found.record.run_id
        if _is_undone(command, found):
            said = f"run {run_id} is already rolled back: nothing to do"
            if dry_run:
                command.show_preview(found, Goal.ROLL_BACK)
            else:
                command.report_nothing(said, Goal.ROLL_BACK)
            command.context.say(said)
            return ExitCode.DONE
        if run is None and journal is None and not found.is_resumable:
            named = f"kafkabal rebalance rollback {run_id}{' --dry-run' if dry_run else ''}"
            raise UsageError(f"run {run_id} is complete: name it to roll it back", hint=f"type '{named}'")
        if dry_run:
            command.show_preview(found, Goal.ROLL_BACK)
            return ExitCode.DONE
        if not command.confirm_run(found, Goal.ROLL_BACK, yes=yes):
            return ExitCode.FAILED
        from kafkabal.executor import roll_back as go

        path = journal if found.journal is None else found.journal.path
        options = command.options_of_reopened_run(command_options, found.record.partitions, Goal.ROLL_BACK)
        with command.stopping_on_signals():
            result = go(command.environment, journal=path, options=options, lock=command.take_lock())
        return command.end(result)


def _is_undone(command: "RunSession", found: "FoundRun") -> bool:
    """Whether the run was rolled back, and no partition has returned to its plan since."""
    from kafkabal.executor import Goal, preview_reopen

    if found.is_resumable or found.state.goal is not Goal.ROLL_BACK:
        return False
    return not preview_reopen(command.environment, found, Goal.ROLL_BACK).moves
